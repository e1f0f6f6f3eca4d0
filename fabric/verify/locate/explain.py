"""The smallest explanation: the fewest and likeliest faults that make every bad result bad and leave the good ones good.

Each fault costs something, each bad result that it explains pays, each good result that speaks against it costs. The best is taken,
then the best for what is left, until nothing pays any more. All weights are logarithms of odds, chosen by us: a bad result that
is only noise has odds of about e^-4; one fault needs more than one bad result, or a clue, to be believed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fabric.verify.locate.places import Kind, Suspect

COST: Mapping[Kind, float] = {
    "link": 6.0, "gpu": 6.0, "trunk": 6.0, "host": 6.5, "switch": 7.0, "uplinks": 7.2, "zone": 7.5, "upper": 8.0, "some": 9.0, "path": 8.5,
}  # fmt: skip
"""What it costs to believe in a fault: larger parts are fewer, so a cable is believed before a switch."""
BAD, GOOD = 4.0, 4.0
WEAK = 0.5
"""What a good result over an unknown way costs against `some` uplink: most flows do not meet the one that is slow."""

AGAIN = 0.5
"""What a bad result that has an explanation already still pays, as a share, to a GPU or a cable: two faults may show in one result."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing seen. `must`: who is at fault for sure shows here; `may`: who could.

    `said`: a log or a diagnosis says it of `must` outright: good results are little against it, as such faults come and go.
    """

    bad: bool
    must: tuple[Suspect, ...]
    may: tuple[Suspect, ...] = ()
    weight: float = BAD
    said: bool = False


@dataclass(slots=True)
class Explained:
    """One believed fault: `of` are the numbers of the bad observations that it explains, `against` the good ones that deny it.

    `equals`: other suspects that explain the same as well. `confidence`: 0 to 1, before the equals share it.
    """

    suspect: Suspect
    of: list[int]
    against: int
    gain: float
    confidence: float
    equals: list[Suspect] = field(default_factory=list)


def explain(seen: Sequence[Observation]) -> tuple[list[Explained], list[int]]:
    """The believed faults in the order in which they were found, and the numbers of the bad observations that none explains."""
    table = _Table(seen)
    found: list[Explained] = []
    while table.open:
        best = table.best()
        if best is None:
            break
        found.append(best)
        table.open.difference_update(best.of)
    return found, sorted(table.open)


class _Table:
    """Which suspect explains which bad observation, and what the good ones say against it."""

    def __init__(self, seen: Sequence[Observation]) -> None:
        self.seen = seen
        self.open = {number for number, one in enumerate(seen) if one.bad}
        self.covers: dict[Suspect, list[int]] = {}
        sure: set[Suspect] = set()
        for number in sorted(self.open):
            one = seen[number]
            sure.update(one.must)
            for suspect in dict.fromkeys((*one.must, *one.may)):
                self.covers.setdefault(suspect, []).append(number)
        for suspect in [s for s in self.covers if s[0] == "gpu" and s not in sure]:
            del self.covers[suspect]  # a slow network test alone accuses no GPU
        self.denied = dict.fromkeys(self.covers, 0)
        self.doubt = dict.fromkeys(self.covers, 0.0)
        self.said = {suspect for number in self.open if seen[number].said for suspect in seen[number].must}
        for one in seen:
            if not one.bad:
                self._good(one.must, one.may)

    def _good(self, must: Iterable[Suspect], may: Iterable[Suspect]) -> None:
        for suspect in must:
            if suspect in self.denied:
                self.denied[suspect] += 1
                self.doubt[suspect] += GOOD
        for suspect in may:
            if suspect[0] == "some" and suspect in self.doubt:
                self.doubt[suspect] += WEAK

    def gain(self, suspect: Suspect) -> float:
        """What believing in it brings for what is still open."""
        again = AGAIN if suspect[0] in ("link", "gpu") else 0.0
        paid = sum(self.seen[number].weight * (1 if number in self.open else again) for number in self.covers[suspect])
        doubt = min(self.doubt[suspect], GOOD / 4) if suspect in self.said else self.doubt[suspect]
        return paid - doubt - COST[suspect[0]]

    def best(self) -> Explained | None:
        """The suspect that brings most, with its equals; None when nothing brings anything."""
        gains = {
            suspect: self.gain(suspect) for suspect, numbers in self.covers.items() if not self.open.isdisjoint(numbers)
        }
        suspect = max(gains, key=gains.__getitem__, default=None)
        if suspect is None or gains[suspect] <= 0:
            return None
        mine = [number for number in self.covers[suspect] if number in self.open]
        want, whole = set(mine), gains[suspect]
        equals = [
            other
            for other in gains
            if other != suspect
            and self.denied[other] <= self.denied[suspect]
            and want.issubset(self.covers[other])
            and len(want) == len(self.open.intersection(self.covers[other]))
        ]
        rivals = [
            gain for other, gain in gains.items()
            if other != suspect and other not in equals and not want.isdisjoint(self.covers[other])
        ]  # fmt: skip
        total = 1.0 + math.exp(-whole) + sum(math.exp(min(0.0, gain - whole)) for gain in rivals)
        return Explained(suspect, mine, self.denied[suspect], whole, 1.0 / total, equals)
