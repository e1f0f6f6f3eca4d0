"""The walks of a case over its seeds: what each leaves of the NICs' rate, and what each tier carries at most.

A seed draws the switches' hash functions and, where the placement is shuffled, the rank order; so the spread is over both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fabric.predict import flows as patterns
from fabric.predict.hashing import HashPolicy
from fabric.predict.load import Flows, Plan, flows, loads, spread
from fabric.predict.model import Band, Case
from fabric.predict.net import Floats, Ints, Net, norm

T = TypeVar("T")
KEPT = 1 << 24
"""Loads of channels that are kept at most where the order differs from seed to seed: 128 MiB."""


@dataclass(frozen=True, slots=True)
class Step:
    """A phase ready to be walked, on one rank order. `key`: the seed of the order (-1: it has none), and its place among the phases."""

    phase: patterns.Phase
    ready: Flows
    key: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Run:
    """One seed: `norm` over all phases (0 to 1), that of each phase, and the largest load on each tier (1 = rate of the link)."""

    norm: float
    phases: tuple[float, ...]
    tiers: Floats


@dataclass(frozen=True)
class Asked:
    """A case on a network: its rank orders and flows are made once, and kept where they do not differ from seed to seed."""

    net: Net
    case: Case
    _kept: dict[int, tuple[patterns.Pattern, Ints, tuple[Step, ...]]] = field(default_factory=dict)
    _even: dict[tuple[int, int], Floats] = field(default_factory=dict)
    _plans: dict[tuple[int, int], Plan] = field(default_factory=dict)

    @property
    def shuffled(self) -> bool:
        """Whether the rank order differs from seed to seed."""
        return not self.case.hosts and self.case.placement in ("random", "zone")

    def order(self, seed: int) -> Ints:
        """Hosts by index, in rank order."""
        return patterns.order_of(self.case, self.net.hosts, zones_of(self.net), self.net.rails, seed)

    def steps(self, seed: int) -> tuple[patterns.Pattern, Ints, tuple[Step, ...]]:
        """(pattern, rank order, phases) of a seed."""
        key = seed if self.shuffled else -1
        if key not in self._kept:
            order = self.order(seed)
            made = patterns.pattern(self.case, order, self.net.rails)
            ready = tuple(
                Step(one, flows(self.net, one.src, one.dst, one.weight), (key, place))
                for place, one in enumerate(made.phases)
            )
            if key > 0 or (self.shuffled and len(ready) > 1):  # seed 0 is asked for again and again
                return made, order, ready
            self._kept[key] = made, order, ready
        return self._kept[key]

    def policy(self, *, seed_per_tier: bool | None = None) -> HashPolicy:
        """How its flows choose."""
        own = self.case.seed_per_tier if seed_per_tier is None else seed_per_tier
        groups = () if own else self.case.seed_groups
        return HashPolicy(self.case.hash, self.case.subflows, own or bool(groups), groups=groups)

    def loads(self, step: Step, policy: HashPolicy, seed: int) -> Floats:
        """Load of each channel in one phase of a seed."""
        return loads(step.ready, policy, seed, self.plan(step, policy))

    def plan(self, step: Step, policy: HashPolicy) -> Plan | None:
        """The controller's path plan where the policy wants one."""
        if policy.kind != "pinned":
            return None
        from fabric.predict.pinning import plan_paths

        return self._once(self._plans, step, lambda: plan_paths(self.net, step.phase.src, step.phase.dst))

    def even(self, step: Step) -> Floats:
        """Load of each channel when every switch balances perfectly."""
        return self._once(self._even, step, lambda: spread(self._open(step)))

    def _open(self, step: Step) -> Flows:
        """The flows of a phase with all shortest paths to choose from."""
        if self.net.open is None:
            return step.ready
        return flows(self.net.open, step.phase.src, step.phase.dst, step.phase.weight)

    def _once(self, kept: dict[tuple[int, int], T], step: Step, make: Callable[[], T]) -> T:
        """What is made once of a phase: always where the order is fixed, else while it is not too much."""
        found = kept.get(step.key)
        if found is None:
            found = make()
            if not self.shuffled or (len(kept) + 1) * self.net.channels <= KEPT:
                kept[step.key] = found
        return found

    def hashes(self, policy: HashPolicy) -> bool:
        """Whether flows choose by hash: not where a switch has one way to each NIC, as InfiniBand's tables give."""
        return policy.kind in ("ecmp", "e-ecmp") and int(self.net.set_size.max(initial=0)) > 1

    def hashed(self, policy: HashPolicy, seeds: int) -> tuple[Run, ...]:
        """The walks of all seeds. Without chance (a fixed order, and no hash) one stands for all."""
        chance = self.shuffled or self.hashes(policy)
        if policy.kind == "pinned":
            return self._each(
                1 if not self.shuffled else min(seeds, 5), lambda step, seed: self.loads(step, policy, seed)
            )
        return self._each(seeds if chance else 1, lambda step, seed: self.loads(step, policy, seed))

    def spread(self, seeds: int) -> tuple[Run, ...]:
        """Perfect balance at every switch."""
        return self._each(seeds if self.shuffled else 1, lambda step, _: self.even(step))

    def _each(self, seeds: int, load: Callable[[Step, int], Floats]) -> tuple[Run, ...]:
        """One after the other: threads would wait for the interpreter's lock between small arrays, and take longer together than one alone."""
        return tuple(self._run(seed, load) for seed in range(seeds))

    def _run(self, seed: int, load: Callable[[Step, int], Floats]) -> Run:
        _, _, steps = self.steps(seed)
        tiers = np.zeros(len(self.net.tiers))
        norms = []
        for step in steps:
            found = load(step, seed)
            norms.append(norm(self.net, found))
            tiers = np.maximum(tiers, tier_peaks(self.net, found))
        took = sum(step.phase.share * step.phase.count / one for step, one in zip(steps, norms, strict=True))
        return Run(min(1.0, 1.0 / took), tuple(norms), tiers)


def tier_peaks(net: Net, found: Floats) -> Floats:
    """The largest load of each tier, 1 = the rate of the link."""
    peaks = np.zeros(len(net.tiers))
    np.maximum.at(peaks, net.tier, found / net.capacity)
    return peaks


def zones_of(net: Net) -> npt.NDArray[np.int64]:
    """The block (AI Zone) of each host."""
    first = np.arange(len(net.hosts)) * net.rails
    return net.groups.block[net.groups.of_nic[first]]


def norms_of(runs: tuple[Run, ...]) -> Floats:
    """The norm of each seed."""
    return np.array([run.norm for run in runs])


def band(values: Floats) -> Band:
    """Percentiles 5, 50 and 95."""
    low, middle, high = (float(one) for one in np.percentile(values, (5, 50, 95)))
    return Band(low, middle, high)


def middle_seed(runs: tuple[Run, ...]) -> int:
    """The seed whose norm is the median, of an even number the lower one."""
    return int(np.argsort([run.norm for run in runs], kind="stable")[(len(runs) - 1) // 2])


def slowest(asked: Asked, runs: tuple[Run, ...], seed: int) -> Step:
    """The phase that takes longest in a seed."""
    _, _, steps = asked.steps(seed)
    took = [step.phase.share * step.phase.count / one for step, one in zip(steps, runs[seed].phases, strict=True)]
    return steps[int(np.argmax(took))]
