"""Stage `paths`: single flows between two NICs as programs to run, and what they printed as measurements and clues.

The program is `node/paths.py`. Its hops are addresses; the seating makes them names: the cables between switches that each flow crossed, the
port behind which full-size packets are lost, the port in which a NIC really is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from fabric.design.ip import fmt4, fmt6
from fabric.design.seats import Seat, Seating, Trunk
from fabric.verify.collectives.model import Clue, Measurement
from fabric.verify.collectives.stages import Group

LINE = "paths: {"
"""How a result begins; what stands before it is the launcher's."""

LONGEST = 100_000
"""Characters of a line that is read."""


@dataclass(frozen=True, slots=True)
class FlowShape:
    """How flows are sent. `size`: IP packet in bytes; `seconds` of each of `repeats`; `listen_s`: longest wait for LLDP (sent each 30 s)."""

    flows: int
    size: int
    repeats: int = 3
    seconds: float = 0.25
    listen_s: float = 35.0


def flow_argv(python: Sequence[str], sender: Seat, receiver: Seat, shape: FlowShape) -> tuple[str, ...]:
    """The command of both ranks; `python` runs the program."""
    return (
        *python, "--from", address(sender), "--to", address(receiver), "--nic", sender.nic, "--flows", str(shape.flows),
        "--repeats", str(shape.repeats), "--size", str(shape.size), "--seconds", f"{shape.seconds:g}", "--listen", f"{shape.listen_s:g}",
    )  # fmt: skip


def address(seat: Seat) -> str:
    """The address of a NIC by which flows go: IPv4 where it has one."""
    if seat.ip4 is not None:
        return fmt4(seat.ip4)
    return fmt6(seat.ip6) if seat.ip6 is not None else ""


def read_flows(seating: Seating, group: Group, text: str, source: str = "") -> Iterator[Measurement | Clue]:
    """Each flow as a measurement with the trunks of its way; clues about packets that are too large, and about cables that end elsewhere.

    `text` is all that the run printed. Without a single result the group was not made.
    """
    found = list(_lines(text))
    ways = {one["flow"]: one for one in found if "hops" in one and isinstance(one.get("flow"), int)}
    if not ways:
        yield Measurement(
            "paths", "path", group.hosts, group.rails, state="unmade", reason=_reason(text), source=source
        )
        return
    ends = _ends(seating, group)
    rates: dict[int, list[float]] = {}
    for one in found:
        if "run" in one and one.get("flow") in ways:
            rates.setdefault(one["flow"], []).append(_rate(one))
    for port in _chance_losses(seating, ends, ways):
        del ways[port]
    for port, way in ways.items():
        yield _measured(seating, group, way, rates.get(port, []), f"{source} flow {port}".strip())
    said: dict[Clue, None] = {}
    for way in ways.values():
        said.update(dict.fromkeys(_too_large(seating, ends, way, source)))
    for one in found:
        said.update(dict.fromkeys(_elsewhere(ends[0], one, source)))
    yield from said


