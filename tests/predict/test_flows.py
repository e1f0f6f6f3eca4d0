"""Who sends to whom: NCCL's trees as its own comments draw them, rings, shifts, recursive doubling, the hosts of a job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.errors import FabricError
from fabric.predict import flows, job
from fabric.predict.model import Case

CASE = Case("c")

# the drawings of trees.cc, each line "parent: children"
BTREE_14 = {0: [8], 8: [4, 12], 4: [2, 6], 12: [10, 13], 2: [1, 3], 6: [5, 7], 10: [9, 11]}
DTREE_12 = {11: [3], 3: [1, 7], 1: [0, 2], 7: [5, 9], 5: [4, 6], 9: [8, 10]}
BTREE_12 = {0: [8], 8: [4, 10], 4: [2, 6], 2: [1, 3], 6: [5, 7], 10: [9, 11]}
DTREE_13 = {1: [9], 9: [5, 0], 5: [3, 7], 0: [11], 3: [2, 4], 7: [6, 8], 11: [10, 12]}


def _parents(drawn: dict[int, list[int]], ranks: int) -> list[int]:
    found = [-1] * ranks
    for parent, children in drawn.items():
        for child in children:
            found[child] = parent
    return found


@pytest.mark.parametrize(
    ("ranks", "which", "drawn"), [(14, 0, BTREE_14), (12, 0, BTREE_12), (12, 1, DTREE_12), (13, 1, DTREE_13)]
)
def test_trees_are_those_of_the_drawings(ranks: int, which: int, drawn: dict[int, list[int]]) -> None:
    assert flows.dtree_parents(ranks)[which].tolist() == _parents(drawn, ranks)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 300))
def test_a_host_is_inside_one_tree_only_and_each_tree_spans(ranks: int) -> None:
    inner = []
    for parents in flows.dtree_parents(ranks):
        assert (parents < 0).sum() == 1
        up = np.arange(ranks)
        for _ in range(ranks.bit_length() + 1):
            up = np.where(parents[up] < 0, up, parents[up])
        assert len(set(up.tolist())) == 1  # all reach the root
        inner.append(np.bincount(parents[parents >= 0], minlength=ranks))
    both = (inner[0] > 1) & (inner[1] > 1)
    assert not both.any()
    assert inner[0].max() <= 2 >= inner[1].max()


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 70), st.sampled_from([("all_gather", "ring"), ("all_reduce", "tree"), ("all_reduce", "recursive"),
       ("reduce_scatter", "recursive"), ("all_to_all", "ring"), ("send_recv", "ring")]))  # fmt: skip
def test_no_nic_is_asked_for_more_than_its_rate_and_all_bytes_move(hosts: int, kind: tuple[str, str]) -> None:
    case = replace(CASE, collective=kind[0], algorithm=kind[1])  # type: ignore[arg-type]
    found = flows.pattern(case, np.arange(hosts, dtype=np.int64), 2)
    for phase in found.phases:
        for ends in (phase.src, phase.dst):
            assert np.bincount(ends, phase.weight).max() <= 1
        assert (phase.src % 2 == phase.dst % 2).all()
        assert (phase.src != phase.dst).all()
    moved = sum(phase.share * phase.count for phase in found.phases)
    assert moved == pytest.approx(1) if hosts & (hosts - 1) == 0 or kind[1] != "recursive" else moved > 1
    assert found.ideal == pytest.approx(1 / moved)


def test_recursive_doubling_sends_small_messages_far_or_large_ones() -> None:
    for far, distances in (("small", [4, 2, 1]), ("large", [1, 2, 4])):
        phases = flows.recursive(np.arange(8, dtype=np.int64), 1, far).phases
        assert [int(abs(phase.dst - phase.src)[0]) for phase in phases] == distances
        assert [phase.share for phase in phases] == pytest.approx([1 / 7, 2 / 7, 4 / 7])


def test_a_long_all_to_all_is_a_sample_and_says_so() -> None:
    found = flows.shifts(np.arange(100, dtype=np.int64), 1, most=10)
    assert (found.sampled, found.steps, len(found.phases)) == (True, 99, 10)
    assert not flows.shifts(np.arange(5, dtype=np.int64), 1).sampled


@pytest.mark.parametrize(
    ("collective", "sent"),
    [("all_gather", 96.875), ("reduce_scatter", 96.875), ("all_reduce", 193.75), ("all_to_all", 775.0), ("send_recv", 800.0)],
)  # fmt: skip
def test_bytes_of_a_nic_are_those_of_bus_bandwidth(collective: str, sent: float) -> None:
    assert flows.sent_bytes(replace(CASE, collective=collective), 800, 32, 8) == pytest.approx(sent)  # type: ignore[arg-type]


NAMES = tuple(f"h{i}" for i in range(12))
ZONES = (1,) * 6 + (2,) * 6


def test_placements() -> None:
    def order(**changes: object) -> list[int]:
        return flows.order_of(replace(CASE, **changes), NAMES, ZONES, 8, 1).tolist()  # type: ignore[arg-type, no-any-return]

    assert order(gpus=32) == [0, 1, 2, 3]
    zoned = order(placement="zone")
    assert sorted(zoned[:6]) == list(range(6)) != zoned[:6]
    assert order(placement="random") not in (zoned, list(range(12)))
    assert sorted(order(placement="random")) == list(range(12))
    assert order(hosts=("h5", "h1")) == [5, 1]
    assert order(placement="random") == order(placement="random")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"gpus": 104}, "104 GPUs are wanted, there are 96: 12 hosts with 8 each (hint: at most --gpus 96)"),
        ({"gpus": 20}, "20 GPUs are no whole hosts of 8 (hint: --gpus 16 or 24)"),
        ({"gpus": 0}, "0 GPUs: a job has at least 16 (hint: 8 GPUs a host)"),
        ({"hosts": ("h1", "hh2")}, "the job's host 'hh2' is not in the fabric (hint: did you mean h2?)"),
        ({"hosts": ("x", "y")}, "the job's host 'x' and 1 more host are not in the fabric (hint: fabric show devices SPEC lists all names)"),
        ({"hosts": ("h1", "h2", "h1")}, "the job has the host h1 twice (hint: each host once, in rank order)"),
    ],
)  # fmt: skip
def test_jobs_that_cannot_be(changes: dict[str, object], text: str) -> None:
    with pytest.raises(FabricError) as raised:
        flows.order_of(replace(CASE, **changes), NAMES, ZONES, 8, 1)  # type: ignore[arg-type]
    assert str(raised.value) == text


@pytest.mark.parametrize(
    ("case", "hosts", "text"),
    [
        (CASE, 1, "a job on one host sends nothing over the network (hint: give at least 16 GPUs, two hosts)"),
        (replace(CASE, algorithm="tree"), 4, "NCCL's double binary tree is for all_reduce, not for all_gather (hint: ring or recursive)"),
        (replace(CASE, collective="all_to_all", algorithm="recursive"), 4, "all_to_all has no algorithm recursive (hint: leave it out)"),
    ],
)  # fmt: skip
def test_patterns_that_cannot_be(case: Case, hosts: int, text: str) -> None:
    with pytest.raises(FabricError) as raised:
        flows.pattern(case, np.arange(hosts, dtype=np.int64), 8)
    assert str(raised.value) == text


def test_job_files(tmp_path: Path) -> None:
    file = tmp_path / "job"
    file.write_text("# job\nh1 slots=8 max_slots=8\n\nh2\nh2\nh2\nh0 # last\n")
    assert job.read_job(file) == ("h1", "h2", "h0")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"h1\nh2;rm\n", "{0}:2: this is no host name: 'h2;rm' (hint: one host a line)"),
        (b"# none\n", "{0} names no host (hint: one host a line, in rank order)"),
        (b"\xff\xfe", "cannot read {0}: it is no text"),
        (None, "cannot read {0}: no such file"),
    ],
)
def test_job_files_that_cannot_be(tmp_path: Path, data: bytes | None, text: str) -> None:
    file = tmp_path / "job"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(FabricError) as raised:
        job.read_job(file)
    assert str(raised.value) == text.format(file)
