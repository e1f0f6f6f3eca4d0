"""Single flows of stage `paths`: which cables each crossed, how fast it was, and whether the largest packets got through."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fabric.design.seats import Seating
from fabric.verify.collectives.engines import Task
from fabric.verify.collectives.launcher_lines import lines_of
from fabric.verify.collectives.model import Clue, Measurement
from fabric.verify.collectives.parse_nccl_log import clean
from fabric.verify.collectives.processes import Ended

_MARK = "paths: {"
MOST_LINES = 100_000
"""Results of one run that are read: flows times repeats are some hundred."""


@dataclass(slots=True)
class _Flow:
    way: Mapping[str, Any]
    values: list[float] = field(default_factory=list)


def flows(task: Task, ended: Ended, seating: Seating) -> Iterator[Measurement | Clue]:
    """A measurement a flow, its source port in `source`; a clue where large packets end on the way."""
    found: dict[int, _Flow] = {}
    for told in _told(ended.out):
        number = told.get("flow")
        if isinstance(number, int) and "hops" in told:
            found[number] = _Flow(told)
        elif isinstance(number, int) and number in found and (rate := _rate(told)) is not None:
            found[number].values.append(rate)
    group = task.groups[0]
    if not found:
        yield Measurement(
            group.stage, group.test, group.hosts, group.rails, state="unmade", source=task.what,
            reason=clean(ended.cut or ended.err.strip().partition("\n")[0] or "it printed no result"),
        )  # fmt: skip
    for number, flow in found.items():
        yield from _flow(task, number, flow, seating)


def _told(text: str) -> Iterator[dict[str, Any]]:
    for count, line in enumerate(lines_of(text)):
        if count >= MOST_LINES:
            return
        if _MARK in line.text and line.whole:
            try:
                told = json.loads(line.text[line.text.index(_MARK) + len(_MARK) - 1 :])
            except (ValueError, RecursionError):
                continue
            if isinstance(told, dict):
                yield told


def _rate(told: Mapping[str, Any]) -> float | None:
    """GB/s at the receiver; None when too little arrived to tell."""
    octets, seconds = told.get("bytes"), told.get("seconds")
    if not isinstance(octets, int | float) or not isinstance(seconds, int | float):
        return None
    rate = octets / seconds / 1e9 if seconds > 0 else 0.0
    return rate if math.isfinite(rate) else None


def _flow(task: Task, number: int, flow: _Flow, seating: Seating) -> Iterator[Measurement | Clue]:
    group, way = task.groups[0], flow.way
    hops = [hop for hop in way["hops"] if isinstance(hop, str)] if isinstance(way["hops"], list) else []
    trunks = tuple(dict.fromkeys(at[0].name for hop in hops if (at := seating.trunk_at(hop)) is not None))
    told = (group.stage, group.test, group.hosts, group.rails)
    source = f"{task.what}, source port {number}"
    if way.get("arrived") is not True:
        reason = f"nothing arrives; {f'the last hop that answers is {hops[-1]}' if hops else 'no hop answers'}"
        yield Measurement(*told, state="broken", reason=clean(reason), trunks=trunks, source=source)
        return
    if way.get("full") is False:
        reached = way.get("full_hops")
        place = len(reached) if isinstance(reached, list) else 0
        after = hops[place] if place < len(hops) else ""
        text = f"packets of {_size(task)} bytes end before {after or 'the receiver'}"
        named = clean(f"{text}, where the MTU is {way['big_mtu']}" if isinstance(way.get("big_mtu"), int) else text)
        where = after or _receiver(task, seating)
        yield Clue("mtu", where, named, source=source)
        yield Measurement(*told, state="broken", reason=named, trunks=trunks, source=source)
        return
    state = "ok" if flow.values else "broken"
    reason = "" if flow.values else "its rate was not told"
    yield Measurement(*told, values=tuple(flow.values), state=state, reason=reason, trunks=trunks, source=source)  # type: ignore[arg-type]


def _size(task: Task) -> str:
    return f"{int(task.argv[task.argv.index('--size') + 1]):,}"


def _receiver(task: Task, seating: Seating) -> str:
    seat = next(seat for seat in seating.by_host[task.hosts[1]] if seat.rail == task.rails[0])
    return seat.name
