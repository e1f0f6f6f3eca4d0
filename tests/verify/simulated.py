"""A network that does what its design says, to be broken on purpose: the facts that its devices would give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Port, Switch
from fabric.targets.facts import BgpSession, InterfaceState, LldpNeighbor, NextHop, Route, Version
from fabric.targets.job import ClusterJob
from fabric.verify.observed import Network, Observed
from fabric.verify.qos import config_path, read_qos
from fabric.verify.route_plan import RoutePlan, nic_prefixes, peer_address
from fabric.verify.route_table import compare_routes

End = tuple[str, str]
Table = dict[str, tuple[tuple[int, ...], frozenset[str]]]
"""prefix -> (AS path, next hops)."""


@dataclass
class Simulated:
    """`cables` joins ends both ways; faults are edits of the fields, or of what `facts` gives."""

    fabric: Fabric
    cables: dict[End, End] = field(default_factory=dict)
    silent_hosts: set[str] = field(default_factory=set)
    deaf: set[End] = field(default_factory=set)
    off: set[End] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)
    unreachable: set[str] = field(default_factory=set)
    down: set[End] = field(default_factory=set)
    mtu: dict[End, int] = field(default_factory=dict)
    extra: dict[End, list[LldpNeighbor]] = field(default_factory=dict)
    mac_hosts: bool = False
    domain: bool = False
    edits: dict[str, tuple[str, str]] = field(default_factory=dict)
    images: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for link in self.fabric.links():
            if not link.planned:
                self.join((link.a, link.a_port), (link.b, link.b_port))

    def join(self, one: End, two: End) -> None:
        self.cables[one], self.cables[two] = two, one

    def cut(self, one: End) -> None:
        self.cables.pop(self.cables.pop(one))

    def swap(self, one: End, two: End) -> None:
        """Exchanges the plugs in two ends."""
        far_one, far_two = self.cables[one], self.cables[two]
        self.join(one, far_two)
        self.join(two, far_one)

    def move(self, plug: End, to: End) -> None:
        """Puts the plug in `plug` somewhere else."""
        far = self.cables.pop(plug)
        self.join(far, to)

    # --- what the devices say
    def alive(self, name: str) -> bool:
        return name not in self.dead

    def up(self, end: End) -> bool:
        far = self.cables.get(end)
        return far is not None and self.alive(far[0]) and not {end, far} & self.off

    def lldp(self, switch: Switch) -> Iterator[LldpNeighbor]:
        for end, far in self._plugged(switch.name):
            if self.up(end) and end not in self.deaf and far[0] not in self.silent_hosts:
                yield self.neighbor(end[1], far)
        for end, more in self.extra.items():
            if end[0] == switch.name:
                yield from more

    def _plugged(self, name: str) -> Iterator[tuple[End, End]]:
        """The cables at a device; few ports are plugged beyond those of the design."""
        switch = self.fabric.by_name[name]
        ends = {(name, port.slot.name) for port in self.fabric.ports(switch)}
        more = [] if len(self.cables) > 10_000 else [end for end in self.cables if end[0] == name and end not in ends]
        for end in [*sorted(ends), *more]:
            if end in self.cables:
                yield end, self.cables[end]

    def neighbor(self, port: str, far: End) -> LldpNeighbor:
        name, far_port = far
        system = f"{name}.{self.fabric.spec.site.domain}" if self.domain else name
        if self.mac_hosts and name not in self.fabric.by_name:
            return LldpNeighbor(port, system, "0c42.a1d2.0001", far_port, "0c42.a1d2.0001")
        return LldpNeighbor(port, system, f'"{far_port}"' if self.domain else far_port, None, None)

    def interfaces(self, switch: Switch) -> Iterator[InterfaceState]:
        for port in self.fabric.ports(switch):
            end = (switch.name, port.slot.name)
            admin = port.enabled and end not in self.off
            mtu = self.mtu.get(end, self.fabric.spec.mtu.ip)
            yield InterfaceState(port.slot.name, admin, admin and self.up(end), mtu, 400, None)

    def session_up(self, switch: Switch, port: Port) -> bool:
        one, two = (switch.name, port.slot.name), (port.peer, port.peer_port)
        return self.cables.get(one) == two and self.up(one) and self.up(two) and not {one, two} & self.down

    def bgp(self, switch: Switch) -> Iterator[BgpSession]:
        for port in links(self.fabric, switch):
            for place in (0, 1):
                address = peer_address(port, place)
                if address is not None:
                    state = "established" if self.session_up(switch, port) else "idle"
                    yield BgpSession(address, port.peer_asn, state, 1, 1, port.peer)

    def facts(self, *, routes: bool = False, qos: bool = False) -> Network:
        plan = RoutePlan(self.fabric)
        tables = converge(self) if routes else {}
        job = ClusterJob(self.fabric, "0" * 64)
        network = {}
        for switch in plan.live:
            name = switch.name
            if name in self.unreachable or not self.alive(name):
                network[name] = Observed(name, unreachable="connection timed out")
                continue
            made = Observed(
                name,
                version=Version(name, switch.model, self.images.get(name, "4.30.1F"), 1.0),
                lldp=tuple(self.lldp(switch)),
                bgp=tuple(self.bgp(switch)),
                interfaces=tuple(self.interfaces(switch)),
            )
            if routes:
                made = replace(made, routes=compare_routes(plan.expected(switch), tables[name]))
            if qos:
                files = {artifact.path: artifact.content for artifact in job.render(name)}
                text = files[config_path(switch)].decode()
                if name in self.edits:
                    assert self.edits[name][0] in text
                    text = text.replace(*self.edits[name])
                made = replace(made, qos=read_qos(self.fabric, switch, text.encode()))
            network[name] = made
        return network


def links(fabric: Fabric, switch: Switch) -> list[Port]:
    return [port for port in fabric.ports(switch) if port.role in ("up", "down") and port.enabled]


def converge(network: Simulated) -> dict[str, list[Route]]:
    """BGP itself, round by round until nothing changes: AS path lengths, no AS twice, racks announce only their own."""
    fabric, live = (
        network.fabric,
        [s for s in network.fabric.switches if s.state != "planned" and network.alive(s.name)],
    )
    own = {s.name: own_prefixes(fabric, s) for s in live}
    tables: dict[str, Table] = {s.name: {p: ((), frozenset()) for p in own[s.name]} for s in live}
    while True:
        fresh = {switch.name: one_round(network, switch, own, tables) for switch in live}
        if fresh == tables:
            return {s.name: [*as_routes(tables[s.name]), *connected(network, s)] for s in live}
        tables = fresh


def one_round(network: Simulated, switch: Switch, own: dict[str, list[str]], tables: dict[str, Table]) -> Table:
    table: Table = {prefix: ((), frozenset()) for prefix in own[switch.name]}
    heard: dict[str, list[tuple[tuple[int, ...], str]]] = {}
    for port in links(network.fabric, switch):
        peer = network.fabric.by_name[port.peer]
        if not network.session_up(switch, port):
            continue
        for prefix, (path, _) in tables[peer.name].items():
            if peer.role == "rtsw" and prefix not in own[peer.name]:
                continue
            told = (peer.asn,) * (4 if peer.state == "drained" else 1) + path
            address = peer_address(port, 1 if ":" in prefix else 0)
            if switch.asn not in told and prefix not in table and address is not None:
                heard.setdefault(prefix, []).append((told, address))
    for prefix, ways in heard.items():
        best = min(len(path) for path, _ in ways)
        chosen = [(path, address) for path, address in ways if len(path) == best]
        table[prefix] = (min(chosen)[0], frozenset(address for _, address in chosen))
    return table


def own_prefixes(fabric: Fabric, switch: Switch) -> list[str]:
    found = [f"{fmt4(switch.router_id)}/32"] if fabric.pools.host4 is not None else []
    found += [] if switch.loopback6 is None else [f"{fmt6(switch.loopback6)}/128"]
    if switch.role == "rtsw" and fabric.spec.bgp.aggregate_racks:
        four, six = fabric.rack_prefix(switch.zone, switch.number)
        found += [] if four is None else [f"{fmt4(four.base)}/{four.length}"]
        found += [] if six is None else [f"{fmt6(six.base)}/{six.length}"]
    elif switch.role == "rtsw":
        nics = [port for port in fabric.ports(switch) if port.role == "host" and port.enabled]
        found += [text for port in nics for text in nic_prefixes(port) if text is not None]
    return found


def as_routes(table: Table) -> Iterator[Route]:
    for prefix, (_, hops) in table.items():
        if hops:
            yield Route(prefix, tuple(NextHop(hop, None) for hop in sorted(hops)), "bgp")


def connected(network: Simulated, switch: Switch) -> Iterator[Route]:
    yield Route("fe80::/64", (NextHop(None, "any"),), None)
    for prefix in own_prefixes(network.fabric, switch):
        yield Route(prefix, (NextHop(None, "Loopback0"),), "connected")
    for port in network.fabric.ports(switch):
        if port.role == "host" and network.up((switch.name, port.slot.name)):
            for text in nic_prefixes(port):
                if text is not None:
                    yield Route(text, (NextHop(None, port.slot.name),), "connected")
