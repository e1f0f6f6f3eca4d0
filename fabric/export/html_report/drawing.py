"""A located part drawn in its rack and fabric: hosts with their GPUs and NICs, the switches above them, the cables between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fabric.design.seats import Seat, Seating, Trunk
from fabric.verify.collectives.model import Part
from fabric.verify.history.names import LINK, device_of, ends_of

WIDTH = 1000.0
SHOWN = 8
"""Switches in a row and hosts in a rack that are drawn; the part is always among them."""
_TOP, _ROW, _BOX = 46.0, 118.0, 34.0


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with its text; `bad` marks the part. `kind`: switch, host, nic, gpu, rack."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    text: str
    title: str
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Wire:
    """A cable. `at_a` and `at_b` name the ports at its ends, for the one that is the part."""

    x1: float
    y1: float
    x2: float
    y2: float
    title: str
    bad: bool = False
    at_a: str = ""
    at_b: str = ""


@dataclass(slots=True)
class Drawing:
    """All shapes, and what it shows in words."""

    text: str
    height: float = 0.0
    boxes: list[Box] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    notes: list[tuple[float, float, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Focus:
    """What is drawn: hosts, their switches, the switches above. `bad` holds the names of the part: boxes and wires."""

    hosts: tuple[str, ...]
    tiers: tuple[tuple[str, ...], ...]
    bad: frozenset[str]


def draw(seating: Seating, part: Part) -> Drawing | None:
    """The drawing of a part; None for what has no place: a setting, a part that the design does not have."""
    if part.kind == "setting":
        return None
    focus = _focus(seating, part)
    if focus is None:
        return None
    drawing = Drawing(f"{part.name} in its rack and fabric{': ' + part.place if part.place else ''}")
    y = _TOP
    for number, tier in enumerate(focus.tiers):
        _switches(drawing, tier, focus, y, _tier_total(seating, focus, number))
        y += _ROW
    _racks(seating, drawing, focus, y)
    _trunks(seating, drawing, focus)
    return drawing


def _focus(seating: Seating, part: Part) -> _Focus | None:
    names = _names(part)
    devices = {device_of(name) for name in names}
    hosts = [host for host in seating.by_host if host in devices]
    switches = [switch for switch in seating.trunks_of if switch in devices]
    if part.kind == "zone-uplinks":
        switches += _zone_ends(seating, part)
        names |= {trunk.name for switch in switches for trunk in seating.trunks_of[switch] if trunk.b == switch}
    if not hosts and not switches:
        return None
    leaves = list(dict.fromkeys(seat.switch for host in hosts for seat in seating.by_host[host]))
    leaves += [switch for switch in switches if switch not in leaves and _is_leaf(seating, switch)]
    low = list(leaves)
    if not low:  # a switch further up: some of those below it
        low = _below(seating, _lowest(seating, switches))
    tiers = [_some(low, devices)]
    while above := _above(seating, tiers[0]):
        tiers.insert(0, _some(above, devices | set(switches)))
    racked = hosts or [host for host, seats in seating.by_host.items() if any(s.switch in leaves for s in seats)]
    neighbours = _rack_of(seating, racked[:1]) if racked else []
    drawn = list(dict.fromkeys((*hosts, *neighbours)))[:SHOWN]
    return _Focus(tuple(host for host in seating.by_host if host in drawn), tuple(tiers), frozenset(names))


def _names(part: Part) -> set[str]:
    """The part by all its names: a cable by its whole name in both directions and the ends, a NIC by itself."""
    ends = ends_of(part.name)
    if LINK in part.name and len(ends) == 2:
        return {part.name, LINK.join(reversed(ends)), *ends}
    return {part.name, *ends}


def _is_leaf(seating: Seating, switch: str) -> bool:
    return any(trunk.b == switch for trunk in seating.trunks_of[switch]) and not any(
        trunk.a == switch for trunk in seating.trunks_of[switch]
    )


def _lowest(seating: Seating, switches: Sequence[str]) -> list[str]:
    """Those of the switches below which no other of them is: the lower end of a cable."""
    upper = {trunk.a for switch in switches for trunk in seating.trunks_of[switch] if trunk.b == switch}
    return [switch for switch in switches if switch not in upper]


def _below(seating: Seating, switches: Sequence[str]) -> list[str]:
    found = dict.fromkeys(t.b for switch in switches for t in seating.trunks_of[switch] if t.a == switch)
    further = dict.fromkeys(t.b for switch in found for t in seating.trunks_of[switch] if t.a == switch)
    return list(further or found)


def _zone_ends(seating: Seating, part: Part) -> list[str]:
    """The switches whose uplinks leave the zone that its hosts are in: one tier above those of the hosts."""
    leaves = dict.fromkeys(seat.switch for host in part.hosts for seat in seating.by_host.get(host, ()))
    return _above(seating, tuple(leaves))


def _above(seating: Seating, tier: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(t.a for switch in tier for t in seating.trunks_of.get(switch, ()) if t.b == switch))


def _some(names: Sequence[str], first: Iterable[str]) -> tuple[str, ...]:
    """At most SHOWN of them in their order, those of the part always."""
    wanted = set(first)
    keep = [name for name in names if name in wanted][:SHOWN]
    keep += [name for name in names if name not in wanted][: SHOWN - len(keep)]
    return tuple(name for name in names if name in keep)


def _tier_total(seating: Seating, focus: _Focus, number: int) -> int:
    if number + 1 >= len(focus.tiers):
        return len(focus.tiers[number])
    return len(_above(seating, focus.tiers[number + 1]))


def _rack_of(seating: Seating, hosts: Sequence[str]) -> list[str]:
    racks = {(seat.zone, seat.rack) for host in hosts for seat in seating.by_host[host][:1]}
    return [host for host, seats in seating.by_host.items() if seats and (seats[0].zone, seats[0].rack) in racks]


def _slots(count: int, width: float = WIDTH) -> list[tuple[float, float]]:
    """(left, width) of so many boxes side by side."""
    step = width / max(count, 1)
    return [(number * step + min(12.0, step * 0.06), step - 2 * min(12.0, step * 0.06)) for number in range(count)]


def _switches(drawing: Drawing, tier: Sequence[str], focus: _Focus, y: float, total: int) -> None:
    for name, (x, width) in zip(tier, _slots(len(tier)), strict=True):
        drawing.boxes.append(Box("switch", x, y, width, _BOX, name, name, name in focus.bad))
    if total > len(tier):
        drawing.notes.append((4.0, y - 8.0, f"{len(tier)} of {total} switches are drawn"))


def _racks(seating: Seating, drawing: Drawing, focus: _Focus, y: float) -> None:
    """The hosts, grouped by rack, each with its NICs above its GPUs; and the cables to the switches above."""
    if not focus.hosts:
        drawing.height = y - _ROW + _BOX + 24.0
        return
    by_rack: dict[tuple[int, int], list[str]] = {}
    for host in focus.hosts:
        seat = seating.by_host[host][0]
        by_rack.setdefault((seat.zone, seat.rack), []).append(host)
    slots = iter(_slots(len(focus.hosts)))
    for (zone, rack), hosts in by_rack.items():
        places = [next(slots) for _ in hosts]
        left, right = places[0][0] - 5, places[-1][0] + places[-1][1] + 5
        drawing.boxes.append(Box("rack", left, y, right - left, 132.0, "", f"zone {zone}, rack {rack}"))
        drawing.notes.append((left + 6, y + 127.0, f"zone {zone}, rack {rack}"))
        for host, (x, width) in zip(hosts, places, strict=True):
            _host(drawing, focus, seating.by_host[host], x, y + 14, width)
    drawing.height = y + 148.0


def _host(drawing: Drawing, focus: _Focus, seats: Sequence[Seat], x: float, y: float, width: float) -> None:
    host = seats[0].host
    drawing.boxes.append(Box("host", x, y, width, 96.0, "", host, host in focus.bad))
    drawing.notes.append((x + 6, y + 90.0, f"{host}, unit {seats[0].unit}: NICs, GPUs"))
    for seat, (left, wide) in zip(seats, _slots(len(seats), width), strict=True):
        gpu = f"{host}:gpu{seat.gpu}"
        nic_bad = not {seat.name, f"{host}:{seat.hca}"}.isdisjoint(focus.bad) and not _cable_bad(seat, focus)
        drawing.boxes.append(Box("nic", x + left, y + 4, wide, 24.0, str(seat.rail), seat.name, nic_bad))
        drawing.boxes.append(Box("gpu", x + left, y + 38, wide, 24.0, str(seat.gpu), gpu, gpu in focus.bad))
        _host_cable(drawing, focus, seat, (x + left + wide / 2, y + 4))


def _cable_bad(seat: Seat, focus: _Focus) -> bool:
    return seat.cable in focus.bad


def _host_cable(drawing: Drawing, focus: _Focus, seat: Seat, end: tuple[float, float]) -> None:
    above = next((box for box in drawing.boxes if box.kind == "switch" and box.text == seat.switch), None)
    if above is None:
        return
    bad = _cable_bad(seat, focus) or f"{seat.switch}:{seat.port}" in focus.bad
    x = above.x + above.width * (0.2 + 0.6 * (end[0] / WIDTH))
    ports = (seat.port, seat.nic if seat.guid is None else seat.hca) if bad else ("", "")
    drawing.wires.append(Wire(x, above.y + above.height, *end, seat.cable, bad, *ports))


def _trunks(seating: Seating, drawing: Drawing, focus: _Focus) -> None:
    """The cables between the switches that are drawn; several between the same two are one wire, unless one of them is the part."""
    boxes = {box.text: box for box in drawing.boxes if box.kind == "switch"}
    drawn: set[tuple[str, str]] = set()
    for trunk in sorted({t for name in boxes for t in seating.trunks_of.get(name, ())}, key=lambda t: t.name):
        upper, lower = boxes.get(trunk.a), boxes.get(trunk.b)
        if upper is None or lower is None:
            continue
        bad = _trunk_bad(trunk, focus)
        if bad or (trunk.a, trunk.b) not in drawn:
            drawn.add((trunk.a, trunk.b))
            drawing.wires.append(_trunk_wire(trunk, upper, lower, bad=bad))


def _trunk_bad(trunk: Trunk, focus: _Focus) -> bool:
    ends = {trunk.name, f"{trunk.a}:{trunk.a_port}", f"{trunk.b}:{trunk.b_port}"}
    return not ends.isdisjoint(focus.bad)


def _trunk_wire(trunk: Trunk, upper: Box, lower: Box, *, bad: bool) -> Wire:
    x1 = upper.x + upper.width * (0.15 + 0.7 * (lower.x + lower.width / 2) / WIDTH)
    x2 = lower.x + lower.width * (0.15 + 0.7 * (upper.x + upper.width / 2) / WIDTH)
    ports = (trunk.a_port, trunk.b_port) if bad else ("", "")
    return Wire(x1, upper.y + upper.height, x2, lower.y, trunk.name, bad, *ports)
