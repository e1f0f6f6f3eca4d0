"""Warnings of `fabric check` that cost bandwidth: closed forms against those of the predictor, and when each is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.design.load import load_cluster, load_subnet
from fabric.predict import bounds
from fabric.predict.lints import hashed_norm, in_order, lints, pairs_for_full_rate

ROOT = Path(__file__).resolve().parents[2]
SPEC_FILE = Callable[..., Path]
BLOCK = {"kind": "slurm", "topology": "block"}


@pytest.mark.parametrize(
    ("flows", "links", "groups"), [(8, 16, 1536), (16, 16, 1536), (8, 18, 1536), (8, 32, 64), (8, 1, 4)]
)
@pytest.mark.parametrize("subflows", [1, 4, 16, 64])
def test_closed_forms_are_those_of_the_predictor(flows: int, links: int, groups: int, subflows: int) -> None:
    assert hashed_norm(flows, links, groups, subflows) == pytest.approx(
        bounds.hashed_norm(flows, links, groups, subflows)
    )
    load = flows / links
    assert pairs_for_full_rate(load, links * groups) == bounds.queue_pairs_for(load, bounds.spread_of(links * groups))


@pytest.mark.parametrize(
    ("links", "subflows", "expected"), [(16, 1, 20), (16, 4, 40), (16, 16, 73), (16, 64, 100), (32, 16, 100)]
)
def test_the_table_of_the_theory(links: int, subflows: int, expected: int) -> None:
    """performance-model.md, section 2: a rack-ordered ring, eight flows leave each of 1,536 racks."""
    assert 100 * hashed_norm(8, links, 1536, subflows) == pytest.approx(expected, abs=1)


@pytest.mark.parametrize(
    ("pattern", "sure"),
    [
        ("z{zone:02d}-r{rack:03d}-h{unit:d}", True),
        ("{site}-{zone}-{rack}-{unit}", True),
        ("h{unit}-z{zone}-r{rack}", False),
        ("z{zone}{rack}-{unit}", False),
        ("z{zone}-r{rack:x}-h{unit}", False),
        ("z{zone}-r{rack}-h{unit}0", False),
    ],
)
def test_patterns_that_sort_as_the_fabric_stands(pattern: str, sure: bool) -> None:
    assert in_order(pattern, "dc1") is sure


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({}, None, ""),
        (
            {"naming": {"host": "h{unit}-z{zone:02d}-r{rack:03d}"}},
            "rank-names",
            "by name, a ring goes from zone to zone 4 times instead of 2",
        ),
        (
            {"naming": {"host": "z{zone:02d}-h{unit}-r{rack:03d}"}},
            "rank-names",
            "a ring goes from rack to rack 8 times instead of 4",
        ),
        ({"naming": {"host": "z{zone}{rack:03d}-{unit}"}}, None, ""),  # not sure by its form, but it does sort
        (
            {"scheduler": {**BLOCK, "block_sizes": [4, 16]}},
            "block-size",
            "a block of 16 hosts is never free: the cluster has 8",
        ),
        (
            {"scheduler": {**BLOCK, "block_sizes": [3, 6]}},
            "block-size",
            "1 host of the 4 of zone01 is beyond whole blocks of 3: 25 % of",
        ),
        ({"scheduler": BLOCK}, None, ""),
    ],
)
def test_when_it_is_said(changes: dict[str, Any], code: str | None, said: str, spec_file: SPEC_FILE) -> None:
    found = lints(load_cluster(spec_file("lab", changes)))
    assert [remark.code for remark in found] == ([code] if code else [])
    assert all(said in remark.message for remark in found)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"hosts.nccl": {"qps": 16}},
            "then reaches about 80 % of line rate (closed form, median; measured lies below); 26 would reach all of it; "
            "nothing published goes beyond 16",
        ),
        ({"hosts.nccl": {"qps": 32}}, ""),
        (
            {"hosts.nccl": {"qps": 8}},
            "; 26 would reach all of it; nothing published goes beyond 16, which reach about 80 %",
        ),
        ({"load_balancing.method": "ecmp"}, "e-ecmp with 26 queue pairs would reach all of it; nothing published goes"),
    ],
)
def test_queue_pairs(changes: dict[str, Any], said: str, spec_file: SPEC_FILE) -> None:
    found = lints(load_cluster(spec_file("roce-24k", changes)))
    assert [remark.code for remark in found] == (["few-paths"] if said else [])
    assert all(said in remark.message for remark in found)


def test_infiniband_blocks(spec_file: SPEC_FILE) -> None:
    scheduler = {**BLOCK, "block_sizes": [3]}
    (remark,) = lints(load_subnet(spec_file("ib-lab", {"scheduler": scheduler})))
    assert "2 hosts of the 8 of su0001 are beyond whole blocks of 3" in remark.message
