"""All results and clues in, the located parts out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fabric.design.seats import Seating
from fabric.verify.collectives.model import Clue, Measurement, Part
from fabric.verify.locate import describe, settings
from fabric.verify.locate.clues import Heard, hear, observation
from fabric.verify.locate.explain import BAD, Explained, Observation, explain
from fabric.verify.locate.gates import Expected, Gate, Judged, judge
from fabric.verify.locate.left import leftover
from fabric.verify.locate.places import Places, Suspect
from fabric.verify.locate.ways import Ways


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
    judged, fleets = judge(places, measurements, expected, gate or Gate())
    case = examine(places, judged, hear(places, clues))
    parts = [
        *settings.fleet_parts(fleets),
        *settings.setting_parts(places, case.heard),
        *describe.parts(case),
        *leftover(places, judged, case.bad(case.left)),
    ]
    return tuple(sorted(parts, key=lambda part: -part.confidence))


def examine(places: Places, judged: Sequence[Judged], heard: Sequence[Heard] = ()) -> Case:
    """The explanation of judged results and clues."""
    seen: list[Observation] = []
    sources: list[Judged | Heard] = []
    ways = Ways(places, judged)
    for one in judged:
        if one.verdict in ("good", "bad"):
            m, bad = one.measurement, one.verdict == "bad"
            may = tuple(places.may(m))
            seen.append(Observation(bad, tuple(places.must(m)), (*may, *ways.may(m)) if bad else may, BAD))
            sources.append(one)
    said: set[tuple[str, Suspect | None, Suspect | None]] = set()
    for clue in heard:
        key = (clue.clue.kind, clue.suspect, clue.peer)
        if key not in said and (found := observation(places, clue)) is not None:
            said.add(key)
            seen.append(found)
            sources.append(clue)
    explained, left = explain(seen)
    return Case(places, judged, heard, sources, explained, left)
