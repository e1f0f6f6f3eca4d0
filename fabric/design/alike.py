"""Which tiers of a RoCE fabric hash alike: the one place that says so, for the warning of `fabric check` and for predictions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import gcd
from typing import Literal

from fabric.design.fabric import Fabric
from fabric.spec.cluster import ClusterSpec

Tier = Literal["rtsw", "ctsw", "atsw"]
Why = Literal["declared", "unknown"]
TIERS: tuple[Tier, ...] = ("rtsw", "ctsw", "atsw")


def hashing_alike(spec: ClusterSpec) -> dict[tuple[Tier, Tier], Why]:
    """Neighbouring tiers (lower, upper) that hash alike, or may: `declared` = by an equal seed, `unknown` = both are of EOS.

    EOS has no evidenced command for a hash seed, and nothing published says whether its boxes have the same one. So nothing is
    predicted of two such tiers with different seeds, but it is said. Equal seeds count as the declaration that they hash alike.
    """
    if spec.roce.ctsw is None or spec.roce.atsw is None:
        return {}
    found: dict[tuple[Tier, Tier], Why] = {}
    for lower, upper in pairwise(TIERS):
        if _seed(spec, lower) == _seed(spec, upper):
            found[lower, upper] = "declared"
        elif of_eos(spec, lower) and of_eos(spec, upper):
            found[lower, upper] = "unknown"
    return found


@dataclass(frozen=True, slots=True)
class Polarised:
    """Two neighbouring tiers that hash alike, or may, over group sizes with a divisor in common: `shared`, of the upper tier's `width`."""

    lower: Tier
    upper: Tier
    why: Why
    sizes: tuple[tuple[int, ...], tuple[int, ...]]
    shared: int
    width: int

    @property
    def left(self) -> float:
        """Percent of what could cross the upper tier that is left."""
        return 100 / self.shared


def polarised(fabric: Fabric) -> list[Polarised]:
    """The pairs of `hashing_alike` where it costs something: the same remainder of the same hash chooses the same members again."""
    backend = fabric.spec.roce
    if backend.ctsw is None or backend.atsw is None:
        return []
    uplinks = {plan.profile.uplinks for plan in fabric.zones.values()}
    parallel = backend.ctsw.uplinks // backend.atsw.count
    groups: dict[Tier, set[int]] = {
        "rtsw": uplinks,
        "ctsw": {backend.ctsw.uplinks},
        "atsw": {parallel * (value // backend.atsw.planes) for value in uplinks},
    }
    found = []
    for (lower, upper), why in hashing_alike(fabric.spec).items():
        shared, width = max((gcd(a, b), b) for a in groups[lower] for b in groups[upper])
        if shared > 1:
            sizes = tuple(sorted(groups[lower])), tuple(sorted(groups[upper]))
            found.append(Polarised(lower, upper, why, sizes, shared, width))
    return found


def seed_groups(spec: ClusterSpec) -> tuple[int, ...]:
    """For each tier from the RTSWs up a number, equal for tiers of an equal declared seed; empty when all of them differ."""
    if spec.roce.ctsw is None or spec.roce.atsw is None:
        return ()
    seeds = [_seed(spec, tier) for tier in TIERS]
    groups = tuple(seeds.index(seed) + 1 for seed in seeds)
    return groups if len(set(groups)) < len(groups) else ()


def of_eos(spec: ClusterSpec, tier: Tier) -> bool:
    """Whether a tier has boxes of EOS, which take no hash seed."""
    roce = spec.roce
    if tier == "rtsw":
        return any(roce.rack_profiles[zone.rack_profile].nos == "eos" for zone in roce.zones)
    box = roce.ctsw if tier == "ctsw" else roce.atsw
    return box is not None and box.nos == "eos"


def _seed(spec: ClusterSpec, tier: Tier) -> int:
    found: int = getattr(spec.load_balancing.seeds, tier)
    return found
