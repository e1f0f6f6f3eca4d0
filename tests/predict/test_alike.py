"""Which tiers hash alike: one answer for the warning of `fabric check`, for the walk and for what `fabric tune` turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.design.alike import hashing_alike, seed_groups
from fabric.design.fabric import Fabric
from fabric.design.load import load_spec
from fabric.design.warnings import warnings
from fabric.predict.answer import predict
from fabric.predict.cases import read_cases
from fabric.predict.from_design import fabric_net
from fabric.predict.model import alike_text
from fabric.predict.source import declared

ZONES = {"backend.zones": [{"id": "1-2", "racks": 6, "rack_profile": "grand-teton"}]}
RC, CA = ("rtsw", "ctsw"), ("ctsw", "atsw")


@pytest.mark.parametrize(
    ("seeds", "groups", "pairs", "said"),
    [
        ((1, 2, 3), (), {CA: "unknown"}, ""),
        ((1, 2, 2), (1, 2, 2), {CA: "declared"}, "ctsw and atsw hash alike"),
        ((5, 5, 6), (1, 1, 3), {RC: "declared", CA: "unknown"}, "rtsw and ctsw hash alike"),
        ((4, 9, 4), (1, 2, 1), {CA: "unknown"}, "rtsw and atsw hash alike"),
        ((7, 7, 7), (1, 1, 1), {RC: "declared", CA: "declared"}, "one hash seed for all tiers"),
    ],
)
def test_one_answer_for_the_check_and_the_walk(
    make_fabric: Callable[..., Fabric],
    seeds: tuple[int, ...],
    groups: tuple[int, ...],
    pairs: dict[object, str],
    said: str,
) -> None:
    """RTSWs are of FBOSS, CTSWs and ATSWs of EOS; 18, 28 and 18 members share the divisor 2 at both borders."""
    made = make_fabric(
        "roce-24k", {**ZONES, "load_balancing.seeds": dict(zip(("rtsw", "ctsw", "atsw"), seeds, strict=True))}
    )
    assert hashing_alike(made.spec) == pairs
    assert sum(remark.code == "polarisation" for remark in warnings(made)) == len(pairs)
    case = declared(made.spec)
    assert (seed_groups(made.spec), case.seed_groups, case.seed_per_tier) == (groups, groups, not groups)
    assert alike_text(case.seed_per_tier, case.seed_groups) == said


def test_only_tiers_of_one_seed_choose_alike(make_fabric: Callable[..., Fabric]) -> None:
    """Half of the CTSWs' uplinks are out of reach only where RTSWs and CTSWs share the seed, half of the ATSWs' ports down only where
    CTSWs and ATSWs do.
    """
    net = fabric_net(make_fabric("roce-24k", ZONES))
    base = declared(make_fabric("roce-24k", ZONES).spec)
    case = replace(base, qps=64, seeds=3, placement="random", seed_per_tier=False, sizes=(1 << 30,))

    def busiest(*groups: int) -> tuple[float, float]:
        found = predict(net, replace(case, seed_groups=groups), advice=False).tiers
        return found["ctsw up"], found["atsw down"]

    apart = predict(net, replace(case, seed_per_tier=True), advice=False).tiers
    lower, upper, whole = busiest(1, 1, 3), busiest(1, 2, 2), busiest(1, 1, 1)
    assert lower[0] == pytest.approx(whole[0], rel=0.2)
    assert upper[0] < 1.15 * apart["ctsw up"] < lower[0]
    assert upper[1] > 1.2 * apart["atsw down"]
    assert whole == busiest()


def test_cases_take_the_spec_s_tiers_unless_they_say_otherwise(spec_file: Callable[..., Path]) -> None:
    spec = spec_file("roce-24k", {**ZONES, "load_balancing.seeds": {"rtsw": 1, "ctsw": 2, "atsw": 2}})
    file = spec.parent / "cases.yaml"
    file.write_text("cases: [{name: a}, {name: b, seed_per_tier: true}, {name: c, seed_per_tier: false}]\n")
    found = read_cases(file, declared(load_spec(spec).value))
    assert [(one.seed_per_tier, one.seed_groups) for one in found] == [(False, (1, 2, 2)), (True, ()), (False, ())]
