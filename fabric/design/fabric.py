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
    """A design. Build it with `fabric.design.build.design`; read it through `switches`, `ports`, `hosts`, `links`."""

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
    _tiers: dict[tuple[Role, int], list[Switch]] = field(default_factory=dict)
    _cabled: dict[tuple[str, int, str], Cabled] = field(default_factory=dict)

    def settle(self, switches: Iterable[Switch]) -> None:
        """Take the designed switches, those of one tier and zone in order of their numbers from 1; `ports` needs them."""
        self.switches = tuple(switches)
        self.by_name = {switch.name: switch for switch in self.switches}
        self._tiers = {}
        for switch in self.switches:
            self._tiers.setdefault((switch.role, switch.zone), []).append(switch)

    # --- names
    # -----------------------------------------------------------------------------------------------------------------
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
    # --------------------------------------------------------------------------------------------------
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
    # ----------------------------------------------------------------------------------------------------------------
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
    # -----------------------------------------------------------------------------------------------------------------
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
    # -----------------------------------------------------------------------------------------------------------------
    def ports(self, switch: Switch) -> list[Port]:
        """The used ports of a switch: downlinks first, then uplinks, then the front-end link; each in order of its
        index.
        """
        if switch.role == "rtsw":
            return [*self._rtsw_down(switch), *self._rtsw_up(switch), *self._front_end(switch)]
        if switch.role == "ctsw":
            return [*self._ctsw_down(switch), *self._ctsw_up(switch)]
        return list(self._atsw_down(switch))

    def host_ports(self, switch: Switch) -> Iterator[Port]:
        """The ports of an RTSW towards the NICs of its hosts, by host and rail."""
        return self._rtsw_down(switch)

    def _pair(self, base: int | None, index: int, *, upper: bool, stride: int = 2) -> tuple[int | None, int | None]:
        """(local, peer) address of link `index`: the upper end has the even address."""
        if base is None:
            return None, None
        even = base + stride * index
        return (even, even + 1) if upper else (even + 1, even)

    def _rtsw_down(self, switch: Switch) -> Iterator[Port]:
        plan = self.zones[switch.zone]
        cabled = self.cabled("host", plan.ports.host_speed_gbps, plan)
        nics = self.nic_names
        for host in self.hosts_of(switch.zone, switch.number):
            for nic, ifname in enumerate(nics):
                index = self.numbering.host_link(switch.zone, switch.number, host.unit, nic)
                local4, peer4 = self._pair(self.pools.host4, index, upper=True)
                six = None if self.pools.host6 is None else self.pools.host6 + (index << 64)
                number = (host.unit - 1) * len(nics) + nic
                yield Port(
                    plan.ports.downlinks[number], "host", number + 1, cabled, host.name, ifname, 0, "host",
                    local4, peer4, None if six is None else six + 1, None if six is None else six + 2, 64,
                    _enabled(switch, host),
                )  # fmt: skip

    def _rtsw_up(self, switch: Switch) -> Iterator[Port]:
        plan = self.zones[switch.zone]
        if self.spec.roce.ctsw is None:
            return
        cabled = self.cabled("rtsw", plan.ports.uplink_speed_gbps, plan)
        far = self.ctsw_down[plan.ports.uplink_speed_gbps][switch.number - 1].name
        for uplink, peer in enumerate(self._tiers["ctsw", switch.zone], start=1):
            index = self.numbering.rtsw_link(switch.zone, switch.number, uplink)
            local4, peer4 = self._pair(self.pools.rtsw4, index, upper=False)
            local6, peer6 = self._pair(self.pools.rtsw6, index, upper=False)
            yield Port(
                plan.ports.uplinks[uplink - 1], "up", uplink, cabled, peer.name, far, peer.asn, "ctsw",
                local4, peer4, local6, peer6, 127, _enabled(switch, peer),
            )  # fmt: skip

    def _front_end(self, switch: Switch) -> Iterator[Port]:
        plan = self.zones[switch.zone]
        if plan.ports.front_end is not None:
            cabled = self.cabled("host", plan.ports.host_speed_gbps, plan)
            yield Port(
                plan.ports.front_end, "front-end", 1, cabled, "", "", 0, "rsw", None, None, None, None, 127, False
            )

    def _ctsw_down(self, switch: Switch) -> Iterator[Port]:
        plan = self.zones[switch.zone]
        speed = plan.ports.uplink_speed_gbps
        cabled = self.cabled("rtsw", speed, plan)
        slots = self.ctsw_down[speed]
        far = plan.ports.uplinks[switch.number - 1].name
        for rack, peer in enumerate(self._tiers["rtsw", switch.zone], start=1):
            index = self.numbering.rtsw_link(switch.zone, rack, switch.number)
            local4, peer4 = self._pair(self.pools.rtsw4, index, upper=True)
            local6, peer6 = self._pair(self.pools.rtsw6, index, upper=True)
            yield Port(
                slots[rack - 1], "down", rack, cabled, peer.name, far, peer.asn, "rtsw",
                local4, peer4, local6, peer6, 127, _enabled(switch, peer),
            )  # fmt: skip

    def _ctsw_up(self, switch: Switch) -> Iterator[Port]:
        wiring, ctsw = self.wiring, self.spec.roce.ctsw
        if wiring is None or ctsw is None:
            return
        cabled = self.cabled("ctsw", self.spine_speed)
        atsws = self._tiers["atsw", 0]
        for uplink in range(1, ctsw.uplinks + 1):
            index = self.numbering.ctsw_link(switch.zone, switch.number, uplink)
            local4, peer4 = self._pair(self.pools.ctsw4, index, upper=False)
            local6, peer6 = self._pair(self.pools.ctsw6, index, upper=False)
            peer = atsws[wiring.atsw(switch.number, uplink) - 1]
            far = self.atsw_down[wiring.atsw_port(switch.zone, switch.number, uplink)].name
            yield Port(
                self.ctsw_up[-uplink], "up", uplink, cabled, peer.name, far, peer.asn, "atsw",
                local4, peer4, local6, peer6, 127, _enabled(switch, peer),
            )  # fmt: skip

    def _atsw_down(self, switch: Switch) -> Iterator[Port]:
        wiring, ctsw = self.wiring, self.spec.roce.ctsw
        if wiring is None or ctsw is None:
            return
        cabled = self.cabled("ctsw", self.spine_speed)
        found = [
            (wiring.atsw_port(plan.number, number, uplink), plan.number, number, uplink)
            for uplink in wiring.uplinks_to(switch.number, ctsw.uplinks)
            for plan in self.zones.values()
            for number in range(switch.plane + 1, plan.profile.uplinks + 1, wiring.planes)
        ]
        for place, zone, number, uplink in sorted(found):
            index = self.numbering.ctsw_link(zone, number, uplink)
            local4, peer4 = self._pair(self.pools.ctsw4, index, upper=True)
            local6, peer6 = self._pair(self.pools.ctsw6, index, upper=True)
            peer = self._tiers["ctsw", zone][number - 1]
            yield Port(
                self.atsw_down[place], "down", place + 1, cabled, peer.name, self.ctsw_up[-uplink].name, peer.asn, "ctsw",
                local4, peer4, local6, peer6, 127, _enabled(switch, peer),
            )  # fmt: skip

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
    # -----------------------------------------------------------------------------------------------------------------
    def links(self) -> Iterator[Link]:
        """Every cable once, seen from its upper end: host links, then RTSW to CTSW, then CTSW to ATSW."""
        tiers: tuple[tuple[Role, str], ...] = (("rtsw", "host"), ("ctsw", "rtsw"), ("atsw", "ctsw"))
        for role, tier in tiers:
            for switch in self.switches:
                if switch.role == role:
                    for port in self.ports(switch):
                        if port.role in ("host", "down"):
                            yield _link(tier, switch, port, self.by_name.get(port.peer))


def _enabled(switch: Switch, peer: Switch | Host) -> bool:
    """Whether a port towards a peer carries traffic: not while one of the two is only planned."""
    return switch.state != "planned" and peer.state != "planned"


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
