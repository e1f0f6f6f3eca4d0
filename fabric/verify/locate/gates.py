"""Is a result bad? Against an expected value where one is known, else against the median of its peers.

Peers are results of the same test at the same size, with as many hosts and rails, that span as much of the fabric. Bad is what
lies further below their median than noise reaches: 5.5 standard deviations of the peers themselves, within the bounds of `Gate`.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fabric.verify.collectives.model import Measurement
from fabric.verify.locate.places import Places

Verdict = Literal["good", "bad", "grey", "unmade"]
Expected = Mapping[tuple[str, str], float]
"""(stage, test) -> the least GB/s that is accepted."""


@dataclass(frozen=True, slots=True)
class Gate:
    """How far below its peers a result may lie, as a share of their median.

    `least`, `most`: bounds of the tolerance that follows from the peers' own spread. `few`: the tolerance when there are fewer than
    `many` peers, whose spread says nothing. `other_span`: the tolerance when only results over less of the fabric can be compared.
    All are choices of ours: 0.15 is more than three standard deviations of a single run with 5 percent noise.
    """

    least: float = 0.15
    most: float = 0.4
    few: float = 0.3
    other_span: float = 0.4
    many: int = 8
    deviations: float = 5.5


@dataclass(frozen=True, slots=True)
class Judged:
    """A result with its verdict. `grey`: too near to the bound to say, or nothing to compare with. `ratio`: to `reference` (GB/s)."""

    measurement: Measurement
    verdict: Verdict
    ratio: float | None = None
    reference: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Fleet:
    """A class of results most of which miss the expected value: nobody's fault alone. `share` of its `count` results are below.

    `why`: they broke off or had wrong data, as this one says, and there is no value to tell.
    """

    stage: str
    test: str
    median: float
    expected: float
    share: float
    count: int
    hosts: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Reference:
    value: float
    tolerance: float


Key = tuple[str, str, int, int, int, str, str]


def judge(
    places: Places, measurements: Iterable[Measurement], expected: Expected | None, gate: Gate
) -> tuple[list[Judged], list[Fleet]]:
    """Every result with its verdict, and the classes that are slow as a whole."""
    known = [m for m in measurements if _ours(places, m)]
    keys = [_key(places, m) if m.state == "ok" and m.values else None for m in known]
    classes: dict[Key, list[float]] = {}
    for m, key in zip(known, keys, strict=True):
        if key is not None:
            classes.setdefault(key, []).append(statistics.median(m.values) / places.ceiling(m))
    fleets = list(_fleets(known, expected or {}))
    broken = list(_broken(places, known))
    general = {(fleet.stage, fleet.test) for fleet in fleets}
    references = {key: _reference(key, classes, gate) for key in classes}
    floors = {key: least for key, least in (expected or {}).items() if key not in general}
    judged = [
        _judged(m, None if key is None else references[key], floors, places.ceiling(m))
        for m, key in zip(known, keys, strict=True)
    ]
    everywhere = {(fleet.stage, fleet.test): fleet for fleet in broken}
    judged = [_excused(one, everywhere.get((one.measurement.stage, one.measurement.test))) for one in judged]
    return judged, [*fleets, *broken]


def _ours(places: Places, m: Measurement) -> bool:
    """Whether a result is of hosts of this cluster, each once, and of rails that they have."""
    if not m.hosts or len(set(m.hosts)) < len(m.hosts) or not all(host in places.seats for host in m.hosts):
        return False
    return not m.rails or set(m.rails) <= {seat.rail for host in m.hosts for seat in places.seats[host]}


def pooled(measurements: Iterable[Measurement]) -> list[Measurement]:
    """What was measured more than once, in the same stage and way, as one result with all its repeats: the median of all counts.

    A machine that was busy once does not make a slow cable. Results without a figure stay as they are.
    """
    found: dict[object, Measurement] = {}
    for number, m in enumerate(measurements):
        counts = m.state == "ok" and m.values and not m.wrong
        key = (m.stage, m.test, m.hosts, m.rails, m.size, m.trunks, m.by) if counts else number
        first = found.get(key)
        found[key] = m if first is None else replace(first, values=first.values + m.values)
    return list(found.values())


def _key(places: Places, m: Measurement) -> Key:
    """Pairs are pairs, in whatever stage they were made; a single flow has its NIC's rate wherever it goes."""
    if m.stage == "paths":
        return ("path", m.test, 0, len(m.hosts), len(m.rails), "switch", m.by)
    kind = "pair" if len(m.hosts) == 2 else m.stage
    return (kind, m.test, m.size, len(m.hosts), len(m.rails), places.span(m), m.by)


