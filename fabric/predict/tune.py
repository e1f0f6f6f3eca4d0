"""The cheapest change of settings, rank order and uplinks with which a collective reaches a target in nearly every draw of the hash.

The target is for percentile 5 over seeds, not for the median: half of all clusters would miss that. Every setting is walked, none is
believed by a rule; from cheap to dear, so that the first that reaches is the cheapest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fabric.design.fabric import Fabric
from fabric.errors import FabricError, FabricErrors
from fabric.predict.answer import predict
from fabric.predict.knobs import MOST_QPS, Knobs, Wider, cost, edits_of, flow_steps, groups_apart, widenings
from fabric.predict.model import Band, Case, Placement, Prediction
from fabric.predict.net import Net
from fabric.predict.runs import Run
from fabric.predict.trials import SCREEN, UNSURE, Trial, Trials, Tuning

PINNED = "not proposed: paths fixed by a controller, for which no switch here is set up"
"""What is said of a setting that is walked to be known only: `fabric tune --write` cannot write it."""
IN_ORDER = "hosts and ranks in the order of zone, rack and host: fabric place, or Slurm with the topology of fabric export slurm"
"""What no key of the spec says of the order of ranks."""
_OVER = 1.005  # a load above 1 by more than rounding


@dataclass(slots=True)
class _Search(Trials):
    """A search on a RoCE fabric. `build` gives the network with more uplinks; FabricError where the design refuses it."""

    fabric: Fabric = field(kw_only=True)
    net: Net = field(kw_only=True)
    build: Callable[[Wider], Net] = field(kw_only=True)
    most_qps: int = field(kw_only=True)
    over: set[str] = field(default_factory=set)

    def bound(self, net: Net, knobs: Knobs) -> tuple[Band, float]:
        """What perfect balance would reach in that order of ranks, and the load of the fullest tier of switches with it."""
        found, runs = self.even(net, knobs)
        loads = np.max(np.stack([run.tiers for run in runs]), axis=0)
        between = [float(load) for name, load in zip(net.tiers, loads, strict=True) if _uplink(name)]
        return found, max(between, default=0.0)

    def saw(self, net: Net, runs: tuple[Run, ...]) -> None:
        """Which uplinks are asked for more than they have: where more of them would help."""
        loads = np.max(np.stack([run.tiers for run in runs]), axis=0)
        for name, load in zip(net.tiers, loads, strict=True):
            kind = _uplink(name)
            if kind is not None and load > 100 / self.target * _OVER:
                self.over.add(kind)

    def cheapest(self, net: Net, knobs: Knobs) -> Knobs | None:
        """The fewest flows with which this order on this network reaches the target; None where even the most do not."""
        bound, rho = self.bound(net, knobs)
        if bound.p50 < self.target - 1e-6:
            self.note(knobs, None, "perfect balance would not reach it in this order", bound.p50)
            return None
        steps = [replace(knobs, qps=qps, channels=channels) for qps, channels in flow_steps(self.start, self.most_qps)]
        for step in steps:
            if step == self.start:
                continue  # as declared: walked already
            found = self.reaches(net, step)
            if found.p5 >= self.target:
                return step
            if hopeless(found.p50, rho, step.qps * step.channels, steps[-1].qps * steps[-1].channels, self.target):
                self.tried[-1] = replace(self.tried[-1], said="falls short, and more flows would not be enough")
                return None
        return None


def _uplink(tier: str) -> str | None:
    """Whose uplinks a tier of channels is, in either direction; None for the NICs' own."""
    return {"rtsw up": "rtsw", "ctsw down": "rtsw", "ctsw up": "ctsw", "atsw down": "ctsw"}.get(tier)


def hopeless(reached: float, rho: float, flows: int, most: int, target: float) -> bool:
    """Whether even `most` flows a pair would not reach the target, from what so many `flows` reach (percent, the median).

    The fullest link lies above the mean `rho` by a part that falls with the root of the flows (performance-model.md, section 2:
    load_max ~ rho + z sqrt(rho / Q)).
    """
    above = max(0.0, 100 / reached - rho) if reached else 1.0
    return 100 / (rho + above * (flows / most) ** 0.5) < target - UNSURE if rho else False


def ask_plainly(net: Net, case: Case) -> Prediction:
    """The prediction with NICs of 400 Gb/s and NCCL's own latency constants."""
    return predict(net, case, advice=False)


