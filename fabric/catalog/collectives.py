"""What collectives and point-to-point tests reach on hosts that are in order, by GPU and NIC."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.catalog.base import Evidence, Model

StageText = Literal["node", "pairs", "retest", "rails", "groups", "zone", "zones"]


class ExpectedRate(Evidence):
    """What is expected of a test on hosts with such GPUs, and on several hosts with such NICs."""

    test: str = Field(description="nccl-tests' name of the collective, or ib_write_bw")
    stages: tuple[StageText, ...] = Field(min_length=1)
    gpu: str | None = Field(default=None, description="first word of the host model's GPU; None: any")
    nic_gbps: int | None = Field(default=None, description="speed of each back-end NIC; None: any")
    nics: int | None = Field(default=None, description="back-end NICs of a host; None: any")
    size_from: int = Field(description="smallest size in bytes for which it holds")
    least: float = Field(gt=0, description="GB/s: less is a fault. Bus bandwidth of collectives")
    healthy: float | None = Field(default=None, description="GB/s that hosts in order reach")


class LeftOut(Evidence):
    """A published number that is no gate here, and why."""

    what: str
    value: str
    why: str


class CollectiveTable(Model):
    """All expected values, and those that were read and left out."""

    expected: tuple[ExpectedRate, ...]
    left_out: tuple[LeftOut, ...]
