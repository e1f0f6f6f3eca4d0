"""The nouns of an InfiniBand design: switch, HCA, link, partition, subnet manager, subnet. Frozen values; GUIDs are 64-bit ints.

Only shapes stand here. `fabric.design.ib.build` makes them from spec + catalog; targets, verify, predict, lab and export read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from fabric.design.model import Cabled, State
from fabric.spec.cluster import ClusterSpec

Tier = Literal["leaf", "spine", "core"]
Purpose = Literal["compute", "sm", "storage", "other"]
Membership = Literal["full", "limited", "both"]
Flavour = Literal["opensm", "nvidia"]


@dataclass(frozen=True, slots=True)
class IbSwitch:
    """One switch. A leaf has `unit` (scalable unit, from 1) and, cabled by rail, `rail` (from 0; -1 for a host-per-leaf leaf).

    `pod` is from 1 for leaf and spine of a three-tier fabric, else 0; `plane` is from 0 for spine and core, -1 for a leaf.
    `number` counts from 1 within what the name counts, so a spine's is its plane + 1; names and tables count all but rails from 1.
    `guid` is the node GUID (port 0 has the same); `placeholder` says that it is not a real box's. `ports` is the radix (an aggregation
    node's port not counted).
    """

    name: str
    tier: Tier
    unit: int
    pod: int
    rail: int
    plane: int
    number: int
    model: str
    ports: int
    guid: int
    placeholder: bool
    state: State = "deployed"


@dataclass(frozen=True, slots=True)
class Hca:
    """One host channel adapter with one port (port number 1). `name` is its node description, "gt0001 mlx5_0"; `rail` counts from 0.

    `purpose` is what its host is for: only `compute` HCAs are compute nodes (CN) to routing engines and to balance.
    """

    name: str
    host: str
    device: str
    rail: int
    unit: int
    purpose: Purpose
    node_guid: int
    port_guid: int
    placeholder: bool
    state: State = "deployed"


@dataclass(frozen=True, slots=True)
class IbLink:
    """One cable. `a` is the upper end (switch name), `b` the lower end (switch or HCA name); port numbers are InfiniBand's, from 1.

    `tier`: `host` (leaf to HCA), `leaf` (spine to leaf), `spine` (core to spine).
    """

    tier: Literal["host", "leaf", "spine"]
    a: str
    a_port: int
    b: str
    b_port: int
    cabled: Cabled
    state: State = "deployed"


@dataclass(frozen=True, slots=True)
class IpoibGroup:
    """The broadcast group of a partition: MTU in bytes, rate in Gb/s."""

    mtu: int
    rate_gbps: int
    scope: int = 2


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition. `pkey` is 15 bits wide, without the membership bit. `members`: port GUID -> membership, explicit for every port."""

    name: str
    pkey: int
    members: Mapping[int, Membership]
    sl: int | None = None
    ipoib: IpoibGroup | None = None


@dataclass(frozen=True, slots=True)
class QosTables:
    """SL-to-VL mapping (16 values), VL arbitration as (VL, weight in units of 64 bytes), high limit in units of 4 KB; None = not set."""

    max_vls: int | None
    high_limit: int | None
    vlarb_high: tuple[tuple[int, int], ...] | None
    vlarb_low: tuple[tuple[int, int], ...] | None
    sl2vl: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class UlpRule:
    """One line of `qos-ulps`: what it matches, in the policy file's own words ("any, pkey 0x1001", "ipoib", "default"), and the SL."""

    match: str
    sl: int


@dataclass(frozen=True, slots=True)
class SubnetManager:
    """One SM: the HCA that it binds to, its priority (0 to 15, higher wins), and how its host is reached (`address` for SSH).

    The list in `Subnet.managers` starts with the declared master (highest priority), then the standbys by falling priority.
    """

    host: str
    hca: Hca
    priority: int
    address: str | None


@dataclass(frozen=True, slots=True)
class Routing:
    """The routing engine as declared and what it needs. `engines` in the order of trying; `fallback` False writes `no_fallback`.

    `options` are further keys of opensm.conf that routing wants (`scatter_ports`, ...), by name, as written.
    """

    engines: tuple[str, ...]
    fallback: bool
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts by arithmetic. `stripe` is (smallest, largest) number of links from a spine to a core of its plane; (0, 0) with two tiers.

    `oversubscription` is downlinks over uplinks by tier ("leaf", "spine"); 1.0 is full bisection. `lids` at LMC 0, of `lids_of`.
    """

    endpoints: int
    hosts: int
    units: int
    pods: int
    leaves: int
    spines: int
    cores: int
    links: Mapping[str, int]
    stripe: tuple[int, int]
    oversubscription: Mapping[str, float]
    lids: int
    lids_of: int
    radix: int


@dataclass(frozen=True)
class Subnet:
    """A designed InfiniBand fabric, everything in a stable order: switches leaf, spine, core; HCAs by host and rail; links by tier and key."""

    spec: ClusterSpec
    flavour: Flavour
    tiers: int
    by_rail: bool
    switches: tuple[IbSwitch, ...]
    hcas: tuple[Hca, ...]
    links: tuple[IbLink, ...]
    partitions: tuple[Partition, ...]
    managers: tuple[SubnetManager, ...]
    routing: Routing
    qos: QosTables | None
    ulps: tuple[UlpRule, ...]
    figures: Figures
    aggregation_nodes: bool

    @cached_property
    def switch(self) -> dict[str, IbSwitch]:
        """Switches by name."""
        return {switch.name: switch for switch in self.switches}

    @cached_property
    def hca(self) -> dict[str, Hca]:
        """HCAs by name."""
        return {hca.name: hca for hca in self.hcas}

    @cached_property
    def roots(self) -> tuple[IbSwitch, ...]:
        """The top tier: cores, or the spines of a two-tier fabric, or the one leaf."""
        top = ("leaf", "spine", "core")[self.tiers - 1]
        return tuple(switch for switch in self.switches if switch.tier == top)

    @cached_property
    def compute(self) -> tuple[Hca, ...]:
        """HCAs of GPU hosts."""
        return tuple(hca for hca in self.hcas if hca.purpose == "compute")

    @cached_property
    def name_of(self) -> dict[int, str]:
        """GUID -> name: node GUIDs of switches, node and port GUIDs of HCAs."""
        found = {switch.guid: switch.name for switch in self.switches}
        for hca in self.hcas:
            found[hca.node_guid] = found[hca.port_guid] = hca.name
        return found
