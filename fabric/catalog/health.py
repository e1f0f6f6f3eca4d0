"""Thresholds of a host model's checks: what `check-host` compares a host with, beyond what the spec says."""

from __future__ import annotations

from pydantic import Field

from fabric.catalog.base import Evidence, Model, Sourced


class Xids(Evidence):
    """Xid numbers of NVIDIA's driver that are a fault of the hardware or leave the GPU unusable."""

    values: tuple[int, ...] = Field(min_length=1)


class HostHealth(Model):
    """What a healthy host of this model shows. A fact that no text gave is left out, and not checked."""

    pcie_speed: Sourced[str] | None = Field(default=None, description="of GPUs and back-end NICs, as /sys says it")
    pcie_width: Sourced[int] | None = Field(default=None, description="lanes of GPUs and back-end NICs")
    nvlinks: Sourced[int] | None = Field(
        default=None, description="of one GPU; without it all GPUs need the same number"
    )
    ecc_sram: Sourced[int] = Field(description="corrected SRAM errors of one GPU that are no fault yet")
    ecc_dram: Sourced[int] = Field(description="corrected DRAM errors of one GPU that are no fault yet")
    remapped_rows: Sourced[int] = Field(description="rows of one GPU remapped after uncorrectable errors, no fault yet")
    xids: Xids
    xid_hours: Sourced[float]
    flaps: Sourced[int] = Field(description="lost carriers of one NIC that are a fault")
    flap_hours: Sourced[float]
    clock_offset_ms: Sourced[float] = Field(description="how far the clock may be off")