def _lines(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        place = line.find(LINE)
        if place >= 0 and len(line) < LONGEST:
            try:
                found = json.loads(line[place + len(LINE) - 1 :])
            except ValueError:
                continue  # cut off: that one is not known
            if isinstance(found, dict):
                yield found


def _reason(text: str) -> str:
    """Why there is no result: what a launcher puts into a box of dashes, else the last line."""
    said = [line.strip() for line in text.splitlines() if line.strip() and "starts" not in line]
    boxed = [after for before, after in pairwise(said) if not before.strip("-") and after.strip("-")]
    plain = [line for line in said if line.strip("-")]
    return (boxed[:1] or plain[-1:] or ["it printed nothing"])[0][:200]


def _ends(seating: Seating, group: Group) -> tuple[Seat, Seat]:
    one, other = (_seat(seating, host, group.rails) for host in group.hosts[:2])
    return one, other


def _seat(seating: Seating, host: str, rails: Sequence[int]) -> Seat:
    seats = seating.by_host[host]
    return next((seat for seat in seats if seat.rail in rails[:1]), seats[0])


def _rate(one: Mapping[str, Any]) -> float:
    """GB/s of what arrived."""
    seconds = float(one.get("seconds") or 0)
    return float(one.get("bytes") or 0) / seconds / 1e9 if seconds > 0 else 0.0


def _measured(
    seating: Seating, group: Group, way: Mapping[str, Any], rates: Sequence[float], source: str
) -> Measurement:
    trunks = tuple(trunk.name for trunk in way_of(seating, way["hops"])) if way.get("arrived") else ()
    made = Measurement("paths", "path", group.hosts, group.rails or (0,), trunks=trunks, source=source)
    if not way.get("arrived"):
        last = next((hop for hop in reversed(way["hops"]) if hop), "")
        reason = f"nothing arrives; the last hop that answers is {_named(seating, last)}" if last else "no hop answers"
        return replace(made, state="broken", reason=reason)
    if not way.get("full", True):
        return replace(made, state="broken", reason="packets of full size do not arrive, smaller ones do")
    if not rates:
        return replace(made, state="broken", reason="its rate was not told")
    if not all(rates):
        return replace(made, state="broken", reason="packets of a flow did not arrive")
    return replace(made, values=tuple(rates))


def way_of(seating: Seating, hops: Iterable[str]) -> tuple[Trunk, ...]:
    """The cables between switches on a way, in order; empty when any of its hops is not known, as the way then is not either.

    A switch answers with the address of the port where the packet came in, so each hop after the first is the far end of a trunk.
    """
    found = []
    for hop in list(hops)[1:]:
        end = seating.trunk_at(hop)
        if end is None:
            return ()
        found.append(end[0])
    return tuple(found)


def _named(seating: Seating, hop: str) -> str:
    end = seating.trunk_at(hop)
    return f"{end[1]} ({hop})" if end else hop


def _too_large(seating: Seating, ends: tuple[Seat, Seat], way: Mapping[str, Any], source: str) -> Iterator[Clue]:
    """Small packets arrive and the largest do not: between which two ports they are lost."""
    if not way.get("arrived") or way.get("full", True):
        return
    trunks = way_of(seating, way["hops"])
    big = str(way.get("big_at") or "")
    names = f"MTU {way['big_mtu']}" if way.get("big_mtu") else "a smaller MTU"
    hops = [hop for hop in way.get("full_hops", []) if hop]
    if big == address(ends[0]):
        yield Clue("mtu", ends[0].name, "the NIC itself takes no packet of full size", source=source)
        return
    if big:  # the port by which the packet would have left the switch that refused it
        place = next((number for number, hop in enumerate(way["hops"]) if hop == big), len(hops))
        near, far = _cable(ends, trunks, place + 1)
        yield Clue("mtu", near, f"packets of full size are refused here: {names}", far, source)
        return
    near, far = _cable(ends, trunks, len(hops))
    yield Clue("mtu", far, f"packets of full size that leave {near} do not arrive here: a smaller MTU", near, source)


def _chance_losses(seating: Seating, ends: tuple[Seat, Seat], ways: Mapping[int, Mapping[str, Any]]) -> list[int]:
    """Flows whose large packets were lost, nobody says why, where another flow's got through: the cable is busy, its MTU is not smaller."""
    fine: set[tuple[str, str]] = set()
    lost: dict[int, tuple[str, str]] = {}
    for port, way in ways.items():
        trunks = way_of(seating, way["hops"])
        if way.get("arrived") and way.get("full", True):
            fine.update(_cable(ends, trunks, number) for number in range(len(trunks) + 2))
        elif way.get("arrived") and not way.get("big_at"):
            lost[port] = _cable(ends, trunks, sum(1 for hop in way.get("full_hops", []) if hop))
    return [port for port, cable in lost.items() if cable in fine]


def _cable(ends: tuple[Seat, Seat], trunks: Sequence[Trunk], number: int) -> tuple[str, str]:
    """The two ports of the cable of a way, in the direction of the flow: 0 is the sender's, the last the receiver's."""
    one, other = ends
    if number <= 0:
        return one.name, f"{one.switch}:{one.port}"
    if number > len(trunks):
        return f"{other.switch}:{other.port}", other.name
    here = one.switch
    for trunk in trunks[:number]:
        up, down = (trunk.a, trunk.a_port), (trunk.b, trunk.b_port)
        near, far = (down, up) if here == trunk.b else (up, down)
        here = far[0]
    return ":".join(near), ":".join(far)


def _elsewhere(sender: Seat, one: Mapping[str, Any], source: str) -> Iterator[Clue]:
    """LLDP says that the sender's NIC is in another port than it should be."""
    system, port = str(one.get("system") or "").partition(".")[0], str(one.get("port") or "")
    if not port or one.get("nic") != sender.nic or (system, port) == (sender.switch, sender.port):
        return
    text = f"by LLDP its cable comes from {system}:{port}, and should from {sender.switch}:{sender.port}"
    yield Clue("crossed", sender.name, text, f"{system}:{port}", source)
