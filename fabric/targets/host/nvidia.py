"""Concern `nvidia`: module options, GPUDirect, and the services around the driver."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.hosts.model import HostFleet, HostPlan
from fabric.targets.host.concern import LIBEXEC, SCRIPT, UNITS, File
from fabric.targets.host.templates import fill

_OPTIONS = ("options nvidia NVreg_RestrictProfilingToAdminUsers=0",)
"""Users may profile their own jobs (Azure/azhpc-images 8e9d055f)."""


def shared(fleet: HostFleet) -> Iterator[File]:
    """All: nothing of it differs between hosts."""
    yield File("/etc/modprobe.d/fabric-nvidia.conf", fill("lines", lines=_OPTIONS))
    if fleet.spec.hosts.tuning.gpu_direct == "peermem":
        yield File("/etc/modules-load.d/nvidia-peermem.conf", fill("lines", lines=["nvidia_peermem"]))
    package = manager_package(fleet)
    if package:
        debian = fleet.distribution.family == "debian"
        query = f"dpkg-query -W -f '${{Version}}' {package}" if debian else f"rpm -q --qf '%{{VERSION}}' {package}"
        yield File(f"{LIBEXEC}/same-version", fill("same-version.sh", query=query), SCRIPT)
        drop_in = fill("fabricmanager.conf", libexec=LIBEXEC)
        yield File(f"{UNITS}/nvidia-fabricmanager.service.d/fabric.conf", drop_in)
    yield File(f"{UNITS}/nvidia-persistenced.service.d/fabric.conf", fill("persistenced.conf"))
    yield File(f"{UNITS}/nvidia-dcgm.service.d/fabric.conf", fill("dcgm.conf"))


def own(fleet: HostFleet, plan: HostPlan) -> Iterator[File]:  # noqa: ARG001 - the protocol's shape
    """None."""
    yield from ()


def services(fleet: HostFleet) -> tuple[str, ...]:
    """Those of the driver's packages, in the order in which they run."""
    manager = ("nvidia-fabricmanager.service",) if manager_package(fleet) else ()
    return ("nvidia-persistenced.service", *manager, "nvidia-dcgm.service")


def manager_package(fleet: HostFleet) -> str:
    """Name of the fabric manager's package; "" when the hosts have none."""
    names = (package.name for package in fleet.packages.get("nvidia", ()))
    return next((name for name in names if name.startswith(("nvidia-fabricmanager", "nvidia-fabric-manager"))), "")
