"""The smallest explanation: the fewest and likeliest faults that make every bad result bad and leave the good ones good.

Each fault costs something, each bad result that it explains pays, each good result that speaks against it costs. The best is taken,
then the best for what is left, until nothing pays any more. All weights are logarithms of odds, chosen by us: a bad result that
is only noise has odds of about e^-4; one fault needs more than one bad result, or a clue, to be believed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fabric.verify.locate.places import Kind, Suspect

COST: Mapping[Kind, float] = {
    "link": 6.0, "gpu": 6.0, "trunk": 6.0, "host": 6.5, "switch": 7.0, "uplinks": 7.2, "zone": 7.5, "upper": 8.0, "some": 9.0, "path": 8.5,
}  # fmt: skip
"""What it costs to believe in a fault: larger parts are fewer, so a cable is believed before a switch."""
BAD, GOOD = 4.0, 4.0
WEAK = 0.5
"""What a good result over an unknown way costs against `some` uplink: most flows do not meet the one that is slow."""
WIDE: frozenset[Kind] = frozenset({"trunk", "upper", "switch", "uplinks", "zone", "some"})
"""What many results cross: of these a wrong one may explain more than either of two right ones."""

LEAST = 0.25
"""What a bad result over an unknown way pays at least, as a share, to a part that it could have met."""

AGAIN = 0.5
"""What a bad result that has an explanation already still pays, as a share, to a GPU or a cable: two faults may show in one result."""

HIDDEN = 0.25
"""What a good result with all rails costs, as a share, against a cable that was bad alone."""

SINGLE: frozenset[Kind] = frozenset({"trunk", "upper"})
"""What only some of the flows between two hosts cross: to these each flow is a test of its own."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing seen. `must`: who is at fault for sure shows here; `may`: who could.

    `said`: a log or a diagnosis says it of `must` outright: good results are little against it, as such faults come and go.
    `share`: of its weight, for and against what is no single cable: a hundred flows of two hosts are not a hundred tests of their zone.
    `all_alike`: the share counts for single cables as well, since every flow of the two is bad.
    """

    bad: bool
    must: tuple[Suspect, ...]
    may: tuple[Suspect, ...] = ()
    weight: float = BAD
    said: bool = False
    share: float = 1.0
    all_alike: bool = False
    alone: bool = False
    """One rail only was measured: among others, its slowness may not show."""
    ways: tuple[tuple[Suspect, float], ...] = ()
    """Single parts that one of its many flows could have met, with the probability that one did; for a clue at a cable, the switch there."""


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
    found = _greedy(table, [])
    dropped: set[Suspect] = set()
    while (needless := _needless(table, found, dropped)) is not None:
        dropped.add(needless)
        found = _greedy(table, [one.suspect for one in found if one.suspect != needless])
        left = set(table.open)
        _ask_again(table, found)
        table.open = left
    return found, sorted(table.open)


def _greedy(table: _Table, first: Collection[Suspect]) -> list[Explained]:
    """The best, then the best for what is left; those of `first` before all others."""
    table.open = set(table.bad)
    found: list[Explained] = []
    waiting = set(first)
    while table.open:
        best = table.best(waiting or None)
        if best is None and not waiting:
            break
        if best is None:
            waiting = set()
            continue
        waiting.discard(best.suspect)
        found.append(best)
        table.open.difference_update(best.of)
    return found


def _needless(table: _Table, found: Sequence[Explained], dropped: Collection[Suspect]) -> Suspect | None:
    """A fault that was taken first because it explains the most, while others, taken later, explain all of it better.

    Nothing is dropped twice, so there is an end.
    """
    times = Counter(number for one in found for number in table.covers[one.suspect])
    for one in found:
        if one.suspect[0] in WIDE and one.suspect not in dropped and all(times[number] > 1 for number in one.of):
            others = [other.suspect for other in found if other is not one]
            if table.lost(one, others) < table.price(one.suspect):
                return one.suspect
    return None


def _ask_again(table: _Table, found: Sequence[Explained]) -> None:
    """How sure each fault is by what it alone explains: the needless one, which explained parts of several, is no rival any more."""
    for one in found:
        table.open = set(one.of).difference(*(table.covers[other.suspect] for other in found if other is not one))
        alone = table.best({one.suspect}) if table.open else None
        if alone is not None:
            one.confidence = alone.confidence


class _Table:
    """Which suspect explains which bad observation, and what the good ones say against it."""

    def __init__(self, seen: Sequence[Observation]) -> None:
        self.seen = seen
        self.single = [one.weight * (one.share if one.all_alike else 1.0) for one in seen]
        self.shared = [one.weight * one.share for one in seen]
        self.bad = frozenset(number for number, one in enumerate(seen) if one.bad)
        self.open = set(self.bad)
        self.covers: dict[Suspect, list[int]] = {}
        self.chance: dict[tuple[Suspect, int], float] = {}
        sure: set[Suspect] = set()
        for number in sorted(self.open):
            one = seen[number]
            sure.update(one.must)
            for suspect in dict.fromkeys((*one.must, *one.may)):
                self.covers.setdefault(suspect, []).append(number)
            for suspect, chance in dict(one.ways).items():
                self.covers.setdefault(suspect, []).append(number)
                self.chance[suspect, number] = max(LEAST, chance)
        for suspect in [s for s in self.covers if s[0] == "gpu" and s not in sure]:
            del self.covers[suspect]  # a slow network test alone accuses no GPU
        self.denied = dict.fromkeys(self.covers, 0)
        self.doubt = dict.fromkeys(self.covers, 0.0)
        self.alone = {s for number in self.open if seen[number].alone for s in seen[number].must if s[0] == "link"}
        self.said = {suspect for number in self.open if seen[number].said for suspect in seen[number].must}
        for one in seen:
            if not one.bad:
                self._good(one)

    def _good(self, one: Observation) -> None:
        for suspect in one.must:
            if suspect in self.denied:
                self.denied[suspect] += 1
                hidden = HIDDEN if suspect in self.alone and not one.alone else 1.0
                self.doubt[suspect] += GOOD * hidden * (1.0 if suspect[0] in SINGLE else one.share)
        for suspect in one.may:
            if suspect[0] == "some" and suspect in self.doubt:
                self.doubt[suspect] += WEAK
        for suspect, chance in one.ways:
            if suspect in self.doubt:
                self.doubt[suspect] += WEAK * min(GOOD, -math.log(max(1e-9, 1 - chance)))

    def pay(self, suspect: Suspect, number: int) -> float:
        """What a suspect gets for a bad result that it covers."""
        if suspect[0] in SINGLE:
            return self.single[number] * self.chance.get((suspect, number), 1.0)
        return self.shared[number] * self.chance.get((suspect, number), 1.0)

    def lost(self, one: Explained, others: Sequence[Suspect]) -> float:
        """How much less others pay for what it explains."""
        paid = dict.fromkeys(one.of, 0.0)
        for other in others:
            for number in paid.keys() & set(self.covers[other]):
                paid[number] = max(paid[number], self.pay(other, number))
        return sum(max(0.0, self.pay(one.suspect, number) - pay) for number, pay in paid.items())

    def price(self, suspect: Suspect) -> float:
        """What it costs to believe in it, with the good results that deny it."""
        doubt = min(self.doubt[suspect], GOOD / 4) if suspect in self.said else self.doubt[suspect]
        return doubt + COST[suspect[0]]

    def gain(self, suspect: Suspect) -> float:
        """What believing in it brings for what is still open."""
        again = AGAIN if suspect[0] in ("link", "gpu") else 0.0
        numbers: Iterable[int] = self.covers[suspect] if again else self.open.intersection(self.covers[suspect])
        paid = sum(self.pay(suspect, number) * (1 if number in self.open else again) for number in numbers)
        return paid - self.price(suspect)

    def best(self, among: Collection[Suspect] | None = None) -> Explained | None:
        """The suspect that brings most, with its equals; None when nothing brings anything. `among`: one of these only."""
        gains = {
            suspect: self.gain(suspect) for suspect, numbers in self.covers.items() if not self.open.isdisjoint(numbers)
        }
        mine_only = gains if among is None else [suspect for suspect in gains if suspect in among]
        suspect = max(mine_only, key=gains.__getitem__, default=None)
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
