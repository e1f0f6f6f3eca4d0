"""The cheapest change of routing engine, rank order and uplinks with which a collective reaches a target on InfiniBand.

Tables have one path a destination, whatever the number of queue pairs and channels; so neither is a knob here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import ceil
from typing import Final

from fabric.design.ib.model import Subnet
from fabric.errors import FabricError
from fabric.predict.knobs import FACTORS, Edit, Knobs, Wider, cost, declared_order
from fabric.predict.model import Case, Hash, Placement, Prediction
from fabric.predict.net import Net
from fabric.predict.source import queue_pairs
from fabric.predict.trials import Trial, Trials, Tuning
from fabric.predict.tune import cannot_be_built, orders

ENGINES: Final = ("ftree", "ar_ftree")
"""What is tried beside the declared engine: of the static ones only ftree loads all links of three tiers alike (infiniband.md, measured);
adaptive routing is NVIDIA's OpenSM's."""
IN_ORDER = (
    "hosts and ranks in the order of unit and host: fabric place, or Slurm with the topology of fabric export slurm"
)
"""What no key of the spec says of the order of ranks."""
_ROUTING = ("backend", "routing", "engines")

Build = Callable[[Sequence[Edit]], tuple[Subnet, Net]]


def declared(subnet: Subnet, *, channels: int = 1, placement: Placement | None = None) -> Knobs:
    """The knobs as the spec has them; `placement` where it is known better."""
    engine = subnet.routing.engines[0]
    return Knobs(
        hash=hash_of(engine), qps=queue_pairs(subnet.spec), channels=channels, placement=placement or declared_order(subnet.spec),
        seed_per_tier=True, engine=engine,
    )  # fmt: skip


def hash_of(engine: str) -> Hash:
    """How an engine's paths are walked: a static table has one to draw from, adaptive routing spreads packets over all."""
    return "spray" if engine.startswith("ar_") else "ecmp"


@dataclass(slots=True)
class _Search(Trials):
    """A search on a subnet. `build` designs the spec with some edits; FabricError where they are refused."""

    subnet: Subnet = field(kw_only=True)
    net: Net = field(kw_only=True)
    build: Build = field(kw_only=True)
    made: dict[str, tuple[Wider | None, Net] | None] = field(default_factory=dict)

    def built(self, knobs: Knobs, wider: tuple[Edit, ...]) -> tuple[Knobs, Net] | None:
        """The setting with what its uplinks add, and its network; None, and noted, where the design refuses it.

        Designed once for all orders of ranks: `made` is by engine, for these uplinks.
        """
        if knobs.engine not in self.made:
            self.made[knobs.engine] = self._designed(knobs, wider)
        found = self.made[knobs.engine]
        return None if found is None else (replace(knobs, wider=found[0]), found[1])

    def _designed(self, knobs: Knobs, wider: tuple[Edit, ...]) -> tuple[Wider | None, Net] | None:
        if knobs.engine == self.start.engine and not wider:
            return None, self.net
        try:
            subnet, net = self.build((*wider, *engine_edits(self.subnet, knobs.engine)))
        except FabricError as error:
            asked = Wider(_tiers(wider), wider, 0, 0) if wider else None
            self.note(replace(knobs, wider=asked), None, cannot_be_built(error))
            return None
        if not wider:
            return None, net
        cables = len(subnet.links) - len(self.subnet.links)
        switches = len(subnet.switches) - len(self.subnet.switches)
        return Wider(_tiers(wider), wider, cables, switches), net


