"""NCCL's latency at the sizes of the clusters, and what is left of bandwidth on a perfect fabric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabric.predict.flows import sent_bytes
from fabric.predict.latency import Clock, wires
from fabric.predict.model import Case

CASE = Case("c")
TREE = replace(CASE, collective="all_reduce", algorithm="tree")


@pytest.mark.parametrize(
    ("case", "gpus", "protocol", "ms"),
    [
        (CASE, 256, "Simple", 1.2), (CASE, 3072, "Simple", 14.5), (CASE, 24_576, "Simple", 116), (CASE, 24_576, "LL", 21),
        (TREE, 24_576, "Simple", 0.39),
    ],
)  # fmt: skip
def test_alpha(case: Case, gpus: int, protocol: str, ms: float) -> None:
    found = {wire.protocol: wire.alpha_s for wire in wires(case, gpus // 8, 8, 1)}
    assert 1000 * found[protocol] == pytest.approx(ms, rel=0.015)


@pytest.mark.parametrize(
    ("megabytes", "percent", "protocol"), [(1024, 8, "LL"), (16_384, 42, "LL128"), (524_288, 92, "Simple")]
)
def test_a_flat_ring_of_24576_on_a_perfect_fabric(megabytes: int, percent: int, protocol: str) -> None:
    clock = Clock(wires(CASE, 3072, 8, 1), 400)
    sent = sent_bytes(CASE, megabytes * 1_000_000, 3072, 8)
    assert round(float(clock.reached(sent, np.ones(1))[0])) == percent
    assert clock.fastest(sent, 1.0).protocol == protocol


def test_half_of_the_rate_needs_46_gigabytes_by_simple() -> None:
    simple = tuple(wire for wire in wires(CASE, 3072, 8, 1) if wire.protocol == "Simple")
    sent = sent_bytes(CASE, 46_450_000_000, 3072, 8)
    assert Clock(simple, 400).reached(sent, np.ones(1))[0] == pytest.approx(50, abs=0.1)


def test_more_steps_take_longer_and_calibration_scales() -> None:
    two_way = replace(CASE, collective="all_reduce")
    base, twice = (wires(case, 64, 8, 1)[0].alpha_s for case in (CASE, two_way))
    assert 1.9 * base < twice < 2 * base
    assert wires(CASE, 64, 8, 1, 0.5)[0].alpha_s == pytest.approx(base / 2)
    recursive = replace(CASE, algorithm="recursive")
    assert wires(recursive, 64, 8, 6)[0].alpha_s == pytest.approx((8.4 + 7 * 3.4 + 6 * 14) * 1e-6)
    assert [wire.protocol for wire in wires(replace(CASE, collective="send_recv"), 64, 8, 1)] == ["Simple"]
