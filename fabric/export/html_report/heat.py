"""Host-by-host bandwidth as compact arrays: two bytes for each host of a pair, two for its value; the page's script draws them."""

from __future__ import annotations

import base64
import statistics
import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric.design.seats import Seating
from fabric.verify.collectives.model import Measurement
from fabric.words import verb

BROKEN = 0
UNMADE = 65535
TOP = 65000
"""Codes of a pair: 0 ran and ended wrong, 65535 could not be made, between them the share of the layer's largest value in 65,000ths."""
MAX_PAIRS = 300_000
"""Pairs of a layer that are kept, the slowest (our choice: 2.4 MB of text; 3,072 hosts in 195 rounds of disjoint pairs)."""
MAX_HOSTS = 60_000
"""Hosts that two bytes can tell."""


@dataclass(frozen=True, slots=True)
class Slow:
    """A pair as a row of a table; `b` is empty for a host alone.

    `share`: percent of the layer's median; None when it gave no value, with `state` in words.
    """

    a: str
    b: str
    value: float | None
    share: float | None
    state: str


@dataclass(frozen=True, slots=True)
class Layer:
    """All pairs of one test over the same rails. `pairs` (a, b, a, b ...) and `codes` are base64 of little-endian 16-bit numbers.

    `top` and `median` in GB/s; `left` pairs are not in it, since there were too many.
    """

    label: str
    pairs: str
    codes: str
    top: float
    median: float
    count: int
    left: int
    slowest: tuple[Slow, ...]


@dataclass(frozen=True, slots=True)
class Heat:
    """`hosts` in the fabric's order; `racks` holds for each host the number of its rack, counted from 0 along the map."""

    hosts: tuple[str, ...]
    racks: tuple[int, ...]
    layers: tuple[Layer, ...]


def heat(seating: Seating, measurements: Sequence[Measurement], *, slowest: int = 20) -> Heat:
    """The map of all measurements of two hosts, and of one alone, which is on the diagonal. Of one made again the last counts."""
    pairs = [one for one in measurements if len(one.hosts) in (1, 2)]
    hosts = _order(seating, pairs)[:MAX_HOSTS]
    place = {host: number for number, host in enumerate(hosts)}
    layers: dict[str, dict[tuple[int, int], Measurement]] = {}
    for one in pairs:
        a, b = place.get(one.hosts[0]), place.get(one.hosts[-1])
        if a is not None and b is not None:
            layers.setdefault(_label(seating, one), {})[min(a, b), max(a, b)] = one
    made = tuple(_layer(label, hosts, found, slowest) for label, found in sorted(layers.items(), key=_widest))
    return Heat(hosts, _racks(seating, hosts), made)


def _order(seating: Seating, pairs: Sequence[Measurement]) -> tuple[str, ...]:
    seen = dict.fromkeys(host for one in pairs for host in one.hosts)
    return (
        *(host for host in seating.by_host if host in seen),
        *(host for host in seen if host not in seating.by_host),
    )


def _racks(seating: Seating, hosts: Sequence[str]) -> tuple[int, ...]:
    numbers: dict[tuple[int, int], int] = {}
    found = []
    for host in hosts:
        seats = seating.by_host.get(host)
        key = (seats[0].zone, seats[0].rack) if seats else (-1, -1)
        found.append(numbers.setdefault(key, len(numbers)))
    return tuple(found)


def _label(seating: Seating, one: Measurement) -> str:
    whole = len(seating.by_host.get(one.hosts[0], ()))
    if len(one.hosts) == 1:
        return f"{one.test}, one host alone"
    if not one.rails or len(one.rails) == whole:
        return f"{one.test}, all rails"
    return f"{one.test}, {verb(len(one.rails), 'rail', 'rails')} {', '.join(str(rail) for rail in sorted(one.rails))}"


def _widest(item: tuple[str, Mapping[tuple[int, int], Measurement]]) -> tuple[bool, int, str]:
    """All rails before single ones, many pairs before few."""
    label, found = item
    return (not label.endswith("all rails"), -len(found), label)


def _layer(label: str, hosts: Sequence[str], found: Mapping[tuple[int, int], Measurement], slowest: int) -> Layer:
    values = [one.value for one in found.values() if one.value is not None]
    top, median = max(values, default=0.0), statistics.median(values) if values else 0.0
    coded = sorted((_code(one, top), pair) for pair, one in found.items())
    kept = sorted(coded[:MAX_PAIRS], key=lambda item: item[1])
    worst = [pair for code, pair in coded if code != UNMADE][:slowest]
    return Layer(
        label, _packed([number for _, pair in kept for number in pair]), _packed([code for code, _ in kept]), top, median,
        len(found), len(coded) - len(kept), tuple(_slow(hosts, pair, found[pair], median) for pair in worst),
    )  # fmt: skip


def _code(one: Measurement, top: float) -> int:
    if one.value is None:
        return BROKEN if one.state == "broken" else UNMADE
    return max(1, round(TOP * one.value / top)) if top > 0 else 1


def _packed(numbers: Sequence[int]) -> str:
    found = array("H", numbers)
    if sys.byteorder == "big":
        found.byteswap()
    return base64.b64encode(found.tobytes()).decode("ascii")


def _slow(hosts: Sequence[str], pair: tuple[int, int], one: Measurement, median: float) -> Slow:
    share = None if one.value is None or not median else 100 * one.value / median
    state = "" if one.value is not None else one.reason or {"broken": "ended wrong"}.get(one.state, "gave no value")
    return Slow(hosts[pair[0]], hosts[pair[1]] if pair[0] != pair[1] else "", one.value, share, state)