def tune_subnet(
    subnet: Subnet, net: Net, case: Case, start: Knobs, *, target: float, build: Build, ask: Callable[[Net, Case], Prediction]
) -> Tuning:  # fmt: skip
    """Searches. `net` is the declared network, `start` the declared setting; `ask` makes the predictions before and after.

    FabricError for a case that cannot be.
    """
    search = _Search(case, target, start, subnet=subnet, net=net, build=build)
    before = ask(net, start.of(case))
    search.note(start, before.reached, "as declared", before.placement_bound)
    if before.reached.p5 >= target:
        return search.as_declared(before)
    found = _found(search)
    if found is None:
        return search.nothing(before)
    knobs, built = found
    after = ask(built, knobs.of(case))
    best = Trial(knobs, cost(start, knobs), after.reached, after.placement_bound, "chosen")
    edits = (*(knobs.wider.edits if knobs.wider else ()), *engine_edits(subnet, knobs.engine))
    by_hand = (IN_ORDER,) if knobs.placement != start.placement and not case.hosts else ()
    return Tuning(target, before, start, knobs, after, best, edits, by_hand, tuple(search.tried))


def _found(search: _Search) -> tuple[Knobs, Net] | None:
    """From cheap to dear: the engine, then the order of ranks, then more uplinks."""
    for wider in ((), *widenings(search.subnet)):
        search.made.clear()
        for order in orders(search):
            for engine in engines(search.subnet):
                knobs = replace(search.start, placement=order, engine=engine, hash=hash_of(engine))
                made = search.built(knobs, wider)
                if made is None and wider:
                    break  # the uplinks cannot be had, whatever the engine
                if made is None:
                    continue
                if not _balanced(search, *made):
                    break
                if made[0] != search.start and search.reaches(made[1], made[0]).p5 >= search.target:
                    return made
    return None


def _balanced(search: _Search, knobs: Knobs, net: Net) -> bool:
    """Whether perfect balance reaches the target in this order; if not, no engine does, which is noted once."""
    bound, _ = search.even(net, knobs)
    if bound.p50 >= search.target - 1e-6:
        return True
    if knobs != search.start:
        search.note(knobs, None, "perfect balance would not reach it in this order", bound.p50)
    return False


def engines(subnet: Subnet) -> tuple[str, ...]:
    """The declared engine and the others that this subnet manager has."""
    first = subnet.routing.engines[0]
    others = [engine for engine in ENGINES if subnet.flavour == "nvidia" or not engine.startswith("ar_")]
    return (first, *(engine for engine in others if engine != first))


def engine_edits(subnet: Subnet, engine: str) -> tuple[Edit, ...]:
    """The edits that put an engine first; one that stands further behind changes places with the first."""
    now = subnet.routing.engines
    if engine == now[0]:
        return ()
    edits = [Edit((*_ROUTING, 0), now[0], engine)]
    if engine in now:
        edits.append(Edit((*_ROUTING, now.index(engine)), engine, now[0]))
    return tuple(edits)


def widenings(subnet: Subnet) -> list[tuple[Edit, ...]]:
    """More uplinks on the tiers that have fewer of them than downlinks, on one of them and on both, fewest first."""
    spec = subnet.spec.infiniband
    ratios = subnet.figures.oversubscription
    narrow = {
        tier: ratios[tier] for tier in ratios if ratios[tier] > 1 and getattr(spec, f"{tier}_uplinks") is not None
    }
    found: list[tuple[float, tuple[Edit, ...]]] = []
    for number in range(1, len(narrow) + 1):
        for tiers in combinations(narrow, number):
            most = max(narrow[tier] for tier in tiers)
            for factor in sorted({*FACTORS, *range(3, ceil(most)), most}):
                edits = tuple(_uplinks(subnet, tier, min(factor, narrow[tier])) for tier in tiers)
                found.append((factor * number, edits))
    kept = {edits: size for size, edits in reversed(found) if all(edit.after != edit.before for edit in edits)}
    return sorted(kept, key=lambda edits: kept[edits])


def _uplinks(subnet: Subnet, tier: str, factor: float) -> Edit:
    spec, key = subnet.spec.infiniband, f"{tier}_uplinks"
    now: int = getattr(spec, key)
    return Edit(("backend", key), now, ceil(round(now * factor, 6)))


def _tiers(wider: Sequence[Edit]) -> tuple[str, ...]:
    return tuple(str(edit.path[-1]).removesuffix("_uplinks") for edit in wider)
