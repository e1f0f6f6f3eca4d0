"""The declared cables, and what each end of them hears."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from fabric.design.fabric import Fabric
from fabric.design.model import Cabled
from fabric.targets.facts import InterfaceState, LldpNeighbor
from fabric.verify.lldp_names import Directory, is_data_port, port_key, port_names, printable, spelled
from fabric.verify.observed import Network

End = tuple[str, str]
"""One end of a cable: device name and port key."""

State = Literal["right", "device", "wrong", "stranger", "silent", "off", "blind"]
"""What an end hears: its declared far end; that device, which names no port; another end of the design; somebody else; nothing; nothing
as it is shut down; or it cannot be asked.
"""


class Cable(Protocol):
    """A declared cable, of Ethernet or InfiniBand: two devices, their ports, and what joins them."""

    @property
    def a(self) -> str:
        """The upper device."""
        ...

    @property
    def a_port(self) -> str | int:
        """Its port."""
        ...

    @property
    def b(self) -> str:
        """The lower device."""
        ...

    @property
    def b_port(self) -> str | int:
        """Its port."""
        ...

    @property
    def cabled(self) -> Cabled:
        """Cable, length, speed."""
        ...


@dataclass(slots=True)
class CablePlan:
    """Declared links that should be there, both ways by end; `ignored` are ends that may hold anything (planned, front-end)."""

    links: Sequence[Cable]
    mate: dict[End, End] = field(default_factory=dict)
    link_of: dict[End, int] = field(default_factory=dict)
    ignored: set[End] = field(default_factory=set)
    names: dict[End, str] = field(default_factory=dict)

    def label(self, end: End) -> str:
        """An end as people write it: `device:port`, in the operating system's spelling."""
        return f"{end[0]}:{self.names.get(end) or printable(end[1])}"

    def subject(self, number: int) -> str:
        """A link as people write it."""
        link = self.links[number]
        return f"{link.a}:{link.a_port} <-> {link.b}:{link.b_port}"


def cable_plan(fabric: Fabric) -> CablePlan:
    """The plan of a fabric: links with a planned end are ignored, and so are front-end ports."""
    links: list[Cable] = []
    plan = CablePlan(links)
    for link in fabric.links():
        a, b = (link.a, port_key(link.a_port)), (link.b, port_key(link.b_port))
        if link.planned or fabric.by_name[link.a].state == "planned":
            plan.ignored.update((a, b))
            continue
        plan.mate[a], plan.mate[b] = b, a
        plan.link_of[a] = plan.link_of[b] = len(links)
        plan.names[a], plan.names[b] = link.a_port, link.b_port
        links.append(link)
    for switch in fabric.switches:
        front = fabric.zones[switch.zone].ports.front_end if switch.role == "rtsw" else None
        if front is not None:
            plan.ignored.add((switch.name, port_key(front.name)))
    return plan


@dataclass(slots=True)
class Ears:
    """What all ends hear.

    `states` holds ends of declared links; `meets` who is at the other end where that is not the declared one, both ways; `said` the
    words of a wrong neighbour; `extra` ports without a declared link that hear somebody: the end they hear, or None for a stranger.
    """

    states: dict[End, State] = field(default_factory=dict)
    meets: dict[End, End] = field(default_factory=dict)
    said: dict[End, str] = field(default_factory=dict)
    extra: dict[End, End | None] = field(default_factory=dict)
    ports: dict[End, InterfaceState] = field(default_factory=dict)
    vague: dict[End, str] = field(default_factory=dict)

    def up(self, end: End) -> bool | None:
        """Whether a port is up; None when it is not known."""
        state = self.ports.get(end)
        return None if state is None else state.oper_up


def listen(fabric: Fabric, plan: CablePlan, network: Network) -> Ears:
    """What every end of every declared link hears, and every port beyond them."""
    hosts = (host.name for host in fabric.hosts())
    directory = Directory([*fabric.by_name, *hosts], fabric.spec.site.domain)
    ears = Ears()
    claims: dict[End, End] = {}
    for switch in fabric.switches:
        device = network.get(switch.name)
        if device is None or device.lldp is None:
            continue
        for state in device.interfaces or ():
            ears.ports[switch.name, port_key(state.name)] = state
        heard: dict[End, list[LldpNeighbor]] = {}
        for neighbor in device.lldp:
            if is_data_port(neighbor.port):
                end = (switch.name, port_key(neighbor.port))
                heard.setdefault(end, []).append(neighbor)
                plan.names.setdefault(end, printable(neighbor.port))
        for end, neighbors in heard.items():
            _hear(plan, ears, directory, end, neighbors, claims)
    _silences(plan, ears, network)
    _reconcile(plan, ears, claims)
    _name_vague(plan, ears, claims)
    _join(ears, claims)
    return ears


