"""Kernel settings and limits of the GPU hosts; the defaults with their sources."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fabric.spec.base import Line, Model, sourced

_AI = "Azure/azhpc-images hpc-tuning.sh"
_OCI = "oracle-quickstart/oci-hpc check 15"
SysctlKey = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*([./][A-Za-z0-9_-]+)+$", max_length=120)]


class Limits(Model):
    """Limits of processes and services."""

    memlock: Literal["unlimited"] = sourced(
        "unlimited", "Locked memory: RDMA registers all of it.", source=_AI, status="secondary"
    )
    nofile: int = sourced(1_048_576, "Open files.", source=_AI, status="secondary", ge=1024, le=1_073_741_816)
    stack: Literal["unlimited"] | None = sourced("unlimited", "Stack.", source=_AI, status="secondary")


class Hugepages(Model):
    """Huge pages reserved at boot."""

    size: Literal["2M", "1G"] = Field("2M", description="Size of one.")
    count: int = Field(ge=1, le=1_048_576, description="Number in the whole host.")


class Tuning(Model):
    """Kernel settings and limits."""

    sysctls: dict[SysctlKey, Line] = Field(
        default_factory=dict,
        max_length=256,
        description="More sysctls, or other values than the defaults.",
        examples=[{"vm.swappiness": "1"}],
    )
    limits: Limits = Field(default_factory=Limits, description="Limits.")
    hugepages: Hugepages | None = Field(None, description="Huge pages, or null for none.")
    governor: Literal["performance", "schedutil", "ondemand", "powersave"] | None = sourced(
        "performance", "CPU frequency governor; null leaves it alone.", source=_OCI, status="secondary"
    )
    acs: Literal["off", "keep"] = sourced(
        "off",
        "PCIe access control services on bridges: `off` at each boot, so that GPU and NIC talk directly; `keep` for virtual machines.",
        source="NCCL documentation, troubleshooting: PCI Access Control Services",
        status="primary",
    )
    iommu: Literal["pt", "off"] | None = sourced(
        None,
        "IOMMU as the kernel's command line must have it: `pt` (`iommu=pt`, passthrough) or `off`; null asks nothing. "
        "Only checked: the boot loader is left alone.",
        source="common advice for GPUDirect RDMA on bare metal; not read in a primary source",
        status="unverified",
    )
    max_read_request: Literal[128, 256, 512, 1024, 2048, 4096] | None = sourced(
        4096,
        "PCIe maximum read request of the back-end NICs; null leaves it alone.",
        source="Mellanox/nic-configuration-operator",
        status="code",
        unit="B",
    )
    gpu_direct: Literal["peermem", "dma-buf"] = sourced(
        "peermem",
        "How NICs reach GPU memory: the module nvidia-peermem, or dma-buf of the kernel.",
        source="Azure/azhpc-images loads nvidia-peermem at boot",
        status="secondary",
    )
    block_unattended: bool = sourced(
        True,
        "Keep unattended upgrades away from driver, CUDA, NCCL, DOCA and kernel.",
        source="pando85/homelab#4110, lyulyul/shine-cluster#30: driver and library parted by an upgrade",
        status="secondary",
    )
    ntp: list[Line] = Field(
        default_factory=list, max_length=8, description="Time servers; `management.ntp` when empty."
    )
