"""Load balancing over equal-cost paths, MTU, and the cables."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.spec.base import Model, sourced


class Flowlets(Model):
    """Dynamic load balancing (DLB) by flowlets; values of FBOSS's own tests."""

    inactivity_us: int = sourced(
        128,
        "Gap after which a flow may move.",
        source="FBOSS source: HwFlowletSwitchingTests.cpp",
        status="code",
        unit="us",
        ge=1,
        le=32_000,
    )
    table_size: int = sourced(
        2048,
        "Flowlet table entries.",
        source="FBOSS source: HwFlowletSwitchingTests.cpp",
        status="code",
        unit="entries",
        ge=256,
        le=32_767,
    )
    mode: Literal["flowlet", "per-packet"] = Field("flowlet", description="Move flowlets, or spread every packet.")


class HashSeeds(Model):
    """Hash seed of each tier; different seeds keep one tier's choice from repeating the other's (polarisation)."""

    rtsw: int = Field(1, ge=0, le=2_147_483_647, description="Seed of the RTSWs.")
    ctsw: int = Field(2, ge=0, le=2_147_483_647, description="Seed of the CTSWs.")
    atsw: int = Field(3, ge=0, le=2_147_483_647, description="Seed of the ATSWs.")


class LoadBalancing(Model):
    """How flows are spread over equal-cost links."""

    method: Literal["ecmp", "e-ecmp", "dlb"] = sourced(
        "e-ecmp",
        "`ecmp`: five-tuple; `e-ecmp`: with the RoCE destination queue pair; `dlb`: e-ecmp plus flowlets on RTSW uplinks.",
        source="SIGCOMM 2024, RDMA over Ethernet for Distributed AI Training at Meta Scale, section 5.3",
        status="secondary",
    )
    flowlets: Flowlets = Field(default_factory=Flowlets, description="Used when method is dlb.")
    seeds: HashSeeds = Field(
        default_factory=HashSeeds, description="Hash seeds by tier (FBOSS; EOS has no evidenced command for it)."
    )


class Cable(Model):
    """The cable of one tier."""

    cable: str = Field(description="Cable model in the catalog (`fabric catalog list cable`).", examples=["400g-fr4"])
    length_m: float = Field(
        gt=0, le=10_000, description="Longest run of this tier, in metres; checked against PFC headroom."
    )


class Cabling(Model):
    """Cable medium and length by tier."""

    host: Cable = Field(
        default_factory=lambda: Cable(cable="400g-cr8", length_m=2.0), description="NIC to RTSW, inside the rack."
    )
    rtsw: Cable = Field(default_factory=lambda: Cable(cable="400g-fr4", length_m=100.0), description="RTSW to CTSW.")
    ctsw: Cable = Field(default_factory=lambda: Cable(cable="400g-fr4", length_m=300.0), description="CTSW to ATSW.")


class Mtu(Model):
    """Packet sizes, one for the whole back end."""

    ip: int = sourced(
        9000,
        "IP MTU of every back-end interface.",
        source="FBOSS samples (interface mtu 9000)",
        status="code",
        unit="B",
        ge=1280,
        le=9214,
    )
    frame: int = sourced(
        9412,
        "Largest Ethernet frame that an FBOSS port takes.",
        source="FBOSS source: DEFAULT_PORT_MTU",
        status="code",
        unit="B",
        ge=1298,
        le=9416,
    )
