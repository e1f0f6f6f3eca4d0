"""Which tiers of a RoCE fabric hash alike: the one place that says so, for the warning of `fabric check` and for predictions."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

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