def _reference(key: Key, classes: Mapping[Key, Sequence[float]], gate: Gate) -> _Reference | None:
    """The median of the peers and the tolerance; None when there is nobody to compare with.

    Few peers may all be suspects. Then what spans less of the fabric is the better measure, with room for the difference.
    """
    values = sorted(classes[key])
    nearer = [value for span in SPANS[: SPANS.index(key[5])] for value in classes.get((*key[:5], span, key[6]), ())]
    own = _of_many(values, gate) if len(values) >= gate.many else _Reference(statistics.median_high(values), gate.few)
    if len(nearer) >= 2 and statistics.median_high(nearer) * (1 - gate.other_span) > own.value:
        return _Reference(statistics.median_high(nearer), gate.other_span)
    if len(values) < 2:
        return _Reference(statistics.median_high(nearer), gate.other_span) if nearer else None
    return own


SPANS = ("host", "switch", "zone", "zones")


def _values(measurements: Sequence[Measurement]) -> list[float]:
    return sorted(value for m in measurements if (value := m.value) is not None)


def _of_many(values: list[float], gate: Gate) -> _Reference:
    """The median and spread of the peers, without those far below the best quarter: most of the peers may be suspects."""
    best = values[len(values) * 3 // 4]
    sound = [value for value in values if value >= best * (1 - gate.few)]
    median = statistics.median(sound)
    spread = statistics.median(abs(value - median) for value in sound)
    tolerance = gate.deviations * 1.4826 * spread / median if median > 0 else 0.0  # 1.4826: MAD to standard deviation
    return _Reference(median, min(gate.most, max(gate.least, tolerance)))


def _judged(m: Measurement, reference: _Reference | None, floors: Expected, ceiling: float) -> Judged:
    if m.state == "unmade":
        return Judged(m, "unmade", why=m.reason)
    if m.wrong:
        return Judged(m, "bad", why=f"{m.wrong:,} elements with wrong data")
    if m.state == "broken":
        return Judged(m, "bad", why=m.reason or "it ended with an error")
    if not m.values:  # a diagnosis without a figure: it passed
        return Judged(m, "good" if m.test.startswith("dcgm.") else "grey")
    value = statistics.median(m.values)
    floor = None if m.by == "mpi" else floors.get((m.stage, m.test))
    if floor is not None and value < floor:
        return Judged(m, "bad", value / floor, floor, f"{value:.4g} GB/s, at least {floor:.4g} expected")
    if reference is None or reference.value <= 0:
        return Judged(m, "good" if floor is not None else "grey")
    ratio = value / ceiling / reference.value
    peers = "the median of its peers" if ceiling == 1 else "the median of its peers, for so few uplinks,"
    text = f"{value:.4g} GB/s, {peers} is {reference.value * ceiling:.4g}"
    if ratio < 1 - reference.tolerance:
        return Judged(m, "bad", ratio, reference.value, text)
    return Judged(m, "good" if ratio >= 1 - 0.7 * reference.tolerance else "grey", ratio, reference.value, text)


def _fleets(known: Iterable[Measurement], expected: Expected) -> Iterable[Fleet]:
    """Where at least three results, and more than half of all, are below what is expected."""
    by_stage: dict[tuple[str, str], list[Measurement]] = {}
    for m in known:
        if m.values and m.state == "ok" and m.by != "mpi" and (m.stage, m.test) in expected:
            by_stage.setdefault((m.stage, m.test), []).append(m)
    for (stage, test), found in by_stage.items():
        values, least = _values(found), expected[stage, test]
        below = sum(value < least for value in values)
        if len(values) >= 3 and below * 2 > len(values):
            hosts = tuple(dict.fromkeys(host for m in found for host in m.hosts))
            yield Fleet(stage, test, statistics.median(values), least, below / len(values), len(values), hosts)


def _broken(places: Places, known: Iterable[Measurement]) -> Iterable[Fleet]:
    """Where most hosts or pairs under one switch break off or have wrong data, under several switches: a program, a driver, a setting.

    Only of the stages that every host takes part in: later ones are made of suspects.
    """
    by_stage: dict[tuple[str, str], dict[tuple[str, ...], Measurement | None]] = {}
    for m in known:
        if m.stage in ("node", "pairs") and m.state != "unmade" and places.span(m) in ("host", "switch"):
            found = by_stage.setdefault((m.stage, m.test), {})
            found[m.hosts] = m if m.state == "broken" or m.wrong else found.get(m.hosts)
    for (stage, test), found in by_stage.items():
        bad = [m for m in found.values() if m is not None]
        switches = {places.group(m.hosts[0]) for m in bad}
        if len(bad) >= 3 and len(bad) * 2 > len(found) and (stage == "node" or len(switches) > 1):
            hosts = tuple(dict.fromkeys(host for m in bad for host in m.hosts))
            why = Counter(m.reason or "wrong data" for m in bad).most_common(1)[0][0]
            yield Fleet(stage, test, 0.0, 0.0, len(bad) / len(found), len(found), hosts, why)


def _excused(one: Judged, fleet: Fleet | None) -> Judged:
    """A result that broke off as most did: it says nothing of its hosts."""
    m = one.measurement
    return Judged(m, "unmade", why=one.why) if fleet is not None and (m.state == "broken" or m.wrong) else one
