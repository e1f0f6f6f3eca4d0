"""The designed fabric: every switch, host, port and link, by rule from the spec and the catalog.

Switches and their numbers are built once. Ports and links are computed when asked for, one device at a time, so that
a cluster of any
size costs memory only for its switches, and a device can be rendered in any process without the others.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fabric.catalog import HostModel, catalog
from fabric.design import port_lists
from fabric.design.ip import pool_base
from fabric.design.model import Cabled, Host, Link, Port, PortSlot, Prefix, Role, State, Switch
from fabric.design.numbering import Numbering
from fabric.design.ports import RackPorts, rack_ports, spine_ports
from fabric.design.wiring import PlaneWiring
from fabric.spec.backend import RackProfile
from fabric.spec.cluster import ClusterSpec
from fabric.spec.forwarding import Cable
from fabric.spec.overrides import Match, Settings


@dataclass(frozen=True, slots=True)
class ZonePlan:
    """One zone as declared: `index` is its place in `backend.zones`."""

    number: int
    index: int
    racks: int
    profile_name: str
    profile: RackProfile
    ports: RackPorts


@dataclass(slots=True)
class Pools:
    """Bases of the address pools; None where a family is not used."""

    host4: int | None
    rtsw4: int | None
    ctsw4: int | None
    host6: int | None
    rtsw6: int | None
    ctsw6: int | None
    loopback6: int | None


@dataclass(slots=True)
class Fabric:
    """A design. Build it with `fabric.design.build.design`; read it through `switches`, `ports`, `hosts`, `links`.

    `tiers` has the switches of a (role, zone) in order of their numbers.
    """

    spec: ClusterSpec
    numbering: Numbering
    platform: HostModel
    zones: dict[int, ZonePlan]
    wiring: PlaneWiring | None
    pools: Pools
    ctsw_down: dict[int, tuple[PortSlot, ...]]
    ctsw_up: tuple[PortSlot, ...]
    atsw_down: tuple[PortSlot, ...]
    switches: tuple[Switch, ...] = ()
    by_name: dict[str, Switch] = field(default_factory=dict)
    tiers: dict[tuple[Role, int], list[Switch]] = field(default_factory=dict)
    _cabled: dict[tuple[str, int, str], Cabled] = field(default_factory=dict)

    def settle(self, switches: Iterable[Switch]) -> None:
        """Take the designed switches, those of one tier and zone in order of their numbers from 1; `ports` needs them."""
        self.switches = tuple(switches)
        self.by_name = {switch.name: switch for switch in self.switches}
        self.tiers = {}
        for switch in self.switches:
            self.tiers.setdefault((switch.role, switch.zone), []).append(switch)

    # --- names
    def rtsw_name(self, zone: int, rack: int) -> str:
        """Name of the RTSW of a rack."""
        return self.spec.naming.rtsw.format(zone=zone, rack=rack, site=self.spec.site.name)

    def ctsw_name(self, zone: int, ctsw: int) -> str:
        """Name of a CTSW."""
        return self.spec.naming.ctsw.format(zone=zone, ctsw=ctsw, site=self.spec.site.name)

    def atsw_name(self, number: int) -> str:
        """Name of an ATSW."""
        return self.spec.naming.atsw.format(atsw=number, site=self.spec.site.name)

    def host_name(self, zone: int, rack: int, unit: int) -> str:
        """Name of a host."""
        return self.spec.naming.host.format(zone=zone, rack=rack, unit=unit, site=self.spec.site.name)

    # --- states and overrides
    def state_of(self, name: str, role: str, zone: int) -> State:
        """Deployment state of a device: the last entry of `state` that matches it, else deployed."""
        state: State = "deployed"
        for entry in self.spec.state:
            if matches(entry.match, name, role, zone):
                state = entry.state
        return state

    def settings_of(self, switch: Switch) -> Settings:
        """The overrides that match a switch, merged; a later entry wins."""
        merged: dict[str, object] = {}
        for entry in self.spec.overrides:
            if matches(entry.match, switch.name, switch.role, switch.zone):
                merged.update(entry.set.model_dump(exclude_unset=True))
        return Settings.model_validate(merged)

    # --- cables
    def cable_of(self, tier: str, plan: ZonePlan | None = None) -> tuple[Cable, tuple[str | int, ...]]:
        """The cable of a tier (`host`, `rtsw`, `ctsw`), the rack profile's own where it has one; and where the spec
        says so.
        """
        if plan is not None:
            key = {"host": "host_cable", "rtsw": "uplink_cable"}[tier]
            own: Cable | None = getattr(plan.profile, key)
            if own is not None:
                return own, ("backend", "rack_profiles", plan.profile_name, key)
        chosen: Cable = getattr(self.spec.cabling, tier)
        return chosen, ("cabling", tier)

    def cabled(self, tier: str, speed_gbps: int, plan: ZonePlan | None = None) -> Cabled:
        """The cable of a tier at the speed that its ports run."""
        key = (tier, speed_gbps, plan.profile_name if plan else "")
        if key not in self._cabled:
            chosen, _ = self.cable_of(tier, plan)
            self._cabled[key] = Cabled(chosen.cable, catalog().cable(chosen.cable).medium, chosen.length_m, speed_gbps)
        return self._cabled[key]

    # --- hosts
    def hosts(self, zone: int | None = None) -> Iterator[Host]:
        """All hosts, in order of zone, rack, unit; of one zone when it is given."""
        for plan in self.zones.values():
            if zone in (None, plan.number):
                for rack in range(1, plan.racks + 1):
                    yield from self.hosts_of(plan.number, rack)

    def hosts_of(self, zone: int, rack: int) -> Iterator[Host]:
        """The hosts of one rack."""
        for unit in range(1, self.zones[zone].profile.hosts + 1):
            name = self.host_name(zone, rack, unit)
            yield Host(name, zone, rack, unit, self.state_of(name, "host", zone))

    def rack_prefix(self, zone: int, rack: int) -> tuple[Prefix | None, Prefix | None]:
        """(IPv4, IPv6) prefix of all NIC links of a rack, growth included."""
        n = self.numbering
        index = n.rack_index(zone, rack) * n.nics
        bits = n.nics.bit_length() - 1
        four = None if self.pools.host4 is None else Prefix(self.pools.host4 + 2 * index, 31 - bits)
        six = None if self.pools.host6 is None else Prefix(self.pools.host6 + (index << 64), 64 - bits)
        return four, six

    # --- ports
    def ports(self, switch: Switch) -> list[Port]:
        """The used ports of a switch: downlinks first, then uplinks, then the front-end link; each in order of its
        index.
        """
        return port_lists.ports(self, switch)

    def host_ports(self, switch: Switch) -> Iterator[Port]:
        """The ports of an RTSW towards the NICs of its hosts, by host and rail."""
        return port_lists.host_ports(self, switch)

    @property
    def nic_model(self) -> str:
        """Catalog name of the back-end NIC: the spec's, else the platform's own."""
        return self.spec.hosts.nic or self.platform.nic.value

    @property
    def nic_names(self) -> tuple[str, ...]:
        """Back-end interface names of a host in rail order (RDMA device names where no interface names are known)."""
        names = self.platform.backend_ifnames or self.platform.hcas
        return names.value

    @property
    def spine_speed(self) -> int:
        """Speed of the CTSW to ATSW links, in Gb/s: that of the cable."""
        return catalog().cable(self.spec.cabling.ctsw.cable).speed_gbps.value

    # --- links
    def links(self) -> Iterator[Link]:
        """Every cable once, seen from its upper end: host links, then RTSW to CTSW, then CTSW to ATSW."""
        tiers: tuple[tuple[Role, str], ...] = (("rtsw", "host"), ("ctsw", "rtsw"), ("atsw", "ctsw"))
        for role, tier in tiers:
            for switch in self.switches:
                if switch.role == role:
                    for port in self.ports(switch):
                        if port.role in ("host", "down"):
                            yield _link(tier, switch, port, self.by_name.get(port.peer))


def _link(tier: str, switch: Switch, port: Port, peer: Switch | None) -> Link:
    drained = "drained" in (switch.state, peer.state if peer else "deployed")
    state: State = "planned" if not port.enabled else "drained" if drained else "deployed"
    return Link(
        tier, switch.name, port.slot.name, port.peer, port.peer_port, port.cabled,  # type: ignore[arg-type]
        port.local4, port.peer4, port.local6, port.peer6, port.len6, state,
    )  # fmt: skip


def matches(match: Match, name: str, role: str, zone: int) -> bool:
    """Does a device fit a spec's match: all parts that are given must hold."""
    return (
        (match.role is None or match.role == role)
        and (match.zone is None or match.zone == zone)
        and (match.name is None or fnmatch.fnmatchcase(name, match.name))
    )


def pools_of(spec: ClusterSpec) -> Pools:
    """Bases of the pools that the spec declares."""
    plan = spec.addressing
    four, six = (plan.ipv4, plan.ipv6) if plan else (None, None)
    return Pools(
        host4=pool_base(four.host_links) if four else None,
        rtsw4=pool_base(four.rtsw_links) if four else None,
        ctsw4=pool_base(four.ctsw_links) if four else None,
        host6=pool_base(six.host_links) if six else None,
        rtsw6=pool_base(six.rtsw_links) if six else None,
        ctsw6=pool_base(six.ctsw_links) if six else None,
        loopback6=pool_base(six.loopbacks) if six else None,
    )


def rack_ports_of(profile: RackProfile) -> RackPorts:
    """The role map that a rack profile names."""
    return rack_ports(profile.switch, profile.nos, profile.port_map)


__all__ = ["Fabric", "Pools", "ZonePlan", "matches", "pools_of", "rack_ports_of", "spine_ports"]
