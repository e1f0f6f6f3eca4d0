"""The back-end network: racks, zones and the switches above them (RoCE), or scalable units (InfiniBand)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fabric.spec.base import Model, Numbers, sourced
from fabric.spec.forwarding import Cable
from fabric.spec.infiniband import InfinibandBackend

_META = "The Llama 3 Herd of Models, section 3.3.1"


class RackProfile(Model):
    """One kind of rack: what stands in it and how its switch (RTSW) is cabled."""

    hosts: int = sourced(2, "Hosts in the rack.", source=_META, status="primary", ge=1, le=64)
    rack: str = Field("orv3-600a", description="Rack standard in the catalog: power budget, height.")
    switch: str = Field(description="RTSW model in the catalog.", examples=["minipack2", "wedge400", "arista-7388x5"])
    nos: Literal["fboss", "eos"] = Field("fboss", description="Network operating system of the RTSW.")
    port_map: str | None = Field(
        None, description="Role map of the switch in the catalog; the switch's first map when it is not given."
    )
    uplinks: int = sourced(
        18,
        "Uplinks of the RTSW, one to each CTSW of its zone; so also the number of CTSWs.",
        source="FBOSS source: BcmMmuTests.cpp, setupPortsForGrandTeton",
        status="code",
        ge=1,
        le=512,
    )
    power_kw: float | None = Field(
        None, gt=0, le=1000, description="Power the rack delivers, in kW; the rack standard's when null."
    )
    host_cable: Cable | None = Field(None, description="NIC to RTSW cable of this rack; `cabling.host` when null.")
    uplink_cable: Cable | None = Field(None, description="RTSW to CTSW cable of this rack; `cabling.rtsw` when null.")


class Zone(Model):
    """One AI Zone (pod), or several alike."""

    id: Numbers = Field(
        description="Number of the zone, or of several zones alike: `1`, `1-8`, `[1, 3]`. Names and addresses follow from it."
    )
    racks: int = sourced(
        192, "Racks in each zone; they are numbered from 1.", source=_META, status="primary", ge=1, le=4096
    )
    rack_profile: str = Field(description="Key of `backend.rack_profiles`.")


class Ctsw(Model):
    """The cluster training switches; how many stand in a zone follows from the RTSW uplinks."""

    model: str = Field("arista-7808r3", description="Switch model in the catalog.")
    line_card: str | None = Field("7800r3a-36d", description="Line card of a chassis; null for a fixed box.")
    nos: Literal["eos", "fboss"] = Field("eos", description="Network operating system.")
    uplinks: int = sourced(
        28,
        "Uplinks of each CTSW to the ATSWs; 0 when there is no ATSW tier.",
        source="derived: 192 racks over 28 uplinks is the nearest to the published 1:7 from the generous side",
        status="derived",
        ge=0,
        le=576,
    )


class Atsw(Model):
    """The aggregator training switches, which join the zones."""

    model: str = Field("arista-7804r3", description="Switch model in the catalog.")
    line_card: str | None = Field("7800r3a-36d", description="Line card of a chassis; null for a fixed box.")
    nos: Literal["eos", "fboss"] = Field("eos", description="Network operating system.")
    count: int = sourced(
        28,
        "ATSWs in each plane.",
        source="derived: 28 x 144 links fill a 7804R3 exactly",
        status="inferred",
        ge=1,
        le=2048,
    )
    planes: int = Field(
        1,
        ge=1,
        le=512,
        description="Planes: CTSW number c of each zone meets only the ATSWs of plane (c - 1) modulo planes.",
    )


class Growth(Model):
    """Room kept free at each level, so that growth moves no address, number or port that exists."""

    zones: int = Field(16, ge=1, le=4096, description="Zones the cluster may grow to.")
    racks_per_zone: int = Field(256, ge=1, le=4096, description="Racks a zone may grow to.")
    hosts_per_rack: int = Field(2, ge=1, le=64, description="Hosts a rack may grow to.")
    uplinks: int = Field(32, ge=1, le=512, description="RTSW uplinks, hence CTSWs in a zone, that there may be.")
    ctsw_uplinks: int = Field(64, ge=1, le=1024, description="Uplinks of a CTSW that there may be.")
    atsws: int = Field(64, ge=1, le=65536, description="ATSWs, over all planes, that there may be.")
    ctsws_on_atsw: int | None = Field(
        None,
        ge=1,
        le=512,
        description="Ports that each ATSW keeps for each zone's CTSWs of its plane; as many as there are now when null.",
    )


class RoceBackend(Model):
    """An Ethernet Clos of one, two or three tiers: RTSW, CTSW, ATSW."""

    kind: Literal["roce"]
    rack_profiles: dict[str, RackProfile] = Field(min_length=1, description="Kinds of racks by name.")
    zones: list[Zone] = Field(min_length=1, description="The zones.")
    ctsw: Ctsw | None = Field(None, description="The tier above the racks; null for a single rack.")
    atsw: Atsw | None = Field(None, description="The tier above the zones; null for a cluster of one zone.")
    growth: Growth = Field(default_factory=Growth, description="Room to grow.")


Backend = Annotated[RoceBackend | InfinibandBackend, Field(discriminator="kind")]

__all__ = ["Atsw", "Backend", "Ctsw", "Growth", "InfinibandBackend", "RackProfile", "RoceBackend", "Zone"]
