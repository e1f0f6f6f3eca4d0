"""Switch ASICs: tables, queues, buffers. Buffer sizes are in cells of one ITM (memory half) where FBOSS counts so."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.catalog.base import Evidence, Model, Sourced


class Memory(Model):
    """The shared packet memory: `itms` halves of `cells_per_itm` cells; `usable_cells_per_itm` may be given out."""

    itms: Sourced[int]
    cell_bytes: Sourced[int]
    bytes_per_itm: Sourced[int]
    cells_per_itm: Sourced[int]
    usable_cells_per_itm: Sourced[int]


class Reach(Model):
    """Cable length that the uplink's extra headroom covers, at the link speed it was computed for."""

    length_m: Sourced[int]
    speed_gbps: int


class BufferSet(Model):
    """Lossless buffer numbers of one platform; all in cells, pools per ITM, headroom per port's priority group (PG)."""

    shared_pool: Sourced[int]
    headroom_pool: Sourced[int]
    pg_min: Sourced[int]
    resume_offset: Sourced[int]
    headroom_downlink: Sourced[int]
    headroom_uplink: Sourced[int]
    scaling_factor: Sourced[int] = Field(description="number of FBOSS's MMUScalingFactor enum")
    uplink_reach: Reach | None = None


class Watchdog(Evidence):
    """PFC watchdog numbers used in tests, in ms; no production value is public."""

    detection_ms: int
    recovery_ms: int


class HeadroomRow(Model):
    """XOFF headroom in bytes of one port's lossless queue for a cable up to `length_m`."""

    length_m: int
    xoff_bytes: int


class HeadroomTable(Evidence):
    """XOFF headroom by cable length at one speed."""

    speed_gbps: int
    xon_bytes: int
    dynamic_threshold: int
    xon_offset_bytes: int
    rows: tuple[HeadroomRow, ...] = Field(min_length=1)

    def xoff_bytes(self, length_m: float) -> int | None:
        """Headroom in bytes for a cable of `length_m` metres: the next longer row; None beyond the last one."""
        return next((row.xoff_bytes for row in self.rows if length_m <= row.length_m), None)


class AsicModel(Model):
    """One switch ASIC. `limits` are counts by name (queues, mirrors, ECMP and ARS sizes), each with its source."""

    name: str
    title: str
    vendor: str
    architecture: Literal["shared-buffer", "voq"]
    limits: dict[str, Sourced[int]]
    memory: Memory | None = None
    buffers: dict[str, BufferSet] = Field(default_factory=dict, description="by FBOSS platform")
    headroom_by_length: HeadroomTable | None = None
    watchdog_test: Watchdog | None = None
    notes: tuple[str, ...] = ()
