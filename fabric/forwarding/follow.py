"""Follows many flows at once, switch by switch, by whatever tables say where each goes next.

The kernel of every walk: all pairs and permutations over LFTs, and any other choice of ports (a hash over equal-cost ports) that
can be asked as `Choose`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from fabric.forwarding.wiring import FIRST_ENDPOINT, NOTHING, Ints, Wiring

HOLE: Final = -1  # no route, or a port with nothing behind it
LOOP: Final = -2
WRONG_END: Final = -3  # delivered to another endpoint
# A path through more switches counts as a loop. A subnet manager reaches no switch beyond 63 hops (directed routes), so two
# endpoints are never further apart than this.
MOST_SWITCHES: Final = 127

# Takes the switch of each active flow and the flows' numbers; the output port of each (one that does not exist = 0).
Choose = Callable[[Ints, Ints], Ints]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of all flows that went from a switch to a switch in it: the flows, their channels, and the channels before (or -1)."""

    flow: Ints
    channel: Ints
    before: Ints


@dataclass(frozen=True, slots=True)
class Trail:
    """Where flows went. `outcome[f]` is the number of switch-to-switch links of a delivered flow, or HOLE, LOOP, WRONG_END."""

    outcome: npt.NDArray[np.int16]
    steps: tuple[Step, ...]

    def load(self, channels: int, weight: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Sum of the weights of the delivered flows over each channel."""
        total = np.zeros(channels, dtype=np.int64)
        good = self.outcome >= 0
        weight = np.where(good, weight, 0)
        for step in self.steps:
            # float64 holds sums up to 2**53 exactly; 65,536 endpoints have 2**32 pairs.
            total += np.bincount(step.channel, weights=weight[step.flow], minlength=channels).astype(np.int64)
        return total


def follow(wiring: Wiring, choose: Choose, start: Ints, target: Ints) -> Trail:
    """Follows flow f from switch `start[f]` to endpoint `target[f]`."""
    outcome = np.full(start.shape, LOOP, dtype=np.int16)
    far, width = wiring.far.ravel(), wiring.width
    flow = np.arange(start.size, dtype=np.int32)
    at, before = start.astype(np.int32), np.full(start.shape, -1, dtype=np.int32)
    steps: list[Step] = []
    for hops in range(min(len(wiring.switches), MOST_SWITCHES)):
        channel = at * width + choose(at, flow)
        to = far.take(channel)
        moves = to >= 0
        if not moves.all():
            ended = flow[~moves]
            outcome[ended] = _ending(to[~moves], target[ended], hops)
            flow, channel, to, before = flow[moves], channel[moves], to[moves], before[moves]
        if not flow.size:
            break
        steps.append(Step(flow, channel, before))
        at, before = to, channel
    return Trail(outcome, tuple(steps))


def _ending(to: Ints, target: Ints, hops: int) -> npt.NDArray[np.int16]:
    """The outcome of flows that leave the switches after `hops` links."""
    wrong = np.where(to == NOTHING, HOLE, WRONG_END)
    return np.where(FIRST_ENDPOINT - to == target, hops, wrong).astype(np.int16)
