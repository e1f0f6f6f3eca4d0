"""Which routes every switch must have, with which next hops: computed from the design, in closed form.

BGP of the design in one paragraph: an RTSW announces its rack (or its NIC links) and its loopback, the other switches their loopbacks.
All CTSWs of a zone share an AS number, all ATSWs another, so a path never goes up twice. Equal AS path lengths share the load; a
drained switch prepends its AS number, so that it is used only where nothing else leads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Port, Switch
from fabric.verify.lldp_names import port_key

FAMILIES = (4, 6)
DRAIN_COST = 4
"""AS path length over a drained switch: its own AS number and three prepended (see targets: PREPENDS, DRAIN_PREPENDS)."""

Hops = frozenset[str]
"""Next hops: addresses of neighbours as text."""


@dataclass(slots=True)
class Expected:
    """The routes of one switch: next hops by prefix, at most `width` of them at once.

    `local` are prefixes that it has itself; `nics` the NIC links by port; `peers` name the neighbour behind an address;
    `by_port` gives the neighbour's (IPv4, IPv6) addresses by local port, for next hops that are link-local.
    """

    switch: Switch
    hops: dict[str, Hops] = field(default_factory=dict)
    width: int | None = None
    local: set[str] = field(default_factory=set)
    nics: dict[str, tuple[str, ...]] = field(default_factory=dict)
    peers: dict[str, str] = field(default_factory=dict)
    by_port: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)


class RoutePlan:
    """Expected routes of a fabric; `expected` is computed one switch at a time."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.live = [switch for switch in fabric.switches if switch.state != "planned"]
        self.announced: dict[str, tuple[list[str], list[str]]] = {s.name: self._announced(s) for s in self.live}
        self.origin: dict[str, str] = {
            prefix: name for name, both in self.announced.items() for prefixes in both for prefix in prefixes
        }
        # prefixes of all RTSWs of a zone, by family: copied whole into every table
        self._racks: dict[int, tuple[list[str], list[str]]] = {zone: ([], []) for zone in fabric.zones}
        for switch in self.live:
            if switch.role == "rtsw":
                for place, _ in enumerate(FAMILIES):
                    self._racks[switch.zone][place].extend(self.announced[switch.name][place])
        self._ctsws: dict[int, list[Switch]] = {zone: [] for zone in fabric.zones}
        for switch in self.live:
            if switch.role == "ctsw":
                self._ctsws[switch.zone].append(switch)
        self.atsws = [switch for switch in self.live if switch.role == "atsw" and self._reached(switch)]
        self._middle: dict[tuple[int, int], int | None] = {}

    def _reached(self, atsw: Switch) -> bool:
        """Whether the CTSWs' uplinks get as far as this ATSW."""
        wiring, ctsw = self.fabric.wiring, self.fabric.spec.roce.ctsw
        return wiring is not None and ctsw is not None and bool(wiring.uplinks_to(atsw.number, ctsw.uplinks))

    def _announced(self, switch: Switch) -> tuple[list[str], list[str]]:
        """(IPv4, IPv6) prefixes that a switch brings in."""
        four = [f"{fmt4(switch.router_id)}/32"] if self.fabric.pools.host4 is not None else []
        six = [] if switch.loopback6 is None else [f"{fmt6(switch.loopback6)}/128"]
        if switch.role != "rtsw":
            return four, six
        if self.fabric.spec.bgp.aggregate_racks:
            rack4, rack6 = self.fabric.rack_prefix(switch.zone, switch.number)
            four += [] if rack4 is None else [f"{fmt4(rack4.base)}/{rack4.length}"]
            six += [] if rack6 is None else [f"{fmt6(rack6.base)}/{rack6.length}"]
            return four, six
        for port in self.fabric.ports(switch):
            if port.role == "host" and port.enabled:
                link4, link6 = nic_prefixes(port)
                four += [] if link4 is None else [link4]
                six += [] if link6 is None else [link6]
        return four, six

    def cost(self, switch: Switch) -> int:
        """What a switch adds to the AS path of what it tells on."""
        return DRAIN_COST if switch.state == "drained" else 1

    def up_cost(self, plane: int, zone: int) -> int | None:
        """AS path length that the CTSWs of a zone and plane add to routes of its racks, as an ATSW of the plane prefers; None: no way."""
        found = [self.cost(ctsw) for ctsw in self._ctsws[zone] if ctsw.plane == plane]
        return min(found, default=None)

    def middle(self, plane: int, zone: int) -> int | None:
        """AS path length from a CTSW of a plane to the racks of another zone, its own not counted; None: no way."""
        if (plane, zone) not in self._middle:
            up = self.up_cost(plane, zone)
            over = [self.cost(atsw) for atsw in self.atsws if atsw.plane == plane]
            self._middle[plane, zone] = None if up is None or not over else up + min(over)
        return self._middle[plane, zone]

    def expected(self, switch: Switch) -> Expected:
        """The routes of one switch that is not planned."""
        ports = self.fabric.ports(switch)
        width = self.fabric.settings_of(switch).ecmp_width if self.fabric.spec.overrides else None
        made = Expected(switch, width=width or self.fabric.spec.bgp.ecmp_width)
        for prefixes in self.announced[switch.name]:
            made.local.update(prefixes)
        _local_ports(made, switch, ports)
        links = [port for port in ports if port.role in ("up", "down") and port.enabled]
        for place, _ in enumerate(FAMILIES):
            fill = _Filler(self, made, place)
            if switch.role == "rtsw":
                fill.rtsw(links)
            elif switch.role == "ctsw":
                fill.ctsw(links)
            else:
                fill.atsw(links)
        for prefix in made.local:
            made.hops.pop(prefix, None)
        return made

    def racks(self, zone: int, place: int) -> list[str]:
        """What the RTSWs of a zone announce, in family number `place` (0: IPv4)."""
        return self._racks[zone][place]

    def ctsws(self, zone: int) -> Sequence[Switch]:
        """The CTSWs of a zone that are not planned."""
        return self._ctsws[zone]


