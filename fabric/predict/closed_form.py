"""The closed form beside the walk: the median of the fullest link, when every subflow chooses by itself, from the mean load of each link."""

from __future__ import annotations

import numpy as np

from fabric.predict.bounds import fullest_link
from fabric.predict.net import Floats, Net
from fabric.predict.runs import Asked


def analytic(asked: Asked, spread: Floats) -> float | None:
    """Median norm (0 to 1) by the maximum of binomials. `spread`: mean load of each channel.

    None where it does not apply: several phases, flows of different size, paths that are no choice by hash, or one hash for all tiers.
    """
    policy = asked.policy()
    pattern, _, steps = asked.steps(0)
    if len(pattern.phases) != 1 or not asked.hashes(policy) or not policy.apart:
        return None
    weight = steps[0].phase.weight
    if not (weight == weight[0]).all():
        return None
    unit = float(weight[0]) / policy.paths
    between = (asked.net.source >= 0) & (asked.net.target >= 0)
    ends = float(np.max((spread / asked.net.capacity)[~between], initial=0.0))
    expected = spread[between] / unit
    drawn = _drawn_from(asked.net, between, expected)
    top = max(ends, fullest_link(expected, drawn, asked.net.capacity[between], unit))
    return min(1.0, 1.0 / top) if top > 0 else 1.0


def _drawn_from(net: Net, between: np.ndarray[tuple[int], np.dtype[np.bool_]], expected: Floats) -> Floats:
    """How many subflows chose each channel or another: those of its leaf; above that all of its tier, which is Poisson's limit."""
    source, target, tier = net.source[between], net.target[between], net.tier[between]
    many = len(net.switches)
    up, down = net.level[source] == 0, net.level[target] == 0
    by_source = np.bincount(source[up], expected[up], many)
    by_target = np.bincount(target[down], expected[down], many)
    drawn = np.bincount(tier, expected, len(net.tiers))[tier]
    drawn[up] = by_source[source[up]]
    drawn[down] = by_target[target[down]]
    return np.asarray(drawn)


def utilisation(net: Net, spread: Floats) -> tuple[float, int]:
    """(mean utilisation of the fullest tier between switches, its links): rho and m of the formula for queue pairs."""
    between = (net.source >= 0) & (net.target >= 0)
    load, tier = (spread / net.capacity)[between], net.tier[between]
    if not load.size:
        return 0.0, 0
    peaks = np.zeros(len(net.tiers))
    np.maximum.at(peaks, tier, load)
    fullest = int(peaks.argmax())
    return float(peaks[fullest]), int((tier == fullest).sum())
