"""Bars: bandwidth by rail over all hosts, and by rail of one host beside its peers."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from fabric.verify.collectives.model import Measurement

WIDTH = 420.0
"""Pixels of the longest bar."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One rail: `value` the median in GB/s, None when nothing of it ran; `low` and `high` of all; `share` percent of the median of all.

    `worst`: the hosts of the slowest one. `length`, `low_at`, `high_at`, `peers_at` in pixels.
    """

    rail: int
    value: float | None
    low: float
    high: float
    share: float
    worst: str
    count: int
    broken: int
    length: float
    low_at: float
    high_at: float


@dataclass(frozen=True, slots=True)
class Chart:
    """The bars of one test; `median` of all in GB/s, at `median_at` pixels."""

    title: str
    bars: tuple[Bar, ...]
    median: float
    median_at: float


def rail_charts(measurements: Sequence[Measurement], *, host: str | None = None) -> tuple[Chart, ...]:
    """A chart for each test that was made on single rails; of `host` alone when it is given, against the median of all hosts."""
    single = [one for one in measurements if len(one.rails) == 1 and one.state != "unmade"]
    found = []
    for test in dict.fromkeys(one.test for one in single):
        same = [one for one in single if one.test == test]
        own = same if host is None else [one for one in same if host in one.hosts]
        values = [one.value for one in same if one.value is not None]
        if own and values:
            found.append(_chart(test if host is None else f"{test}, {host}", own, values))
    return tuple(found)


def _chart(title: str, own: Sequence[Measurement], values: Sequence[float]) -> Chart:
    median, top = statistics.median(values), max(values) or 1.0
    rails = sorted({one.rails[0] for one in own})
    bars = tuple(_bar(rail, [one for one in own if one.rails[0] == rail], median, top) for rail in rails)
    return Chart(title, bars, median, WIDTH * median / top)


def _bar(rail: int, own: Sequence[Measurement], median: float, top: float) -> Bar:
    known = sorted((one.value, " and ".join(one.hosts)) for one in own if one.value is not None)
    broken = len(own) - len(known)
    if not known:
        return Bar(rail, None, 0.0, 0.0, 0.0, " and ".join(own[0].hosts), len(own), broken, 0.0, 0.0, 0.0)
    value, low, high = statistics.median(value for value, _ in known), known[0][0], known[-1][0]
    share = 100 * value / median if median else 0.0
    pixels = (WIDTH * value / top, WIDTH * low / top, WIDTH * high / top)
    return Bar(rail, value, low, high, share, known[0][1], len(own), broken, *pixels)
