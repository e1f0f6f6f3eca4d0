"""Answers on small fabrics: worked by hand where that can be done, and each loss named by its cause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from fabric.design.fabric import Fabric
from fabric.errors import FabricError
from fabric.predict.answer import predict
from fabric.predict.from_design import fabric_net
from fabric.predict.model import Case, Prediction
from fabric.predict.net import Net

SMALL = {"backend.zones": [{"id": "1-2", "racks": 6, "rack_profile": "grand-teton"}]}
CASE = Case("c", qps=16, seeds=5, sizes=(1 << 30, 1 << 36))


@pytest.fixture(scope="module")
def net(make_fabric: Callable[..., Fabric]) -> Net:
    """Two zones of 6 racks: 192 GPUs, 18 CTSWs a zone, 28 uplinks each."""
    return fabric_net(make_fabric("roce-24k", SMALL))


@pytest.fixture(scope="module")
def thin(make_fabric: Callable[..., Fabric]) -> Net:
    """The same with one uplink a CTSW: 18 links between the zones for 96 NICs."""
    changes = {**SMALL, "backend.ctsw.uplinks": 1, "backend.atsw.count": 1}
    return fabric_net(make_fabric("roce-24k", changes))


def left(found: Prediction) -> dict[str, float]:
    return {loss.step: loss.left for loss in found.waterfall}


def test_a_ring_worked_by_hand(net: Net) -> None:
    """12 racks of 2 hosts: 8 flows leave each rack over 18 uplinks, spread evenly 4/9 of a link; nothing else is loaded but NICs."""
    found = predict(net, replace(CASE, hash="spray"))
    assert found.reached.p50 == found.placement_bound == 100
    assert found.tiers["host up"] == found.tiers["rtsw down"] == 1
    assert found.tiers["rtsw up"] == found.tiers["ctsw down"] == pytest.approx(8 / 18)
    assert found.tiers["ctsw up"] == found.tiers["atsw down"] == pytest.approx(8 / 18 / 28)


def test_two_zones_and_one_uplink_worked_by_hand(thin: Net) -> None:
    """Every other host in the other zone: all 96 flows of a zone leave it over 18 links, so 18/96 of the rate is left."""
    zones = [thin.hosts[:12], thin.hosts[12:]]
    hosts = tuple(host for pair in zip(*zones, strict=True) for host in pair)
    found = predict(thin, replace(CASE, hash="spray", hosts=hosts, placement="given"))
    assert found.placement_bound == pytest.approx(100 * 18 / 96)
    assert left(found)["placement"] < 19 < left(found)["latency"]
    assert found.change is not None
    assert found.change.key == "placement"
    assert found.change.reached.p50 == 100
    ordered = predict(thin, replace(CASE, hash="spray"))
    assert ordered.reached.p50 == 100


def test_placement_that_is_right_already_wants_more_links(thin: Net) -> None:
    found = predict(thin, replace(CASE, hash="spray", collective="all_to_all"))
    assert found.change is not None
    assert (found.change.what, found.change.key) == (
        "twice the uplinks of each CTSW, if ports and growth allow",
        "backend.ctsw.uplinks",
    )
    assert found.change.reached.p50 > 1.5 * found.reached.p50


def test_hashing_is_named_and_more_queue_pairs_help(net: Net) -> None:
    found = predict(net, replace(CASE, hash="ecmp", seeds=10))
    assert found.reached.p5 <= found.reached.p50 <= found.reached.p95 < 60
    assert left(found)["placement"] - left(found)["hashing"] > 30
    assert left(found)["hashing"] == left(found)["polarisation"] == left(found)["failures"]
    assert found.change is not None
    assert found.change.key == "load_balancing.method, hosts.nccl.qps"
    assert found.change.reached.p50 > 90
    assert found.analytic is not None
    assert 1 / 1.5 < found.analytic / found.reached.p50 < 1.5


def test_polarisation_is_named(net: Net) -> None:
    """18 RTSW uplinks and 28 CTSW uplinks: common divisor 2, so half of the CTSWs' uplinks are never used."""
    case = replace(CASE, placement="random", seed_per_tier=False, qps=64)
    found = predict(net, case)
    assert found.analytic is None
    used = found.tiers["ctsw up"]
    apart = predict(net, replace(case, seed_per_tier=True)).tiers["ctsw up"]
    assert used > 1.3 * apart  # twice the mean; the chance on top grows less


