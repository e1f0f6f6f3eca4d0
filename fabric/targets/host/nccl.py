"""Concern `nccl`: /etc/nccl.conf, the system-wide settings of the collective library."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.hosts.model import HostFleet, HostPlan
from fabric.targets.host.concern import File
from fabric.targets.host.templates import fill

PATH = "/etc/nccl.conf"


def shared(fleet: HostFleet) -> Iterator[File]:
    """The lines that all hosts have, where no host has lines of its own; each under where its value comes from."""
    if fleet.backend == "roce":
        yield File(PATH, fill("nccl.conf", settings=fleet.nccl))


def own(fleet: HostFleet, plan: HostPlan) -> Iterator[File]:
    """InfiniBand: with the host's own lines (its partition's service level) behind."""
    if fleet.backend != "roce":
        yield File(PATH, fill("nccl.conf", settings=(*fleet.nccl, *plan.nccl)))


def services(fleet: HostFleet) -> tuple[str, ...]:  # noqa: ARG001 - the protocol's shape
    """None."""
    return ()
