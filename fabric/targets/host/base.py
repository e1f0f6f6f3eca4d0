"""Concern `base`: kernel settings, limits, where packages come from and what keeps them still, time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fabric.design.hosts.model import HostFleet, HostPlan
from fabric.spec.host_tuning import Hugepages
from fabric.targets.host.concern import LIBEXEC, SCRIPT, UNITS, File
from fabric.targets.host.repositories import package_files
from fabric.targets.host.templates import fill

_KIB = {"2M": 2048, "1G": 1048576}


class _Pages(NamedTuple):
    kib: int
    number: int


def shared(fleet: HostFleet) -> Iterator[File]:
    """All: nothing of it differs between hosts."""
    tuning = fleet.spec.hosts.tuning
    yield File("/etc/sysctl.d/90-fabric.conf", fill("sysctl.conf", settings=fleet.sysctls))
    yield File("/etc/security/limits.d/90-fabric.conf", fill("limits.conf", limits=tuning.limits))
    for manager in ("system", "user"):
        yield File(f"/etc/systemd/{manager}.conf.d/90-fabric.conf", fill("manager.conf"))
    if tuning.governor or tuning.hugepages:
        pages = _pages(tuning.hugepages)
        yield File(f"{LIBEXEC}/tuning", fill("tuning.sh", governor=tuning.governor, hugepages=pages), SCRIPT)
        yield File(f"{UNITS}/fabric-tuning.service", fill("tuning.service", libexec=LIBEXEC))
    yield from package_files(fleet)
    if fleet.ntp:
        debian = fleet.distribution.family == "debian"
        path, drift = ("/etc/chrony/chrony.conf", "chrony.drift") if debian else ("/etc/chrony.conf", "drift")
        yield File(path, fill("chrony.conf", servers=fleet.ntp, drift=drift))


def own(fleet: HostFleet, plan: HostPlan) -> Iterator[File]:  # noqa: ARG001 - the protocol's shape
    """None."""
    yield from ()


def services(fleet: HostFleet) -> tuple[str, ...]:
    """fabric-tuning, and chrony where time servers are declared."""
    tuning = fleet.spec.hosts.tuning
    own_unit = ("fabric-tuning.service",) if tuning.governor or tuning.hugepages else ()
    chrony = "chrony.service" if fleet.distribution.family == "debian" else "chronyd.service"
    return (*own_unit, *((chrony,) if fleet.ntp else ()))


def _pages(pages: Hugepages | None) -> _Pages | None:
    return None if pages is None else _Pages(_KIB[pages.size], pages.count)
