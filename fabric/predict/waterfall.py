"""Where the bandwidth goes: ideal, then what latency, placement, hashing, polarisation and failures take, one after the other.

Each step is a walk of its own, so that a loss is named by its cause and not guessed from the sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fabric.predict.latency import Clock
from fabric.predict.model import Loss
from fabric.predict.runs import Asked, Run, norms_of

STEPS = ("ideal", "latency", "placement", "hashing", "polarisation", "failures")
CONGESTION = STEPS[2:]


@dataclass(frozen=True, slots=True)
class Ladder:
    """Median norm (0 to 1) after each step of congestion, none above the one before; `runs` are those of the case itself."""

    ideal: float
    after: Mapping[str, float]
    runs: tuple[Run, ...]
    placement: float

    def loss(self, step: str) -> float:
        """What a step takes of the norm."""
        before = {name: self.after[one] for name, one in zip(CONGESTION[1:], CONGESTION, strict=False)}
        return before.get(step, self.ideal) - self.after[step]


def climb(whole: Asked, broken: Asked | None, seeds: int) -> Ladder:
    """The walks: `whole` the case without its failures, `broken` with them (None: it has none). `placement` is the bound with them."""
    policy = whole.policy()
    few = min(seeds, 5)
    spread = _median(whole.spread(few))
    even = whole.hashed(whole.policy(seed_per_tier=True), seeds)
    same = even if policy.apart or policy.splits else whole.hashed(policy, seeds)
    runs = same if broken is None else broken.hashed(policy, seeds)
    found = np.minimum.accumulate([spread, _median(even), _median(same), _median(runs)])
    bound = spread if broken is None else _median(broken.spread(few))
    after = {name: float(value) for name, value in zip(CONGESTION, found, strict=True)}
    return Ladder(whole.steps(0)[0].ideal, after, runs, bound)


def waterfall(ladder: Ladder, clock: Clock, sent: float) -> tuple[Loss, ...]:
    """What is left after each step in percent, p50, at `sent` bytes a NIC."""
    values = np.array([ladder.ideal, *ladder.after.values()])
    left = clock.reached(sent, values)
    lines = [Loss("ideal", 100 * ladder.ideal), *map(Loss, STEPS[1:], map(float, left))]
    return tuple(lines)


def _median(runs: tuple[Run, ...]) -> float:
    return float(np.median(norms_of(runs)))
