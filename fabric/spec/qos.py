"""The traffic classes, declared once; switch maps, PFC, buffers, ECN, NIC settings and checks follow from them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fabric.spec.base import Dscps, Model, sourced

_AI_V2 = "FBOSS source: NetworkAITestUtils.cpp, queue set network_ai_v2"
_Queue = Annotated[int, Field(ge=0, le=7)]


class TrafficClass(Model):
    """One class: its DSCPs, traffic class, queue and share."""

    dscp: Dscps = Field(description="DSCPs of the class: numbers or ranges.", examples=["50-59"])
    traffic_class: _Queue = Field(description="Internal traffic class.")
    queue: _Queue = Field(description="Egress queue.")
    scheduling: Literal["wrr", "strict"] = Field("wrr", description="Weighted round robin, or strict priority.")
    weight: int = Field(5, ge=1, le=100, description="WRR weight; on EOS the bandwidth percentage.")


class LosslessClass(TrafficClass):
    """The one lossless class, which carries RDMA."""

    dscp: Dscps = sourced([*range(50, 60)], "DSCPs of RDMA traffic.", source=_AI_V2, status="code", examples=["50-59"])
    traffic_class: _Queue = sourced(2, "Internal traffic class.", source=_AI_V2, status="code")
    queue: _Queue = sourced(2, "Egress queue.", source=_AI_V2, status="code")
    weight: int = sourced(
        80,
        "WRR weight; on EOS the bandwidth percentage.",
        source="our choice: most of the link for RDMA",
        status="inferred",
        ge=1,
        le=100,
    )
    pfc_priority: _Queue = sourced(
        2,
        "PFC priority, and priority group, of the class.",
        source="FBOSS source: HwTestPfcUtils.cpp, Minipack2 branch",
        status="code",
    )


class ControlClass(TrafficClass):
    """Network control: BGP, BFD, LLDP."""

    dscp: Dscps = sourced([48], "DSCPs of network control.", source=_AI_V2, status="code", examples=[48])
    traffic_class: _Queue = sourced(7, "Internal traffic class.", source=_AI_V2, status="code")
    queue: _Queue = sourced(7, "Egress queue.", source=_AI_V2, status="code")
    scheduling: Literal["wrr", "strict"] = Field("strict", description="Weighted round robin, or strict priority.")


class MonitoringClass(TrafficClass):
    """Monitoring: probes, telemetry."""

    dscp: Dscps = sourced([26, 27, 28, 29, 30, 32, 35], "DSCPs of monitoring.", source=_AI_V2, status="code")
    traffic_class: _Queue = sourced(6, "Internal traffic class.", source=_AI_V2, status="code")
    queue: _Queue = sourced(6, "Egress queue.", source=_AI_V2, status="code")
    weight: int = sourced(
        15, "WRR weight; on EOS the bandwidth percentage.", source=_AI_V2, status="code", ge=1, le=100
    )


class Ecn(Model):
    """ECN marking of the lossless queue (DCQCN). Meta's 400G fabric runs without it."""

    min_bytes: int = sourced(
        2_000_000,
        "Queue length at which marking begins.",
        source="our example value",
        status="unverified",
        unit="B",
        ge=1_000,
        le=100_000_000,
    )
    max_bytes: int = sourced(
        3_000_000,
        "Queue length at which every packet that may be is marked.",
        source="our example value",
        status="unverified",
        unit="B",
        ge=1_000,
        le=100_000_000,
    )
    probability: int = Field(100, ge=1, le=100, description="Marking probability at max_bytes, in percent.")

    @model_validator(mode="after")
    def _order(self) -> Ecn:
        if self.min_bytes > self.max_bytes:
            raise ValueError(f"min_bytes {self.min_bytes} is above max_bytes {self.max_bytes}")
        if self.min_bytes % 1000 or self.max_bytes % 1000:
            raise ValueError("min_bytes and max_bytes must be multiples of 1,000 (EOS takes whole kbytes)")
        return self


class PfcWatchdog(Model):
    """Detection of a queue that stays paused."""

    detect_ms: int = sourced(
        200,
        "Time in pause before action; a multiple of 10.",
        source="EOS example in Arista's own documentation of `pause watchdog` (0.2 s)",
        status="quoted",
        unit="ms",
        ge=10,
        le=1500,
        multiple_of=10,
    )
    recover_ms: int = sourced(
        400,
        "Time without pause before normal service; a multiple of 100.",
        source="same (0.4 s); Tomahawk 4 takes multiples of 100 up to 1500",
        status="quoted",
        unit="ms",
        ge=100,
        le=1500,
        multiple_of=100,
    )
    action: Literal["drop", "none"] = sourced(
        "drop",
        "What happens to a stuck queue: its packets are dropped, or it is only reported.",
        source="our choice; FBOSS defaults to no drop",
        status="inferred",
    )


class Qos(Model):
    """The whole of QoS. DSCPs of no class belong to the default class: traffic class 0, queue 0."""

    lossless: LosslessClass = Field(default_factory=LosslessClass, description="RDMA.")
    control: ControlClass = Field(default_factory=ControlClass, description="Network control.")
    monitoring: MonitoringClass | None = Field(
        default_factory=MonitoringClass, description="Monitoring, or null for none."
    )
    default_weight: int = sourced(5, "WRR weight of the default queue.", source=_AI_V2, status="code", ge=1, le=100)
    ecn: Ecn | None = sourced(
        None,
        "ECN on the lossless queue, or null for none.",
        source="The Llama 3 Herd of Models: trained without DCQCN",
        status="primary",
    )
    pfc_watchdog: PfcWatchdog | None = Field(default_factory=PfcWatchdog, description="PFC watchdog, or null for none.")

    @model_validator(mode="after")
    def _distinct(self) -> Qos:
        classes = self.classes()
        owner: dict[int, str] = {}
        for name, entry in classes:
            for dscp in entry.dscp:
                if dscp in owner:
                    raise ValueError(f"DSCP {dscp} belongs to two classes: {owner[dscp]} and {name}")
                owner[dscp] = name
            if entry.traffic_class == 0 or entry.queue == 0:
                raise ValueError(f"{name}: traffic class 0 and queue 0 are the default class's")
        for kind in ("traffic_class", "queue"):
            values = [getattr(entry, kind) for _, entry in classes]
            if len(set(values)) != len(values):
                raise ValueError(f"two classes share a {kind.replace('_', ' ')}")
        total = self.default_weight + sum(entry.weight for _, entry in classes if entry.scheduling == "wrr")
        if total > 100:
            raise ValueError(f"the WRR weights add up to {total}; as EOS bandwidth percentages they may add up to 100")
        return self

    def classes(self) -> list[tuple[str, TrafficClass]]:
        """The declared classes by name, the default class left out."""
        named: list[tuple[str, TrafficClass | None]] = [
            ("lossless", self.lossless),
            ("control", self.control),
            ("monitoring", self.monitoring),
        ]
        return [(name, entry) for name, entry in named if entry is not None]
