"""All results and clues in, the located parts out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fabric.design.seats import Seating
from fabric.verify.collectives.model import Clue, Measurement, Part
from fabric.verify.locate import describe, settings
from fabric.verify.locate.clues import Heard, hear, narrow_places, observation
from fabric.verify.locate.explain import BAD, Explained, Observation, explain
from fabric.verify.locate.gates import Expected, Gate, Judged, judge, pooled
from fabric.verify.locate.left import leftover
from fabric.verify.locate.places import Places, Suspect
from fabric.verify.locate.ways import Ways

FLOWS = 4
"""So many tests all single flows between two hosts are worth, for and against what they all have to cross."""
ALL = 0.9
"""From this share of bad ones on, all flows between two hosts are bad."""


@dataclass(frozen=True, slots=True)
class Case:
    """Everything that is known: what `describe` takes its evidence from. `sources`: what each observation came from."""

    places: Places
    judged: Sequence[Judged]
    heard: Sequence[Heard]
    sources: Sequence[Judged | Heard]
    explained: Sequence[Explained]
    left: Sequence[int]

    def bad(self, numbers: Iterable[int]) -> list[Judged]:
        """The measurements among some observations."""
        return [one for number in numbers if isinstance(one := self.sources[number], Judged)]


def locate(
    seating: Seating | Places,
    measurements: Iterable[Measurement],
    clues: Iterable[Clue] = (),
    *,
    expected: Expected | None = None,
    gate: Gate | None = None,
) -> tuple[Part, ...]:
    """The smallest explanation of what was measured and logged, the surest part first; empty when nothing is wrong.

    `expected`: (stage, test) -> least GB/s accepted, where one is known; all else is judged against its peers by `gate`.
    Results of hosts that the seating does not have, and tests that could not be made, say nothing. Pure: same input, same parts.
    """
    places = seating if isinstance(seating, Places) else Places(seating)
    judged, fleets = judge(places, pooled(measurements), expected, gate or Gate())
    case = examine(places, judged, hear(places, clues))
    parts = [
        *settings.fleet_parts(fleets),
        *settings.setting_parts(places, case.heard),
        *describe.parts(case),
        *leftover(places, judged, case.bad(case.left)),
    ]
    return tuple(sorted(parts, key=lambda part: -part.confidence))


def examine(places: Places, judged: Sequence[Judged], heard: Sequence[Heard] = ()) -> Case:
    """The explanation of judged results and clues. A good result is looked at only where it can speak for somebody accused."""
    narrow = narrow_places(heard)
    bad = [one for one in judged if one.verdict == "bad" and not _too_large(places, one.measurement, narrow)]
    sources: list[Judged | Heard] = list(bad)
    ways = Ways(places, judged)
    flows = _Flows(judged)
    seen = [
        Observation(
            True, tuple(places.must(m)), tuple(places.may(m)), BAD,
            share=flows.share(m), all_alike=flows.all_alike(m), alone=_alone(m), ways=tuple(ways.of(m)),
        )
        for m in (one.measurement for one in bad)
    ]  # fmt: skip
    said: set[tuple[str, Suspect | None, Suspect | None]] = set()
    for clue in heard:
        key = (clue.clue.kind, clue.suspect, clue.peer)
        if key not in said and (found := observation(places, clue)) is not None:
            said.add(key)
            seen.append(found)
            sources.append(clue)
    near = _near(places, seen)
    for one in judged:
        m = one.measurement
        if one.verdict == "good" and near and (m.trunks or not near.isdisjoint(m.hosts)):
            seen.append(
                Observation(
                    False,
                    tuple(places.must(m)),
                    tuple(places.may(m)),
                    share=flows.share(m),
                    alone=_alone(m),
                    ways=tuple(ways.of(m)),
                )
            )
            sources.append(one)
    explained, left = explain(seen)
    return Case(places, judged, heard, sources, explained, left)


def _alone(m: Measurement) -> bool:
    """Whether one rail was measured to learn of this rail, and not because uplinks carry no more."""
    return m.stage == "rails" and len(m.rails) == 1


def _too_large(places: Places, m: Measurement, narrow: frozenset[Suspect]) -> bool:
    """Whether a run broke off over a cable with a smaller MTU: that is why, so it accuses nobody."""
    return bool(narrow) and m.state == "broken" and not m.wrong and not narrow.isdisjoint(places.must(m))


class _Flows:
    """How much single flows weigh: all of two hosts together no more than `FLOWS` tests."""

    def __init__(self, judged: Sequence[Judged]) -> None:
        flows = [one for one in judged if one.measurement.stage == "paths"]
        self.count = Counter(one.measurement.hosts for one in flows)
        self.bad = Counter(one.measurement.hosts for one in flows if one.verdict == "bad")

    def share(self, m: Measurement) -> float:
        """The share of its weight that a result has for what all flows cross."""
        return min(1.0, FLOWS / self.count[m.hosts]) if m.stage == "paths" else 1.0

    def all_alike(self, m: Measurement) -> bool:
        """Whether all flows of these two hosts are bad: then they say nothing of a single cable."""
        return m.stage == "paths" and self.bad[m.hosts] >= ALL * self.count[m.hosts]


def _near(places: Places, seen: Sequence[Observation]) -> set[str]:
    """The hosts whose good results can speak for one of the accused."""
    near: set[str] = set()
    for kind, name, number in {suspect for one in seen for suspect in (*one.must, *one.may)}:
        if kind in ("gpu", "link", "host"):
            near.add(name)
        elif kind == "zone":
            near.update(places.by_zone[number])
        elif kind == "path":
            near.update(name.split(" <-> "))
        else:
            near.update(places.under.get(name, ()))
    return near
