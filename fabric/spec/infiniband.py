"""The InfiniBand back end: units, tiers, stripe, cables, services, GUIDs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from fabric.spec.base import HostLabel, Line, Model, sourced
from fabric.spec.forwarding import Cable
from fabric.spec.ib_policy import IbQos, PartitionSpec
from fabric.spec.ib_subnet import Routing, SubnetManagement
from fabric.spec.site import check_pattern

_META = "The Llama 3 Herd of Models, section 3.3.1"
_SUPERPOD = "NVIDIA DGX SuperPOD reference architecture"


class IbCables(Model):
    """The cable of each tier; null = by the port speed: `ndr-2xsr4` and `ndr-2xdr4` at 400G, `hdr-optical` at 200G."""

    host: Cable | None = Field(None, description="HCA to leaf; 30 m when null.")
    leaf: Cable | None = Field(None, description="Leaf to spine; 50 m when null.")
    spine: Cable | None = Field(None, description="Spine to core; 100 m when null.")


class IbGrowth(Model):
    """Room to grow: tiers, pods, cores and stripe are laid out for so many units, so that adding one moves nothing."""

    units: int | None = Field(
        None, ge=1, le=8192, description="Units that there may be; as many as there are when null."
    )


class LeafPort(Model):
    """One port of one leaf."""

    unit: int = Field(ge=1, le=8192, description="Scalable unit, from 1.")
    leaf: int = Field(
        ge=1, le=64, description="Leaf of the unit, from 1; cabled by rail, leaf 1 is rail 0.", examples=[1]
    )
    port: int = Field(ge=1, le=256, description="Port number of the leaf, from 1; one that no host has.", examples=[32])


class Service(Model):
    """A host without GPUs on leaf ports: a subnet manager's or UFM's server, storage, other."""

    name: HostLabel = Field(description="Host name.", examples=["ufm1"])
    purpose: Literal["sm", "storage", "other"] = Field("other", description="What it is for.")
    ports: list[LeafPort] = Field(
        min_length=1, max_length=16, description="Leaf port of each of its HCAs, mlx5_0 first."
    )


class Guids(Model):
    """Where GUIDs come from: placeholders made from the place, or a file with those of the real boxes."""

    scheme: Literal["placeholder"] | None = Field(
        None, description="`placeholder`: made from where a thing stands; for a lab, and for design before delivery."
    )
    file: Line | None = Field(
        None,
        description="CSV (`name,node_guid,port_guid`) or YAML (`NAME: GUID`, or `NAME: {node: GUID, port: GUID}` for an HCA) beside the spec.",
        examples=["guids.csv"],
    )

    @model_validator(mode="after")
    def _one(self) -> Guids:
        if (self.scheme is None) == (self.file is None):
            raise ValueError("wants one of scheme and file")
        return self


class IbNaming(Model):
    """Patterns of names. Positions count from 1: `{host}`, `{leaf}` in the subnet, `{spine}` in its pod, `{core}` in its plane."""

    host: str = Field("gt{host:04d}", description="GPU host.")
    leaf: str = Field("leaf{leaf:04d}", description="Leaf.")
    spine: str | None = Field(
        None,
        description="Spine; `spine{spine:02d}` with two tiers and `spine{pod:02d}-{spine:02d}` with three when null.",
    )
    core: str = Field("core{plane:02d}-{core:02d}", description="Core.")

    @field_validator("host", "leaf", "spine", "core")
    @classmethod
    def _usable(cls, pattern: str | None, info: object) -> str | None:
        role = str(getattr(info, "field_name", ""))
        if pattern is None:
            return None
        wanted, optional = _POSITIONS[role]
        example = str(cls.model_fields[role].default or "spine{pod:02d}-{spine:02d}")
        return check_pattern(pattern, role, wanted, optional, example, min(wanted))


_POSITIONS = {
    "host": ({"host"}, set[str]()),
    "leaf": ({"leaf"}, set[str]()),
    "spine": ({"spine"}, {"pod"}),
    "core": ({"plane", "core"}, set[str]()),
}


class InfinibandBackend(Model):
    """An InfiniBand fat tree of one subnet."""

    kind: Literal["infiniband"]
    switch: str = Field("qm9700", description="Switch model in the catalog.")
    switch_ports: int | None = Field(
        None,
        ge=4,
        le=256,
        multiple_of=2,
        description="Ports of each switch that are used, from port 1; all when null. A lab model of a large fabric "
        "has the same shape with fewer.",
    )
    hosts: int = Field(ge=1, le=65536, description="Hosts to connect.", examples=[3072])
    hosts_per_unit: int = sourced(
        32,
        "Hosts in a scalable unit; cabled by rail, as many as a leaf has downlinks.",
        source=_SUPERPOD,
        status="primary",
        ge=1,
        le=64,
    )
    cabling: Literal["rail-optimised", "host-per-leaf"] = sourced(
        "rail-optimised",
        "`rail-optimised`: leaf r of a unit takes HCA r of all its hosts; `host-per-leaf`: a leaf takes whole hosts.",
        source=_SUPERPOD,
        status="primary",
    )
    tiers: int | None = Field(
        None, ge=1, le=8, description="Tiers of switches: 1 to 3; as few as the units need when null."
    )
    leaf_uplinks: int | None = Field(
        None, ge=1, le=255, description="Uplinks of a leaf; as many as its downlinks (full bisection) when null."
    )
    spine_uplinks: int | None = Field(
        None, ge=1, le=255, description="Uplinks of a spine with three tiers; as many as its downlinks when null."
    )
    leaves_per_pod: int | None = Field(
        None, ge=1, le=255, description="Leaves in a pod with three tiers; half of a switch's ports when null."
    )
    pods: Literal["unit-first", "rail-first"] = Field(
        "unit-first",
        description="`unit-first`: a pod takes whole units as far as they fit; `rail-first`: the leaves of one rail of many units.",
    )
    core_stripe: Literal["even", "minimal", "narrow-pods"] = sourced(
        "even",
        "How uplinks are spread over the tier above. `even`: equally many to each switch; `minimal`: fewest switches, uneven where it does "
        "not divide; `narrow-pods`: the widest pods with which the fewest cores divide evenly.",
        source="computed; measured on a model of 1/64: an uneven stripe doubles the load of the busiest link",
        status="derived",
    )
    growth: IbGrowth = Field(default_factory=IbGrowth, description="Room to grow.")
    hosts_per_rack: int = sourced(2, "Hosts in a rack.", source=_META, status="primary", ge=1, le=64)
    rack: str = Field("orv3-600a", description="Rack standard in the catalog.")
    cables: IbCables = Field(default_factory=IbCables, description="Cables by tier.")
    services: list[Service] = Field(
        default_factory=list, max_length=4096, description="Hosts without GPUs on leaf ports."
    )
    naming: IbNaming = Field(default_factory=IbNaming, description="Patterns of names.")
    guids: Guids = Field(default_factory=lambda: Guids(scheme="placeholder", file=None), description="GUIDs.")
    lmc: int = sourced(
        0,
        "LID mask control; only 0 is designed.",
        source="computed: 24,576 HCAs with LMC 1 need 49,152 LIDs of 49,151; ftree supports LMC 0 only (measured)",
        status="derived",
        ge=0,
        le=7,
    )
    routing: Routing = Field(default_factory=Routing, description="Routing.")
    partitions: list[PartitionSpec] = Field(
        default_factory=list, max_length=1024, description="Partitions; without any, all ports are in the default one."
    )
    qos: IbQos | None = Field(None, description="QoS, or null for none.")
    subnet_manager: SubnetManagement = Field(default_factory=SubnetManagement, description="Subnet managers.")
