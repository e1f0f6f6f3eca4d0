"""The closed forms against the tables of the theory and against drawing by lot."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fabric.predict import bounds

TABLE = [  # flows that leave, links, switches, subflows: median norm in %, Monte Carlo %
    (8, 16, 1536, 1, 20, 20.7), (8, 16, 1536, 4, 40, 42.9), (8, 16, 1536, 16, 73, 77.9), (8, 16, 1536, 64, 100, 100),
    (16, 16, 1536, 1, 14, 14.9), (16, 16, 1536, 16, 47, 46.1), (16, 16, 1536, 64, 65, 66.0),
    (8, 32, 1536, 1, 25, 24.7), (8, 32, 1536, 4, 57, 52.7), (8, 32, 1536, 16, 100, 99.1),
    (2688, 448, 8, 1, 5.9, 5.8), (2688, 448, 8, 4, 9.1, 9.0), (2688, 448, 8, 16, 11.9, 11.9), (2688, 448, 8, 64, 13.9, 14.0),
]  # fmt: skip


@pytest.mark.parametrize(("flows", "links", "groups", "subflows", "median", "drawn"), TABLE)
def test_the_maximum_of_binomials(
    flows: int, links: int, groups: int, subflows: int, median: float, drawn: float
) -> None:
    found = 100 * bounds.hashed_norm(flows, links, groups, subflows)
    assert found == pytest.approx(median, abs=0.5)
    assert found == pytest.approx(drawn, rel=0.1)


def test_the_maximum_of_binomials_as_drawn_by_lot() -> None:
    lot = np.random.default_rng(7)
    for n, bins in ((32, 16), (500, 40)):
        drawn = np.median([lot.binomial(n, 1 / bins, 3 * bins).max() for _ in range(400)])
        assert abs(bounds.largest_of(n, 1 / bins, 3 * bins) - drawn) <= 1


def test_a_cdf_is_exact() -> None:
    exact = np.cumsum([math.comb(12, k) * 0.3**k * 0.7 ** (12 - k) for k in range(13)])
    assert bounds.binomial_cdf(12, 0.3) == pytest.approx(exact)
    assert bounds.binomial_cdf(3, 1.0).tolist() == [0, 0, 0, 1]
    assert bounds.binomial_cdf(0, 0.3).tolist() == [1]


@pytest.mark.parametrize(("rho", "pairs"), [(0.25, 8), (0.37, 16), (0.5, 34), (0.75, 202), (1.0, None)])
def test_queue_pairs_that_are_enough(rho: float, pairs: int | None) -> None:
    assert bounds.queue_pairs_for(rho, 4.1) == pairs
    if pairs:
        assert bounds.gaussian_load(rho, pairs, 4.1) <= 1 < bounds.gaussian_load(rho, pairs - 1, 4.1)


@pytest.mark.parametrize(("links", "z"), [(50_000, 4.1), (7000, 3.6), (512, 3.1)])
def test_z_of_a_tier(links: int, z: float) -> None:
    assert bounds.spread_of(links) == pytest.approx(z, abs=0.13)  # the theory rounds it


def test_oversubscription() -> None:
    assert bounds.oversubscription_bound(48 / 7, 7 / 8) == pytest.approx(1 / 6)
    assert bounds.oversubscription_bound(48 / 7, 8 / 3072) == 1
    assert bounds.oversubscription_bound(48 / 7, 7 / 48) == 1


@pytest.mark.parametrize(("first", "second", "parallel", "left"), [(16, 28, 1, 7), (32, 28, 2, 14), (18, 25, 1, 25)])
def test_polarisation(first: int, second: int, parallel: int, left: int) -> None:
    assert bounds.reachable_uplinks(first, second, parallel) == left
    ports = first * 100  # the formula against every hash value there is
    value = np.arange(ports * second)
    seen = {int(h % second) for h in value[value % first < parallel]}
    assert len(seen) == left


def test_links_of_several_kinds() -> None:
    one = bounds.fullest_link(np.full(49_152, 8.0), np.full(49_152, 128.0), np.ones(49_152), 1 / 16)
    assert one == 1 / bounds.hashed_norm(8, 16, 1536, 16)
    more = bounds.fullest_link(
        np.concatenate([np.full(49_152, 8.0), np.full(10, 40.0)]), np.full(49_162, 128.0), np.ones(49_162), 1 / 16
    )
    assert more > one
    assert bounds.fullest_link(np.zeros(3), np.ones(3), np.ones(3), 1.0) == 0
