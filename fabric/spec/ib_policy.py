"""Who may talk with whom on InfiniBand, and on which virtual lane: partitions and QoS."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from fabric.spec.base import Line, Model, Numbers, sourced

_MANUAL = "opensm 3.3.23 manual, partitions.conf"
Sl = Annotated[int, Field(ge=0, le=15)]
Membership = Literal["full", "limited", "both"]


class Member(Model):
    """Some ports and what they are in the partition. All that is given must hold; nothing given means every host and service."""

    units: Numbers | None = Field(None, description="Scalable units: numbers or ranges.", examples=["1-3"])
    racks: Numbers | None = Field(None, description="Racks, counted from 1 over all hosts.", examples=["1-12"])
    hosts: list[Line] | None = Field(
        None,
        min_length=1,
        description="Names or name patterns (`*`, `?`, `[...]`) of hosts and services.",
        examples=[["gt00*"]],
    )
    membership: Membership = Field(
        "full", description="`full` talks with all, `limited` with full members only, `both` holds both keys."
    )


class Ipoib(Model):
    """The IP-over-InfiniBand group of a partition."""

    mtu: Literal[2048, 4096] = sourced(
        4096,
        "MTU; opensm's own default is 2048.",
        source="our choice: what the hardware has",
        status="inferred",
        unit="B",
    )
    rate: int | None = Field(
        None, description="Rate in Gb/s; that of a host's port when null (opensm's own default is 10).", examples=[400]
    )


class PartitionSpec(Model):
    """One partition: a tenant's hosts."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$", description="Name.", examples=["tenant-a"])
    pkey: int = Field(
        ge=1,
        le=0xFFFF,
        description="P_Key, 15 bits: 0x0001 to 0x7ffe, without the membership bit; 0x7fff only for `Default`.",
        examples=[0x1001],
    )
    members: list[Member] = Field(min_length=1, max_length=4096, description="Who is in it.")
    sl: Sl | None = Field(None, description="Service level of its paths; wants `qos`.")
    ipoib: Ipoib | None = Field(None, description="IP over InfiniBand in this partition, or null for none.")


def _vlarb(value: Any) -> Any:
    """`"0:64, 1:128"` -> [(0, 64), (1, 128)]."""
    if not isinstance(value, str):
        raise ValueError(f"wants text such as '0:64,1:128' (VL:weight), found {value!r}")
    pairs = []
    for item in value.split(","):
        match = re.fullmatch(r"\s*(\d{1,3})\s*:\s*(\d{1,4})\s*", item)
        if match is None:
            raise ValueError(f"{item.strip()!r} is not VL:weight, such as 1:128")
        vl, weight = int(match[1]), int(match[2])
        if vl > 14 or weight > 255:
            raise ValueError(f"{item.strip()!r}: the VL is at most 14, the weight at most 255 (in units of 64 bytes)")
        pairs.append((vl, weight))
    return pairs


Vlarb = Annotated[
    list[tuple[int, int]],
    BeforeValidator(_vlarb),
    Field(max_length=64),
    WithJsonSchema({"type": "string", "examples": ["0:64,1:128"]}),
]


class UlpSpec(Model):
    """One rule of the QoS policy: which path queries get which service level; the first that matches wins."""

    ulp: Literal["any", "ipoib", "sdp", "rds", "iser", "srp", "default"] = Field(description="Upper layer protocol.")
    partition: str | None = Field(None, description="Partition's name, for `any` and `ipoib`.")
    service_id: str | None = Field(
        None,
        pattern=r"^0x[0-9a-fA-F]{1,16}(-0x[0-9a-fA-F]{1,16})?$",
        description="Service ID or range, for `any`.",
        examples=["0x0000000001060CBC"],
    )
    port_num: str | None = Field(
        None, pattern=r"^\d{1,5}(-\d{1,5})?$", description="Port number or range, for `sdp` and `iser`."
    )
    target: Line | None = Field(
        None, description="HCA that is asked for, for `any` and `srp`.", examples=["st1 mlx5_0"]
    )
    source: Line | None = Field(None, description="HCA that asks, for `any`.")
    sl: Sl = Field(description="Service level.")

    @model_validator(mode="after")
    def _fits(self) -> UlpSpec:
        legal = {"any": ("partition", "service_id", "target", "source"), "ipoib": ("partition",), "sdp": ("port_num",)}
        allowed = {**legal, "iser": ("port_num",), "srp": ("target",)}.get(self.ulp, ())
        given = [key for key in ("partition", "service_id", "port_num", "target", "source") if getattr(self, key)]
        for key in given:
            if key not in allowed:
                raise ValueError(f"{self.ulp} takes no {key}")
        if len(given) > 1:
            raise ValueError(f"takes one of {' and '.join(given)}")
        if self.ulp in ("any", "srp") and not given:
            raise ValueError(f"{self.ulp} wants {' or '.join(allowed)}")
        return self


class IbQos(Model):
    """SL to VL mapping and VL arbitration, the same on all ports, and the policy that gives paths their SL."""

    max_vls: Literal[1, 2, 4, 8, 15] = sourced(
        2,
        "Data VLs in operation.",
        source="NVIDIA's recipe for a large rail-optimised cluster: max_op_vls 2 (VL0 and VL1)",
        status="code",
    )
    sl2vl: list[Annotated[int, Field(ge=0, le=15)]] = sourced(
        [0, 1, *[0] * 14],
        "VL of each SL, 16 values; 15 drops.",
        source="our choice: SL 1 has VL 1, all else VL 0",
        status="inferred",
    )
    vlarb_high: Vlarb = sourced(
        [(0, 64), (1, 128)],
        "High-priority table: VL:weight pairs, weight in units of 64 bytes.",
        source="reference example, accepted by opensm and read back",
        status="measured",
    )
    vlarb_low: Vlarb = sourced(
        [(0, 64), (1, 64)],
        "Low-priority table.",
        source="reference example, accepted by opensm and read back",
        status="measured",
    )
    high_limit: int = sourced(
        255,
        "What the high table may send before the low one, in units of 4 KB; 255 = unbounded, 0 = one packet.",
        source="reference example, accepted by opensm and read back",
        status="measured",
        ge=0,
        le=255,
    )
    ulps: list[UlpSpec] = Field(
        default_factory=list, max_length=1024, description="Policy rules; `default` gets SL 0 when not declared."
    )

    @model_validator(mode="after")
    def _tables(self) -> IbQos:
        if len(self.sl2vl) != 16:
            raise ValueError(f"sl2vl has {len(self.sl2vl)} values, there are 16 SLs")
        for sl, vl in enumerate(self.sl2vl):
            if vl >= self.max_vls and vl != 15:
                raise ValueError(
                    f"sl2vl: SL {sl} has VL {vl}, with max_vls {self.max_vls} there are VL 0 to {self.max_vls - 1} (15 drops)"
                )
        for name in ("vlarb_high", "vlarb_low"):
            for vl, weight in getattr(self, name):
                if vl >= self.max_vls:
                    raise ValueError(f"{name}: {vl}:{weight} is beyond VL {self.max_vls - 1} (max_vls {self.max_vls})")
        return self