def _hear(
    plan: CablePlan, ears: Ears, directory: Directory, end: End, neighbors: list[LldpNeighbor], claims: dict[End, End]
) -> None:
    if end in plan.ignored:
        return
    mate = plan.mate.get(end)
    found = []
    for neighbor in neighbors:
        device = directory.device(neighbor.system_name)
        found.append((device, port_names(neighbor, lambda key, device=device: (device, key) in plan.mate), neighbor))  # type: ignore[misc]
    if mate is not None:
        if any(device == mate[0] and mate[1] in ports for device, ports, _ in found):
            ears.states[end] = "right"
            return
        if any(device == mate[0] and not ports for device, ports, _ in found):
            ears.states[end] = "device"
            return
    known = [(device, ports, n) for device, ports, n in found if device is not None]
    ears.said[end] = spelled((known[0] if known else found[0])[2])
    named = [(device, ports, n) for device, ports, n in known if ports]
    if mate is not None:
        ears.states[end] = "wrong" if known else "stranger"
    if named:
        device, ports, neighbor = named[0]
        port = next((port for port in ports if (device, port) in plan.mate), ports[0])
        plan.names.setdefault((device, port), printable(neighbor.port_id or port))
        claims[end] = (device, port)
        ears.said[end] = spelled(neighbor)
    elif known and mate is not None:
        ears.vague[end] = known[0][0]
    if mate is None:
        ears.extra[end] = claims.get(end)


def _silences(plan: CablePlan, ears: Ears, network: Network) -> None:
    """The states of declared ends that heard nothing."""
    for end in plan.mate:
        if end in ears.states:
            continue
        device = network.get(end[0])
        if device is None or device.lldp is None:
            ears.states[end] = "blind"
            continue
        port = ears.ports.get(end)
        ears.states[end] = "off" if port is not None and port.admin_up is False else "silent"


def _reconcile(plan: CablePlan, ears: Ears, claims: dict[End, End]) -> None:
    """Where a neighbour names no port of the design, what the port there hears tells which one it is."""
    heard_at = {other: end for end, other in claims.items()}
    for end, state in ears.states.items():
        if state != "wrong" or claims.get(end) in plan.mate:
            continue
        mate, claim = plan.mate[end], claims.get(end)
        device = ears.vague.get(end) if claim is None else claim[0]
        there = heard_at.get(end)
        if device == mate[0] and ears.states[mate] == "right":
            ears.states[end] = "device"
            claims.pop(end, None)
        elif there is not None and there[0] == device:
            claims[end] = there
            ears.vague.pop(end, None)


def _name_vague(plan: CablePlan, ears: Ears, claims: dict[End, End]) -> None:
    """A wrong neighbour that names no port stands for its device's one end that nobody else hears, when there is just one."""
    if not ears.vague:
        return
    taken = set(claims.values()) | set(claims)
    free: dict[str, list[End]] = {}
    wanted = set(ears.vague.values())
    for end, mate in plan.mate.items():
        if end[0] in wanted and end not in taken and ears.states[mate] not in ("right", "device"):
            free.setdefault(end[0], []).append(end)
    for end, device in ears.vague.items():
        if len(free.get(device, ())) == 1:
            claims[end] = free[device][0]


def _join(ears: Ears, claims: dict[End, End]) -> None:
    """Claims, both ways: what an end says itself goes before what others say of it; an end that hears its declared mate is left alone."""
    ears.meets.update(claims)
    for end, other in claims.items():
        if ears.states.get(other) not in ("right", "device"):
            ears.meets.setdefault(other, end)


def ends(plan: CablePlan, number: int) -> tuple[End, End]:
    """The upper and the lower end of a link."""
    link = plan.links[number]
    return (link.a, port_key(str(link.a_port))), (link.b, port_key(str(link.b_port)))


def devices_of(found: Iterable[End]) -> tuple[str, ...]:
    """The devices of some ends, each once, in order."""
    return tuple(dict.fromkeys(end[0] for end in found))
