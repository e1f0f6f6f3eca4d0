"""What a search for settings has walked: each setting, what it reaches, what it costs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from fabric.predict.knobs import Cost, Edit, Knobs, cost
from fabric.predict.model import Band, Case, Prediction
from fabric.predict.net import Net
from fabric.predict.runs import Asked, Run, band, norms_of

SCREEN = 5
"""Seeds of a first look; a setting that reaches the target there is walked over all seeds of the case."""
UNSURE = 3.0
"""Percent that percentile 5 of a first look may lie below the target and yet be looked at again."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A setting that was walked: `reached` (None where it cannot be built), `bound` with perfect balance in percent, and a word on it."""

    knobs: Knobs
    cost: Cost
    reached: Band | None
    bound: float | None
    said: str


@dataclass(frozen=True, slots=True)
class Tuning:
    """What was found. `after` and `chosen` are None where nothing reaches the target; then `best` is what comes nearest.

    `edits`: of the spec. `by_hand`: what no key of the spec says. `tried`: in the order in which it was.
    """

    target: float
    before: Prediction
    start: Knobs
    chosen: Knobs | None
    after: Prediction | None
    best: Trial
    edits: tuple[Edit, ...]
    by_hand: tuple[str, ...]
    tried: tuple[Trial, ...]

    @property
    def done(self) -> bool:
        """Whether the declared setting reaches the target."""
        return self.chosen == self.start


@dataclass(slots=True)
class Trials:
    """A search in progress: the case, the target in percent, the declared setting, and what was tried."""

    case: Case
    target: float
    start: Knobs
    tried: list[Trial] = field(default_factory=list)

    def note(self, knobs: Knobs, reached: Band | None, said: str, bound: float | None = None) -> Trial:
        """Keeps what was walked."""
        trial = Trial(knobs, cost(self.start, knobs), reached, bound, said)
        self.tried.append(trial)
        return trial

    def look(self, net: Net, knobs: Knobs, seeds: int) -> Band:
        """What a setting reaches, over some seeds."""
        asked = Asked(net, knobs.of(self.case, seeds))
        runs = asked.hashed(asked.policy(), seeds)
        self.saw(net, runs)
        return band(100 * norms_of(runs))

    def even(self, net: Net, knobs: Knobs) -> tuple[Band, tuple[Run, ...]]:
        """What perfect balance over all shortest paths would reach in that order of ranks, and its walks."""
        asked = Asked(net.open or net, replace(knobs.of(self.case, SCREEN), hash="spray"))
        runs = asked.spread(min(SCREEN, self.case.seeds))
        self.saw(net, runs)
        return band(100 * norms_of(runs)), runs

    def saw(self, net: Net, runs: tuple[Run, ...]) -> None:
        """Told of every walk."""

    def reaches(self, net: Net, knobs: Knobs) -> Band:
        """What percentile 5 is, over all seeds where a first look leaves hope: that spares most of the work."""
        seeds = self.case.seeds
        found = self.look(net, knobs, min(SCREEN, seeds))
        if found.p5 >= self.target - UNSURE and seeds > SCREEN:
            found = self.look(net, knobs, seeds)
        self.note(knobs, found, "reaches it" if found.p5 >= self.target else "falls short")
        return found

    def nothing(self, before: Prediction, without: str = "") -> Tuning:
        """The end of a search that found nothing: what comes nearest, of what can be had (no setting of hash `without`)."""
        ours = [one for one in self.tried if one.knobs.hash != without]
        best = max(ours, key=lambda one: one.reached.p5 if one.reached else 0.0)
        return Tuning(self.target, before, self.start, None, None, best, (), (), tuple(self.tried))

    def as_declared(self, before: Prediction) -> Tuning:
        """The end of a search that had nothing to do."""
        return Tuning(self.target, before, self.start, self.start, before, self.tried[0], (), (), tuple(self.tried))
