"""Concern `nccl`: /etc/nccl.conf, the system-wide settings of the collective library."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.hosts.model import HostFleet, HostPlan
from fabric.targets.host.concern import File
from fabric.targets.host.templates import fill

PATH = "/etc/nccl.conf"
TOPOLOGY = "/etc/fabric/nccl-topology.xml"
"""The expected topology in NCCL's format, to compare a dump with. NCCL itself never reads it: a stale file makes good hosts slow
(Azure/azurehpc-health-checks#142)."""

_ETHERNET, _INFINIBAND = "0x020000", "0x020700"  # PCI classes of NICs


def shared(fleet: HostFleet) -> Iterator[File]:
    """The lines that all hosts have, where no host has lines of its own; each under where its value comes from."""
    if fleet.backend == "roce":
        yield File(PATH, fill("nccl.conf", settings=fleet.nccl))
    if fleet.topology is not None:
        nic = _ETHERNET if fleet.backend == "roce" else _INFINIBAND
        yield File(TOPOLOGY, fill("nccl-topology.xml", topology=fleet.topology, nic_class=nic))


def own(fleet: HostFleet, plan: HostPlan) -> Iterator[File]:
    """InfiniBand: with the host's own lines (its partition's service level) behind."""
    if fleet.backend != "roce":
        yield File(PATH, fill("nccl.conf", settings=(*fleet.nccl, *plan.nccl)))


def services(fleet: HostFleet) -> tuple[str, ...]:  # noqa: ARG001 - the protocol's shape
    """None."""
    return ()
