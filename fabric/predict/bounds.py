"""Closed forms beside the walk: what placement and oversubscription allow, what hashing leaves, how many queue pairs are enough.

Formulas: docs/predict.md. Everything is exact arithmetic or a named approximation; no walk, no random number.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def oversubscription_bound(ratio: float, leaving: float) -> float:
    """Best norm (0 to 1) when the part `leaving` of a zone's flows leaves it over uplinks that are `ratio` : 1 oversubscribed."""
    return 1.0 if ratio * leaving <= 1 else 1.0 / (ratio * leaving)


def binomial_cdf(n: int, p: float) -> Floats:
    """F(0), F(1), ... of Binomial(n, p), up to where the rest is below 1e-14; at most n + 1 values."""
    if n <= 0 or p <= 0:
        return np.ones(1)
    if p >= 1:
        return np.concatenate([np.zeros(n), np.ones(1)])
    mean, spread = n * p, math.sqrt(n * p * (1 - p))
    top = min(n, int(mean + 12 * spread + 40))
    k = np.arange(top + 1, dtype=np.float64)
    steps = np.zeros(top + 1)
    steps[1:] = np.log((n - k[:-1]) / k[1:]) + math.log(p) - math.log1p(-p)
    found: Floats = np.cumsum(np.exp(n * math.log1p(-p) + np.cumsum(steps)))
    return np.minimum(1.0, found)


def largest_of(n: int, p: float, bins: int) -> int:
    """Median of the fullest of `bins` independent Binomial(n, p): the smallest k with F(k)^bins >= 1/2."""
    cdf = binomial_cdf(n, p)
    return int(np.searchsorted(cdf, 0.5 ** (1 / bins) if bins else 0.0))


def hashed_norm(flows: int, links: int, groups: int, subflows: int, *, both_ways: bool = True) -> float:
    """Median norm when each of `groups` switches hashes `flows` NICs' traffic, each in `subflows` parts, over `links` links of the NIC's rate.

    `both_ways`: the way down into each switch collides as the way up does.
    """
    bins = links * groups * (2 if both_ways else 1)
    fullest = largest_of(flows * subflows, 1 / links, bins)
    return min(1.0, subflows / fullest) if fullest else 1.0


def spread_of(links: int) -> float:
    """What stands as z below, for a tier of so many links: the median of the largest of as many standard normals."""
    return NormalDist().inv_cdf(0.5 ** (1 / max(links, 2)))


def gaussian_load(utilisation: float, subflows: int, z: float) -> float:
    """Load of the fullest link, in units of its rate: rho + z sqrt(rho / Q)."""
    return utilisation + z * math.sqrt(utilisation / subflows)


def queue_pairs_for(utilisation: float, z: float) -> int | None:
    """Subflows between two NICs from which the fullest link is not over full: Q >= z^2 rho / (1 - rho)^2. None: never, rho is 1 or more."""
    if utilisation >= 1:
        return None
    return max(1, math.ceil(z * z * utilisation / (1 - utilisation) ** 2))


def reachable_uplinks(first: int, second: int, parallel: int = 1) -> int:
    """Polarisation: second-tier uplinks of `second` that flows can take which came by one of `first` ports with the same hash, mod N.

    `parallel`: ports of the first tier that lead to one next hop. Equal to `second` when the sizes have no common divisor.
    """
    common = math.gcd(first, second)
    return second // common * min(parallel, common)


def fullest_link(expected: Floats, drawn_from: Floats, capacity: Floats, unit: float) -> float:
    """Median of the largest load over all links, in units of a link's rate, when every subflow chooses by itself.

    `expected`: subflows on each link on average; `drawn_from`: how many there are to choose it (binomial; large: Poisson); `unit`: the
    rate of one subflow and `capacity` in units of the NIC's rate. Links of one kind are reckoned once, so it is quick for any size.
    """
    keep = expected > 0
    if not keep.any():
        return 0.0
    rows = np.stack([np.round(expected[keep], 3), np.round(drawn_from[keep]), capacity[keep]], axis=1)
    kinds, counts = np.unique(rows, axis=0, return_counts=True)
    tables = [binomial_cdf(int(max(n, 1)), min(1.0, mean / max(n, 1))) for mean, n, _ in kinds]
    steps = np.unique(np.concatenate([np.arange(len(t)) * unit / c for t, c in zip(tables, kinds[:, 2], strict=True)]))

    def at_most(load: float) -> float:
        """Logarithm of the chance that no link has more."""
        found = 0.0
        for table, capacity_of, many in zip(tables, kinds[:, 2], counts, strict=True):
            k = int(load * capacity_of / unit + 1e-9)
            value = float(table[min(k, len(table) - 1)]) if k < len(table) else 1.0
            found += many * (math.log(value) if value > 0 else -math.inf)
        return found

    low, high = 0, len(steps) - 1
    while low < high:
        middle = (low + high) // 2
        if at_most(float(steps[middle])) >= math.log(0.5):
            high = middle
        else:
            low = middle + 1
    return float(steps[low])
