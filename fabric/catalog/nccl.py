"""What is known of NCCL's settings, and the kernel settings of GPU hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from fabric.catalog.base import Evidence, Model


class NcclKey(Model):
    """One setting. Values are whole numbers where `low` or `high` is given, one of `choices` where these are given, else any text."""

    since: str | None = Field(default=None, description="first NCCL version that knows it")
    below: str | None = Field(default=None, description="first NCCL version that knows it no more")
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()
    why: str | None = Field(default=None, description="why other values are refused")
    debug: bool = Field(
        default=False, description="in the section Debugging of NVIDIA's documentation: not for production"
    )
    forbidden: str | None = Field(default=None, description="why it must not stand in a file for all jobs")


class NcclTable(Evidence):
    """All settings by name."""

    settings: Mapping[str, NcclKey]


class ProtocolCost(Model):
    """What NCCL reckons for one protocol: microseconds at the start, of a step over NVLink and of one over the network."""

    base_us: float = Field(ge=0)
    nvlink_us: float = Field(gt=0)
    net_us: float = Field(gt=0)
    bandwidth: float = Field(gt=0, le=1, description="part of the wire's rate that carries data")


class AlgorithmCost(Evidence):
    """The costs of one algorithm by protocol."""

    protocols: Mapping[str, ProtocolCost] = Field(min_length=1)


class NcclLatency(Model):
    """NCCL's cost model, for rings and trees."""

    ring: AlgorithmCost
    tree: AlgorithmCost


class HostSetting(Evidence):
    """One kernel setting; `backend` None: on all hosts."""

    key: str
    value: str
    backend: Literal["roce", "infiniband"] | None = None


class HostSettings(Model):
    """Kernel settings in the order in which they are written."""

    settings: tuple[HostSetting, ...]
