"""The theory's table on its own geometry, with few seeds: every figure is inside the range that the theory gives.

`python -m tests.predict.geometry` walks the whole of it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fabric.predict.answer import predict
from fabric.predict.model import Case
from tests.predict import geometry

ROWS = {row.case.name: row for row in geometry.TABLE}
SHORT = [
    ("small, plain ECMP", "16", 10), ("small, 16 QP", "16", 5), ("small, 16 QP", "32", 2), ("in zones, ECMP", "16", 2),
    ("rack order, ECMP", "16", 3), ("rack order, 16 QP", "16", 1), ("rack order, 16 QP", "18", 1), ("rack order, 16 QP", "32", 1),
    ("tree, rack order, 16 QP", "16", 1), ("random, 16 QP, one seed", "32", 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "column", "seeds"), SHORT)
def test_a_figure_of_the_table(name: str, column: str, seeds: int) -> None:
    mean, low, high = ROWS[name].expected[column]
    found = predict(geometry.net(column), replace(ROWS[name].case, seeds=seeds), advice=False)
    spread = max(1.0, 0.12 * mean)  # of a mean over 20 seeds, by a few
    assert (mean - spread if low is None else low) <= found.reached.p50 <= (mean + spread if high is None else high)
    if found.analytic is not None:
        fullest, by_lot = 100 / found.analytic, 100 / found.reached.p50
        step = 1 / ROWS[name].case.subflows  # the least that they can differ by
        assert abs(fullest - by_lot) <= max(step, 0.15 * by_lot)


@pytest.mark.parametrize(("case", "mean"), geometry.FURTHER[:1], ids=lambda value: getattr(value, "name", None))
def test_recursive_doubling(case: Case, mean: float) -> None:
    found = predict(geometry.net("16"), replace(case, seeds=1), advice=False)
    assert found.reached.p50 == pytest.approx(mean, rel=0.05)


@pytest.mark.parametrize(("name", "zones", "shuffled", "mean", "bound"), [geometry.PARTS[2]])
def test_a_part_of_the_cluster(name: str, zones: int, shuffled: str, mean: float, bound: float) -> None:
    found = predict(geometry.net("16"), replace(geometry.part(name, zones, shuffled), seeds=1), advice=False)
    assert found.reached.p50 == pytest.approx(mean, rel=0.06)
    assert found.placement_bound == pytest.approx(bound, rel=0.03)
