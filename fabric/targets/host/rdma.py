"""Concern `rdma`: names of RDMA devices, the lossless class on each NIC, PCIe settings, NIC firmware settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from fabric.design.hosts.model import BackendNic, HostFleet, HostPlan, RoceQos
from fabric.targets.host.concern import LIBEXEC, SCRIPT, UNITS, File
from fabric.targets.host.templates import fill

PRIORITIES = 8
_SMALLEST = 128  # bytes; PCI Express: the read request is 128 << n, n in bits 12 to 14 of Device Control


class _Cable(NamedTuple):
    name: str
    hca: str
    metres: int


def shared(fleet: HostFleet) -> Iterator[File]:
    """Units and scripts, which are the same on every host."""
    nics = fleet.hosts[0].nics if len(fleet.hosts) else ()
    doca = "doca" in fleet.versions
    if _named(nics):
        before = "fabric-roce.target slurmd.service" if fleet.qos else "slurmd.service"
        yield File("/etc/udev/rules.d/60-rdma-persistent-naming.rules", fill("rdma.rules", libexec=LIBEXEC))
        yield File(f"{LIBEXEC}/rdma-names", fill("rdma-names.sh", nics=nics), SCRIPT)
        unit = fill("rdma-names.service", libexec=LIBEXEC, doca=doca, before=before)
        yield File(f"{UNITS}/fabric-rdma-names.service", unit)
    if doca:
        yield File(f"{UNITS}/openibd.service.d/fabric.conf", fill("openibd.conf"))
    if fleet.qos is not None:
        yield from _roce(fleet.qos, nics, doca=doca)
    elif fleet.spec.hosts.network is not None and fleet.spec.hosts.network.ipoib:
        yield File("/etc/modules-load.d/fabric-rdma.conf", fill("lines", lines=["ib_ipoib"]))
    yield from _pcie(fleet, nics)
    if fleet.firmware:
        yield File("/etc/fabric/mlxconfig.conf", fill("settings", settings=fleet.firmware))


def own(fleet: HostFleet, plan: HostPlan) -> Iterator[File]:
    """The cables of the NICs: the NIC's buffer for pauses follows from their length."""
    if fleet.qos is not None:
        yield File("/etc/fabric/roce.conf", _cables(tuple(_Cable(n.name, n.hca, _metres(n)) for n in plan.nics)))


def services(fleet: HostFleet) -> tuple[str, ...]:
    """Our units, in the order in which they run."""
    tuning = fleet.spec.hosts.tuning
    names = ["fabric-rdma-names.service"] if _named(fleet.hosts[0].nics if len(fleet.hosts) else ()) else []
    if tuning.acs == "off" or tuning.max_read_request:
        names.append("fabric-pcie.service")
    if fleet.qos is not None:
        names.append("fabric-roce.target")
    return tuple(names)


def instances(fleet: HostFleet) -> tuple[str, ...]:
    """The units that fabric-roce.target starts, one a NIC."""
    nics = fleet.hosts[0].nics if fleet.qos is not None and len(fleet.hosts) else ()
    return tuple(f"fabric-roce@{nic.name}.service" for nic in nics)


def _named(nics: Sequence[BackendNic]) -> bool:
    return bool(nics) and nics[0].pci is not None


def _metres(nic: BackendNic) -> int:
    return max(1, ceil(nic.cable_length_m))


@lru_cache(maxsize=256)
def _cables(nics: tuple[_Cable, ...]) -> bytes:
    return fill("roce.conf", nics=nics)


def _roce(qos: RoceQos, nics: Sequence[BackendNic], *, doca: bool) -> Iterator[File]:
    pfc = ",".join("1" if priority == qos.priority else "0" for priority in range(PRIORITIES))
    classes = [(dscp, qos.priority) for dscp in qos.dscps] + [(qos.cnp_dscp, qos.cnp_priority)]
    yield File(f"{LIBEXEC}/roce", fill("roce.sh", qos=qos, pfc=pfc, map=classes, doca=doca), SCRIPT)
    yield File(f"{UNITS}/fabric-roce@.service", fill("roce.service", libexec=LIBEXEC, doca=doca))
    yield File(f"{UNITS}/fabric-roce.target", fill("roce.target", nics=nics))


def _pcie(fleet: HostFleet, nics: Sequence[BackendNic]) -> Iterator[File]:
    tuning = fleet.spec.hosts.tuning
    request = tuning.max_read_request
    if tuning.acs != "off" and not request:
        return
    script = fill(
        "pcie.sh",
        nics=nics,
        roce=fleet.backend == "roce",
        acs_off=tuning.acs == "off",
        read_request=request,
        code=read_request_code(request) if request else "",
    )
    yield File(f"{LIBEXEC}/pcie", script, SCRIPT)
    yield File(f"{UNITS}/fabric-pcie.service", fill("pcie.service", libexec=LIBEXEC))


def read_request_code(size: int) -> str:
    """Bits 12 to 14 of PCI Express Device Control for a maximum read request of `size` bytes, as setpci takes them: 4096 -> "5000"."""
    return f"{(size // _SMALLEST).bit_length() - 1}000"
