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
from fabric.verify.locate.peers import Gate, Reference, find_references, key_of, middle
from fabric.verify.locate.places import Places

Verdict = Literal["good", "bad", "grey", "unmade"]
Expected = Mapping[tuple[str, str], float]
"""(stage, test) -> the least GB/s that is accepted."""


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


def judge(
    places: Places, measurements: Iterable[Measurement], expected: Expected | None, gate: Gate
) -> tuple[list[Judged], list[Fleet]]:
    """Every result with its verdict, and the classes that are slow as a whole."""
    known = [m for m in measurements if _ours(places, m)]
    keys = [key_of(places, m) if m.state == "ok" and m.values else None for m in known]
    references = find_references(places, known, keys, gate)
    fleets = list(_fleets(known, expected or {}))
    broken = list(_broken(places, known))
    general = {(fleet.stage, fleet.test) for fleet in fleets}
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


def made(measurements: Iterable[Measurement]) -> list[Measurement]:
    """All but what could not be made once and was made another time."""
    all_of = list(measurements)
    there = {(m.stage, m.test, m.hosts, m.rails) for m in all_of if m.state != "unmade"}
    return [m for m in all_of if m.state != "unmade" or (m.stage, m.test, m.hosts, m.rails) not in there]


def pooled(measurements: Iterable[Measurement]) -> list[Measurement]:
    """What was measured more than once, in the same stage and way, as one result with all its repeats: the median of all counts.

    A machine that was busy once does not make a slow cable. Results without a figure stay as they are.
    """
    found: dict[object, Measurement] = {}
    for number, m in enumerate(made(measurements)):
        counts = m.state == "ok" and m.values and not m.wrong
        key = (m.stage, m.test, m.hosts, m.rails, m.size, m.trunks, m.by) if counts else number
        first = found.get(key)
        found[key] = m if first is None else replace(first, values=first.values + m.values)
    return list(found.values())


def _values(measurements: Sequence[Measurement]) -> list[float]:
    return sorted(value for m in measurements if (value := m.value) is not None)


def _judged(m: Measurement, reference: Reference | None, floors: Expected, ceiling: float) -> Judged:
    if m.state == "unmade":
        return Judged(m, "unmade", why=m.reason)
    if m.wrong:
        return Judged(m, "bad", why=f"{m.wrong:,} elements with wrong data")
    if m.state == "broken":
        return Judged(m, "bad", why=m.reason or "it ended with an error")
    if not m.values:  # a diagnosis without a figure: it passed
        return Judged(m, "good" if m.test.startswith("dcgm.") else "grey")
    value = middle(m.values)
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


__all__ = ["Expected", "Fleet", "Gate", "Judged", "Verdict", "judge", "pooled"]
