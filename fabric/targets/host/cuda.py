"""Concern `cuda`: the toolkit is packages alone; what stands on the host is where shells find it."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.hosts.model import HostFleet, HostPlan
from fabric.targets.host.concern import File
from fabric.targets.host.templates import fill


def shared(fleet: HostFleet) -> Iterator[File]:
    """The toolkit's folder in the search path of login shells."""
    version = ".".join(fleet.versions["cuda"].split(".")[:2])
    yield File("/etc/profile.d/fabric-cuda.sh", fill("cuda.sh", version=version))


def own(fleet: HostFleet, plan: HostPlan) -> Iterator[File]:  # noqa: ARG001 - the protocol's shape
    """None."""
    yield from ()


def services(fleet: HostFleet) -> tuple[str, ...]:  # noqa: ARG001 - the protocol's shape
    """None."""
    return ()