def tune(
    fabric: Fabric, net: Net, case: Case, start: Knobs, *, target: float, build: Callable[[Wider], Net], most_qps: int = MOST_QPS,
    ask: Callable[[Net, Case], Prediction] = ask_plainly,
) -> Tuning:  # fmt: skip
    """Searches. `net` is the declared network, `start` the declared setting; `build` designs one with more uplinks or raises FabricError.

    `ask` makes the predictions before and after. FabricError for a case that cannot be.
    """
    search = _Search(case, target, start, fabric=fabric, net=net, build=build, most_qps=most_qps)
    before = ask(net, start.of(case))
    search.note(start, before.reached, "as declared", before.placement_bound)
    if before.reached.p5 >= target:
        return search.as_declared(before)
    found = _found(search)
    _pinned(search)
    if found is None:
        return search.nothing(before, without="pinned")
    knobs, built = _trimmed(search, *found)
    after = ask(built, knobs.of(case))
    best = Trial(knobs, cost(start, knobs), after.reached, after.placement_bound, "chosen")
    edits = edits_of(fabric, start, knobs)
    return Tuning(target, before, start, knobs, after, best, edits, _by_hand(start, knobs, case), tuple(search.tried))


def _found(search: _Search) -> tuple[Knobs, Net] | None:
    """From cheap to dear: settings and flows, then the order of ranks, then more uplinks on the tiers that gate."""
    free = _free(search)
    for order in orders(search):
        knobs = replace(free, placement=order)
        if (found := search.cheapest(search.net, knobs)) is not None:
            return found, search.net
    refused: list[set[str]] = []
    for wider in widenings(search.fabric, search.over, alike=not free.seed_per_tier):
        if any(tiers <= set(wider.tiers) for tiers in refused):
            continue  # fewer on these tiers could not be built
        try:
            net = search.build(wider)
        except FabricError as error:
            search.note(replace(free, wider=wider), None, cannot_be_built(error))
            refused.append(set(wider.tiers))
            continue
        for order in orders(search):
            if (found := search.cheapest(net, replace(free, placement=order, wider=wider))) is not None:
                return found, net
    return None


def _pinned(search: _Search) -> None:
    """What a controller would reach that fixes the path of every pair, on the declared uplinks: to be known, not chosen."""
    knobs = replace(search.start, hash="pinned", placement=orders(search)[-1])
    search.note(knobs, search.look(search.net, knobs, SCREEN), PINNED)


def _free(search: _Search) -> Knobs:
    """The declared setting with everything that costs nothing: a hash over queue pairs, seeds that differ from tier to tier."""
    start, groups = search.start, groups_apart(search.fabric)
    return replace(
        start,
        hash="e-ecmp" if start.hash == "ecmp" else start.hash,
        seed_per_tier=start.seed_per_tier or not groups,
        seed_groups=groups,
    )


def orders(search: Trials) -> list[Placement]:
    """The order of today, then that of the fabric."""
    start = search.start.placement
    return [start] if search.case.hosts or start == "rack" else [start, "rack"]


def _trimmed(search: _Search, knobs: Knobs, net: Net) -> tuple[Knobs, Net]:
    """Without those free settings that do nothing for it."""
    start = search.start
    back: list[dict[str, Any]] = [
        {"seed_per_tier": start.seed_per_tier, "seed_groups": start.seed_groups},
        {"hash": start.hash},
    ]
    for changes in back:
        plain = replace(knobs, **changes)
        if plain != knobs and search.reaches(net, plain).p5 >= search.target:
            knobs = plain
    return knobs, net


def cannot_be_built(error: FabricError) -> str:
    """What is said of a setting that the design refuses."""
    first = error.errors[0] if isinstance(error, FabricErrors) else error
    return f"cannot be built: {first.message}"


def _by_hand(start: Knobs, knobs: Knobs, case: Case) -> tuple[str, ...]:
    """What no key of the spec says."""
    said = [IN_ORDER] if knobs.placement != start.placement and not case.hosts else []
    if knobs.channels != start.channels:
        said.append(
            f"{knobs.channels} channels a NIC: NCCL_MIN_CTAS, which NVIDIA lists for debugging only, so it is not written into nccl.conf"
        )
    return tuple(said)
