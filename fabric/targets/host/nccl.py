"""Concern `nccl`: /etc/nccl.conf, the system-wide settings of the collective library."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.hosts.model import HostFleet, HostPlan
from fabric.targets.host.concern import File
from fabric.targets.host.templates import fill


def shared(fleet: HostFleet) -> Iterator[File]:
    """nccl.conf, each line under where its value comes from."""
    yield File("/etc/nccl.conf", fill("nccl.conf", settings=fleet.nccl))


def own(fleet: HostFleet, plan: HostPlan) -> Iterator[File]:  # noqa: ARG001 - the protocol's shape
    """None: the host-specific names in nccl.conf are the same on every host."""
    yield from ()
