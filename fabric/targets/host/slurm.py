"""Concern `slurm` on a GPU host: slurmd starts with the fabric, the GPUs and the mounts that jobs need. The topology: `topology.py`."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.hosts.model import HostFleet, HostPlan
from fabric.targets.host import nvidia, rdma
from fabric.targets.host.concern import LIBEXEC, UNITS, File
from fabric.targets.host.storage import before_slurmd, unit_of, word
from fabric.targets.host.templates import fill


def shared(fleet: HostFleet) -> Iterator[File]:
    """Slurmd's drop-in, where Slurm is declared."""
    if fleet.spec.scheduler is None:
        return
    wanted = before_slurmd(fleet)
    content = fill(
        "slurmd.conf",
        limits=fleet.spec.hosts.tuning.limits,
        after=[*rdma.services(fleet), *nvidia.services(fleet)],
        # Of an automount it is the mount itself that must be there.
        units=[unit_of(mount) if mount.kind == "fuse" else f"{mount.unit}.mount" for mount in wanted],
        paths=[word(mount.path) for mount in wanted],
        libexec=LIBEXEC,
    )
    yield File(f"{UNITS}/slurmd.service.d/fabric.conf", content)


def own(fleet: HostFleet, plan: HostPlan) -> Iterator[File]:  # noqa: ARG001 - the protocol's shape
    """None."""
    yield from ()


def services(fleet: HostFleet) -> tuple[str, ...]:
    """Slurmd."""
    return () if fleet.spec.scheduler is None else ("slurmd.service",)
