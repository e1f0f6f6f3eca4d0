"""What is searched, from cheap to dear; what a change costs; where it stands in the spec."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fabric.design.build import design
from fabric.design.fabric import Fabric
from fabric.errors import FabricError
from fabric.predict import source
from fabric.predict.from_design import fabric_net
from fabric.predict.knobs import (
    Cost,
    Edit,
    Knobs,
    Wider,
    cost,
    declared,
    edits_of,
    flow_steps,
    groups_apart,
    seed_edits,
    widenings,
)
from fabric.predict.model import Case, Placement
from fabric.predict.net import Net
from fabric.predict.trials import Tuning
from fabric.predict.tune import PINNED, hopeless, tune
from fabric.spec.cluster import ClusterSpec
from tests.conftest import edited

ZONES = {"backend.zones": [{"id": "1-2", "racks": 16, "rack_profile": "grand-teton"}]}
CORE = {"backend.ctsw.uplinks": 4, "backend.atsw.count": 4}
RACK = "backend.rack_profiles.grand-teton.uplinks"
QPS = ("hosts", "nccl", "qps")
NARROW = {**CORE, RACK: 6}
WIDE = {RACK: 16, "backend.ctsw.uplinks": 32, "backend.atsw.count": 32}


def fabric(changes: dict[str, Any]) -> Fabric:
    """Two zones of 16 racks, changed."""
    return design(ClusterSpec.model_validate(edited("roce-24k", {**ZONES, **changes})))


def tuned(changes: dict[str, Any], placement: Placement, target: float = 90, **more: Any) -> Tuning:
    made = fabric(changes)

    def build(wider: Wider) -> Net:
        return fabric_net(fabric({**changes, **{".".join(map(str, edit.path)): edit.after for edit in wider.edits}}))

    start = declared(made, placement=placement)
    return tune(made, fabric_net(made), Case("job", seeds=10), start, target=target, build=build, **more)


@pytest.mark.parametrize(
    ("changes", "placement", "target", "edits", "by_hand"),
    [
        pytest.param(CORE, "rack", 40, {}, False, id="declared"),
        pytest.param(CORE, "rack", 90, {QPS: 32}, False, id="queue pairs"),
        pytest.param(CORE, "random", 90, {QPS: 32}, True, id="order of ranks"),
        pytest.param(
            {**CORE, "load_balancing.method": "ecmp"}, "rack", 60, {QPS: 8, ("load_balancing", "method"): "e-ecmp"}, False, id="method",
        ),
        pytest.param(
            {**WIDE, "load_balancing.seeds": {"rtsw": 1, "ctsw": 1, "atsw": 2}}, "random", 40,
            {QPS: 8, ("load_balancing", "seeds", "rtsw"): 3}, False, id="seeds",
        ),
        pytest.param(
            NARROW, "rack", 80, {("backend", "rack_profiles", "grand-teton", "uplinks"): 8, QPS: 128}, True, id="uplinks, channels",
        ),
    ],
)  # fmt: skip
def test_the_cheapest_that_reaches_it(
    changes: dict[str, Any], placement: Placement, target: float, edits: dict[tuple[str, ...], object], by_hand: bool
) -> None:
    found = tuned(changes, placement, target)
    assert {edit.path: edit.after for edit in found.edits} == edits
    assert (found.by_hand != ()) == by_hand
    assert found.after is not None
    assert found.after.reached.p5 >= target
    assert found.done == (not edits)
    assert all(one.reached.p5 < target for one in found.tried[:-3] if one.reached and one.cost < found.best.cost)


def test_nothing_reaches_it() -> None:
    found = tuned(NARROW, "rack", 90, most_qps=8)
    assert (found.chosen, found.after, found.edits) == (None, None, ())
    assert found.best.knobs.hash != "pinned"
    assert found.best.reached is not None
    reached = [one.reached.p5 for one in found.tried if one.reached and one.knobs.hash != "pinned"]
    assert max(reached) == found.best.reached.p5
    assert {one.said for one in found.tried} >= {
        "as declared", "perfect balance would not reach it in this order", "falls short, and more flows would not be enough",
        PINNED,
    }  # fmt: skip


def test_what_cannot_be_built_is_told() -> None:
    found = tuned({**NARROW, "backend.growth.uplinks": 6}, "rack", 90)
    said = [one.said for one in found.tried if one.knobs.wider]
    assert said == [
        "cannot be built: 7 uplinks exceed the 6 that backend.growth.uplinks keeps room for"
    ]  # more is not asked for


def test_costs_are_compared_from_the_dearest_down() -> None:
    start = Knobs("ecmp", 4, 1, "random", seed_per_tier=False)
    wide = Wider(("rtsw",), (), 10, 1)
    dearer = [
        start,
        replace(start, hash="e-ecmp"),
        replace(start, qps=8),
        replace(start, qps=128, hash="e-ecmp", seed_per_tier=True),
        replace(start, channels=2),
        replace(start, placement="rack"),
        replace(start, wider=wide),
    ]
    costs = [cost(start, knobs) for knobs in dearer]
    assert costs == sorted(costs)
    assert len(set(costs)) == len(costs)
    assert [one.text for one in costs[:3]] == ["nothing", "1 free setting", "2 times the queue pairs"]
    assert costs[-1].text == "10 cables"
    assert cost(start, replace(start, hash="pinned")) == Cost()


@pytest.mark.parametrize(
    ("qps", "channels", "most", "steps"),
    [
        (4, 1, 16, [(4, 1), (8, 1), (16, 1), (16, 2), (16, 4)]),
        (3, 2, 8, [(3, 2), (4, 2), (8, 2), (8, 4), (8, 8)]),
        (16, 1, 8, [(16, 1), (16, 2), (16, 4)]),
        (100, 1, 128, [(100, 1), (128, 1), (128, 2), (128, 4)]),
        (16, 16, 16, [(16, 16), (16, 32)]),
    ],
)
def test_flows_grow(qps: int, channels: int, most: int, steps: list[tuple[int, int]]) -> None:
    assert flow_steps(Knobs("e-ecmp", qps, channels, "rack", seed_per_tier=True), most) == steps


def test_uplinks_grow_with_a_coprime_number_among_them() -> None:
    made = fabric({RACK: 16, "backend.ctsw.uplinks": 28, "backend.atsw.count": 28})
    found = widenings(made, {"rtsw"})
    uplinks = [int(edit.after) for wider in found for edit in wider.edits]
    assert uplinks == [17, 18, 20, 24, 28, 32]
    assert [wider.cables for wider in found] == [(many - 16) * 2 * (16 + 28) for many in uplinks]
    assert [wider.switches for wider in found] == [2 * (many - 16) for many in uplinks]  # a CTSW in each of two zones
    core = widenings(made, {"ctsw", "host"})
    assert [tuple(edit.after for edit in wider.edits) for wider in core][:2] == [(29, 29), (32, 32)]
    both = widenings(made, {"rtsw", "ctsw"})
    assert {wider.tiers for wider in both} == {("rtsw",), ("ctsw",), ("rtsw", "ctsw")}
    assert len(both) == 18
    assert [wider.cables for wider in both] == sorted(wider.cables for wider in both)
    assert {wider.tiers for wider in widenings(made, (), alike=True)} == {("rtsw",), ("ctsw",)}
    assert widenings(made, {"host"}) == []


def test_seeds_are_told_apart_where_a_command_exists() -> None:
    alike = {"load_balancing.seeds": {"rtsw": 7, "ctsw": 7, "atsw": 7}}
    made = fabric(alike)  # CTSW and ATSW are both of EOS
    assert declared(made).seeding == (False, (1, 1, 1))
    assert groups_apart(made) == (1, 2, 2)
    lower = fabric({"load_balancing.seeds": {"rtsw": 7, "ctsw": 7, "atsw": 3}})
    assert groups_apart(lower) == ()
    assert seed_edits(lower) == (Edit(("load_balancing", "seeds", "rtsw"), 7, 1),)
    assert seed_edits(fabric({})) == ()


@pytest.mark.parametrize(
    ("changes", "order"),
    [
        ({}, "rack"),
        ({"scheduler": None}, "random"),
        ({"scheduler": {"kind": "slurm", "parameters": ["TopoOptional"]}}, "zone"),
        ({"scheduler": {"kind": "slurm", "topology": "block", "parameters": ["BlockAsNodeRank"]}}, "rack"),
    ],
)
def test_the_order_by_the_scheduler(changes: dict[str, Any], order: str) -> None:
    assert declared(fabric(changes)).placement == order


def test_queue_pairs_of_overrides_are_changed_where_they_stand() -> None:
    made = fabric({"hosts.nccl": {"overrides": {"NCCL_IB_QPS_PER_CONNECTION": "2"}}})
    start = declared(made)
    assert start.qps == 2
    path = ("hosts", "nccl", "overrides", "NCCL_IB_QPS_PER_CONNECTION")
    assert edits_of(made, start, replace(start, qps=16)) == (Edit(path, "2", "16"),)


@pytest.mark.parametrize(
    "changes",
    [{}, {"hosts.nccl": {"overrides": {"NCCL_IB_QPS_PER_CONNECTION": "8"}}}]
    + [{"load_balancing.seeds": {"rtsw": r, "ctsw": c, "atsw": a}} for r, c, a in [(1, 1, 2), (1, 2, 2), (1, 2, 1)]],
)
def test_predict_and_tune_begin_at_the_same_setting(changes: dict[str, object]) -> None:
    made = fabric(changes)
    asked = source.declared(made.spec)
    assert declared(made, placement="rack").of(asked) == asked


@pytest.mark.parametrize(
    ("reached", "rho", "flows", "most", "lost"),
    [
        (50, 0.5, 4, 128, False),  # 0.5 + 1.5 / sqrt(32) = 0.77
        (20, 1.0, 16, 128, True),  # 1 + 4 / sqrt(8) = 2.4
        (80, 1.0, 16, 16, True),
        (100, 0.0, 1, 1, False),
        (0, 1.0, 1, 4, True),
    ],
)
def test_hopeless(reached: float, rho: float, flows: int, most: int, lost: bool) -> None:
    assert hopeless(reached, rho, flows, most, 90) == lost


def test_a_job_that_cannot_be(make_fabric: Callable[..., Fabric]) -> None:
    made = make_fabric("lab")
    with pytest.raises(FabricError, match="GPUs"):
        tune(
            made,
            fabric_net(made),
            Case("x", gpus=100_000),
            declared(made),
            target=90,
            build=lambda _wider: fabric_net(made),
        )


def test_without_a_seed_to_set_a_coprime_number_of_uplinks_removes_polarisation() -> None:
    """CTSWs and ATSWs are both of EOS and hash alike; the job's order is fixed and crosses the core at every step."""
    changes = {**WIDE, "load_balancing.seeds": {"rtsw": 1, "ctsw": 2, "atsw": 2}}
    made = fabric(changes)

    def build(wider: Wider) -> Net:
        return fabric_net(fabric({**changes, **{".".join(map(str, edit.path)): edit.after for edit in wider.edits}}))

    hosts = tuple(f"z0{1 + number % 2}-r{1 + number // 2:03}-h1" for number in range(32))
    case = Case("job", seeds=6, hosts=hosts, placement="given")
    start = replace(declared(made), placement="given")
    found = tune(made, fabric_net(made), case, start, target=60, build=build)

    assert {edit.path: edit.after for edit in found.edits}[("backend", "rack_profiles", "grand-teton", "uplinks")] == 17


@pytest.mark.parametrize("core", [{"backend.ctsw": None}, {"backend.ctsw.uplinks": 0}])
def test_without_a_tier_of_atsws(core: dict[str, Any]) -> None:
    zone = [{"id": 1, "racks": 1 if core.get("backend.ctsw", 1) is None else 4, "rack_profile": "grand-teton"}]
    made = fabric({"backend.zones": zone, "backend.atsw": None, "load_balancing.method": "ecmp", RACK: 9, **core})
    found = tune(
        made,
        fabric_net(made),
        Case("x", seeds=5),
        declared(made),
        target=99,
        build=lambda _wider: fabric_net(made),
        most_qps=8,
    )
    assert found.before.gpus == 16 * made.zones[1].racks
    assert found.done == (core == {"backend.ctsw": None})
    assert {edit.path[:2] for one in found.tried if one.knobs.wider for edit in one.knobs.wider.edits} <= {
        ("backend", "rack_profiles")
    }