def test_failures_are_named_with_what_they_take(net: Net) -> None:
    gone = tuple(f"z01-ctsw{number:02d}" for number in range(1, 13))
    found = predict(net, replace(CASE, failures=gone))
    assert left(found)["polarisation"] - left(found)["failures"] > 20
    assert found.placement_bound == pytest.approx(100 * 6 / 8)
    assert found.change is not None
    assert found.change.what == "repair z01-ctsw01, z01-ctsw02, z01-ctsw03, ..."
    assert found.change.key == "state"


def test_hot_links_have_names_and_rank_pairs(net: Net) -> None:
    found = predict(net, replace(CASE, hash="ecmp"), advice=False)
    top = found.hot[0]
    assert (top.tier, top.name.count(" -> "), top.name.count(":")) == ("rtsw up", 1, 2)
    assert top.load == max(found.tiers["rtsw up"], top.load) == top.flows
    for src, dst in top.pairs:
        assert dst == (src + 8) % 192
        assert src // 16 != dst // 16  # ranks of another rack
        assert top.name.startswith(f"z{1 + src // 96:02d}-rtsw{1 + src // 16 % 6:03d}:")


def test_points_keep_latency_and_congestion_apart(net: Net) -> None:
    found = predict(net, replace(CASE, hash="ecmp"), advice=False)
    small, large = found.points
    assert small.congestion_only == large.congestion_only == found.reached
    assert small.latency_only < large.latency_only < 100
    for point in found.points:
        assert point.reached.p50 < min(point.latency_only, point.congestion_only.p50)
    slower = predict(net, replace(CASE, hash="ecmp"), advice=False, scale=2.0).points
    assert all(now.reached.p50 < was.reached.p50 for now, was in zip(slower, found.points, strict=True))


@pytest.mark.parametrize("collective", ["all_reduce", "reduce_scatter", "all_to_all", "send_recv"])
def test_every_collective_has_an_answer_with_a_spread(net: Net, collective: str) -> None:
    found = predict(net, replace(CASE, collective=collective, seeds=3), advice=False)  # type: ignore[arg-type]
    assert 20 < found.reached.p5 <= found.reached.p50 <= found.reached.p95 <= 100 >= found.placement_bound
    assert "measured values lie below" in found.bias
    steps = [loss.left for loss in found.waterfall]
    assert steps == sorted(steps, reverse=True)


def test_pinned_paths_collide_nowhere(net: Net) -> None:
    assert predict(net, replace(CASE, hash="pinned", placement="zone"), advice=False).reached.p5 == 100


def test_the_same_question_has_the_same_answer(net: Net) -> None:
    case = replace(CASE, placement="random", hash="ecmp")
    assert predict(net, case) == predict(net, case)


def test_latency_alone_wants_another_algorithm(net: Net) -> None:
    found = predict(net, replace(CASE, hash="spray", collective="all_reduce", sizes=(1 << 24,)))
    assert found.change is not None
    assert found.change.what == "algorithm tree: fewer steps, less latency"
    assert np.isfinite(found.change.reached.p50)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"sizes": (0,)}, "c: a message of 0 bytes moves nothing (hint: sizes from 1 byte on, 1G)"),
        ({"seeds": 0}, "c: 0 seeds: 1 to 1000 (hint: 20 give a spread)"),
        ({"qps": 0}, "c: 0 queue pairs: 1 to 128 (hint: NCCL_IB_QPS_PER_CONNECTION is at most 128)"),
        ({"qps": 129}, "c: 129 queue pairs: 1 to 128 (hint: NCCL_IB_QPS_PER_CONNECTION is at most 128)"),
        ({"channels": 33}, "c: 33 channels: 1 to 32 (hint: 1 or a few a NIC)"),
        ({"failures": ("z01-ctsw1",)}, "failure 'z01-ctsw1': there is no switch 'z01-ctsw1' (hint: did you mean 'z01-ctsw18'?)"),
    ],
)  # fmt: skip
def test_cases_that_cannot_be(net: Net, changes: dict[str, object], text: str) -> None:
    with pytest.raises(FabricError) as raised:
        predict(net, replace(CASE, **changes))  # type: ignore[arg-type]
    assert str(raised.value) == text