@dataclass(frozen=True, slots=True)
class _Filler:
    """Fills the routes of one switch and family."""

    plan: RoutePlan
    made: Expected
    place: int

    def _put(self, prefixes: Sequence[str], ports: Sequence[Port]) -> None:
        """These prefixes over all of these ports."""
        hops = frozenset(address for port in ports if (address := peer_address(port, self.place)) is not None)
        if hops:
            self.made.hops.update(dict.fromkeys(prefixes, hops))

    def _cheapest(self, ways: Sequence[tuple[int, Port]]) -> list[Port]:
        best = min((cost for cost, _ in ways), default=0)
        return [port for cost, port in ways if cost == best]

    def _own(self, name: str) -> list[str]:
        return self.plan.announced[name][self.place]

    def _peer(self, port: Port) -> Switch:
        return self.plan.fabric.by_name[port.peer]

    def rtsw(self, links: Sequence[Port]) -> None:
        """An RTSW: everything over its CTSWs."""
        plan, me = self.plan, self.made.switch
        ups = [(plan.cost(peer), port, peer) for port, peer in ((port, self._peer(port)) for port in links)]
        self._put(plan.racks(me.zone, self.place), self._cheapest([(cost, port) for cost, port, _ in ups]))
        for _, port, peer in ups:
            self._put(self._own(peer.name), [port])
        planes = sorted({peer.plane for _, _, peer in ups})
        for atsw in plan.atsws:
            ways = [(cost, port) for cost, port, peer in ups if peer.plane == atsw.plane]
            self._put(self._own(atsw.name), self._cheapest(ways))
        for zone in plan.fabric.zones:
            if zone == me.zone:
                continue
            over = {plane: plan.middle(plane, zone) for plane in planes}
            ways = [(cost + way, port) for cost, port, peer in ups if (way := over[peer.plane]) is not None]
            self._put(plan.racks(zone, self.place), self._cheapest(ways))
            for ctsw in plan.ctsws(zone):
                same = [(cost, port) for cost, port, peer in ups if peer.plane == ctsw.plane]
                if over.get(ctsw.plane) is not None:
                    self._put(self._own(ctsw.name), self._cheapest(same))

    def ctsw(self, links: Sequence[Port]) -> None:
        """A CTSW: racks of its zone straight down, all else over the ATSWs."""
        plan, me = self.plan, self.made.switch
        ups = [(plan.cost(self._peer(port)), port) for port in links if port.role == "up"]
        straight: dict[str, list[Port]] = {}
        for port in links:
            straight.setdefault(port.peer, []).append(port)
        for name, ports in straight.items():
            self._put(self._own(name), ports)
        best = self._cheapest(ups)
        for zone in plan.fabric.zones:
            if zone == me.zone:
                continue
            if plan.up_cost(me.plane, zone) is not None:
                self._put(plan.racks(zone, self.place), best)
            for ctsw in plan.ctsws(zone):
                if ctsw.plane == me.plane:
                    self._put(self._own(ctsw.name), best)

    def atsw(self, links: Sequence[Port]) -> None:
        """An ATSW: each zone over that zone's CTSWs of its plane."""
        by_zone: dict[int, list[tuple[int, Port]]] = {}
        straight: dict[str, list[Port]] = {}
        for port in links:
            peer = self._peer(port)
            by_zone.setdefault(peer.zone, []).append((self.plan.cost(peer), port))
            straight.setdefault(port.peer, []).append(port)
        for zone, ways in by_zone.items():
            self._put(self.plan.racks(zone, self.place), self._cheapest(ways))
        for name, ports in straight.items():
            self._put(self._own(name), ports)


def peer_address(port: Port, place: int) -> str | None:
    """The neighbour's address on a port as text, in family number `place`; None where the family is not used."""
    if place == 0:
        return None if port.peer4 is None else fmt4(port.peer4)
    return None if port.peer6 is None else fmt6(port.peer6)


def nic_prefixes(port: Port) -> tuple[str | None, str | None]:
    """(IPv4, IPv6) prefixes of the link to a NIC."""
    return (
        None if port.local4 is None else f"{fmt4(port.local4 & ~1)}/31",
        None if port.local6 is None else f"{fmt6(port.local6 >> 64 << 64)}/64",
    )


def _local_ports(made: Expected, switch: Switch, ports: Sequence[Port]) -> None:
    for port in ports:
        if port.role == "host" and port.enabled:
            made.nics[port.slot.name] = tuple(prefix for prefix in nic_prefixes(port) if prefix is not None)
            made.local.update(made.nics[port.slot.name])
        elif port.enabled:
            if port.local4 is not None:
                made.local.add(f"{fmt4(port.local4 & ~1)}/31")
            if port.local6 is not None:
                made.local.add(f"{fmt6(port.local6 & ~1)}/127")
        four, six = peer_address(port, 0), peer_address(port, 1)
        made.by_port[port_key(port.slot.name)] = (four, six)
        for address in (four, six):
            if address is not None:
                made.peers[address] = f"{port.peer} ({port.slot.name})"
    if switch.nos == "fboss":
        from fabric.targets.fboss.agent_ports import vlan_of

        for port in ports:
            made.by_port[f"fboss{vlan_of(port)}"] = made.by_port[port_key(port.slot.name)]
