"""With what a result is compared: its peers, and what of them is sound.

Peers are results of the same test at the same size, with as many hosts and rails, that span as much of the fabric. Suspects are no measure:
hosts that are bad under their own switch, and ways that are slower than the best ones.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabric.verify.collectives.model import Measurement
from fabric.verify.locate.places import Places


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
class Reference:
    """What peers reach, in GB/s, and the share below it that is still noise."""

    value: float
    tolerance: float


Key = tuple[str, str, int, int, int, str, str]
SPANS = ("host", "switch", "zone", "zones")

SOUND = 0.9
"""From this share of the best way's median on, a way is as good as the best."""
ENOUGH = 3
"""So many results of hosts without suspicion are peers enough."""


def middle(values: Sequence[float]) -> float:
    """The median of some values, of which most have three: as `statistics.median`, which takes five times as long."""
    if len(values) == 1:
        return values[0]
    found, half = sorted(values), len(values) // 2
    return found[half] if len(found) % 2 else (found[half - 1] + found[half]) / 2


def key_of(places: Places, m: Measurement) -> Key:
    """Pairs are pairs, in whatever stage they were made; a single flow has its NIC's rate wherever it goes."""
    if m.stage == "paths":
        return ("path", m.test, 0, len(m.hosts), len(m.rails), "switch", m.by)
    kind = "pair" if len(m.hosts) == 2 else m.stage
    return (kind, m.test, m.size, len(m.hosts), len(m.rails), places.span(m), m.by)


_Value = tuple[float, Measurement]


def find_references(
    places: Places, known: Sequence[Measurement], keys: Sequence[Key | None], gate: Gate
) -> dict[Key, Reference | None]:
    """The reference of each class of results; None where there is nobody to compare with."""
    classes: dict[Key, list[_Value]] = {}
    for m, key in zip(known, keys, strict=True):
        if key is not None:
            classes.setdefault(key, []).append((middle(m.values) / places.ceiling(m), m))
    first = {key: [value for value, _ in found] for key, found in classes.items()}
    suspected = _suspected(known, keys, {key: _reference(key, first, gate) for key in classes if _whole(key)})
    peers = {
        key: first[key] if _whole(key) else _sound(places, key, _trusted(found, suspected))
        for key, found in classes.items()
    }
    return {key: _reference(key, peers, gate) for key in classes}


def _whole(key: Key) -> bool:
    """Pairs under one switch with all rails: everybody takes part in these, so they show who is suspected."""
    return key[0] == "pair" and key[4] == 0 and key[5] == "switch"


def _suspected(
    known: Sequence[Measurement], keys: Sequence[Key | None], references: Mapping[Key, Reference | None]
) -> set[str]:
    """Hosts with a bad result under their own switch, and their partners."""
    found: set[str] = set()
    for m, key in zip(known, keys, strict=True):
        reference = references.get(key) if key is not None else None
        slow = reference is not None and middle(m.values) < reference.value * (1 - reference.tolerance)
        if slow or (m.stage == "pairs" and (m.state == "broken" or m.wrong)):
            found.update(m.hosts)
    return found


def _trusted(found: Sequence[_Value], suspected: set[str]) -> Sequence[_Value]:
    """Results of hosts without suspicion, where there are enough: beside many suspects these are the measure."""
    if not suspected:
        return found
    good = [one for one in found if suspected.isdisjoint(one[1].hosts)]
    return good if len({one[1].hosts for one in good}) >= ENOUGH else found


def _sound(places: Places, key: Key, found: Sequence[_Value]) -> list[float]:
    """The values without those of ways that are slower as a whole than the best: two hosts' flows, two zones' pairs."""
    if key[0] != "path" and key[5] != "zones":
        return [value for value, _ in found]
    ways: dict[object, list[float]] = {}
    for value, m in found:
        ways.setdefault(m.hosts if key[0] == "path" else frozenset(map(places.zone, m.hosts)), []).append(value)
    # of flows the faster half: one slow cable among few makes half of them slow
    level = {way: _quantile(values, 0.75 if key[0] == "path" else 0.5) for way, values in ways.items()}
    best = max((level[way] for way, values in ways.items() if len(values) > 1), default=0.0)
    return [value for way, values in ways.items() if level[way] >= SOUND * best for value in values]


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


def _reference(key: Key, classes: Mapping[Key, Sequence[float]], gate: Gate) -> Reference | None:
    """The median of the peers and the tolerance; None when there is nobody to compare with.

    Few peers may all be suspects. Then what spans less of the fabric is the better measure: with room for the difference, or as a
    peer where it is as fast.
    """
    values = sorted(classes[key])
    nearer = list(_nearer(key, classes))
    if len(values) >= gate.many:
        own = _of_many(values, gate)
    elif len(values) > 1 and len(nearer) >= gate.many and _alike(values, nearer, gate):
        own = _of_many(sorted([*values, *nearer]), gate)
    else:
        own = Reference(statistics.median_high(values), gate.few)
    if len(nearer) >= 2 and statistics.median_high(nearer) * (1 - gate.other_span) > own.value:
        return Reference(statistics.median_high(nearer), gate.other_span)
    if len(values) < 2:
        return Reference(statistics.median_high(nearer), gate.other_span) if nearer else None
    return own


def _nearer(key: Key, classes: Mapping[Key, Sequence[float]]) -> Iterator[float]:
    for span in SPANS[: SPANS.index(key[5])]:
        yield from classes.get((*key[:5], span, key[6]), ())


def _alike(values: Sequence[float], nearer: Sequence[float], gate: Gate) -> bool:
    """Whether two classes are as fast, by their medians."""
    return abs(statistics.median_high(values) / _of_many(sorted(nearer), gate).value - 1) <= 1 - SOUND


def _of_many(values: Sequence[float], gate: Gate) -> Reference:
    """The median and spread of the peers, without those far below the best quarter: most of the peers may be suspects."""
    best = values[len(values) * 3 // 4]
    sound = [value for value in values if value >= best * (1 - gate.few)]
    median = statistics.median(sound)
    spread = statistics.median(abs(value - median) for value in sound)
    tolerance = gate.deviations * 1.4826 * spread / median if median > 0 else 0.0  # 1.4826: MAD to standard deviation
    return Reference(median, min(gate.most, max(gate.least, tolerance)))
