"""Which groups are measured, and by which programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.design.seats import Seat
from fabric.spec.collectives import Collectives
from fabric.verify.collectives import stages
from fabric.verify.collectives.engines import Around, Task, tasks
from fabric.verify.collectives.model import Stage
from fabric.verify.collectives.stages import Group, pairings, rounds
from tests.verify.locate.simulate import places_of

LAB = places_of("lab").seats
IB = places_of("ib-lab").seats
TWO = tuple(LAB)[:2]


def made_up(racks: list[list[int]]) -> dict[str, tuple[Seat, ...]]:
    """Hosts with two NICs: `racks` of each zone, each with so many hosts."""
    seat = LAB[TWO[0]][0]
    return {
        f"z{zone}-r{rack}-h{unit}": tuple(
            replace(
                seat,
                host=f"z{zone}-r{rack}-h{unit}",
                zone=zone,
                rack=rack,
                unit=unit,
                switch=f"z{zone}-r{rack}",
                rail=rail,
            )
            for rail in (0, 1)
        )
        for zone, counts in enumerate(racks)
        for rack, count in enumerate(counts)
        for unit in range(count)
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), max_size=4), min_size=1, max_size=3))
def test_every_host_has_a_partner_as_near_as_may_be(racks: list[list[int]]) -> None:
    seats = made_up(racks)
    found = list(pairings(seats))
    met = Counter(host for pairs in found for pair in pairs for host in pair)
    assert all(len({host for pair in pairs for host in pair}) == 2 * len(pairs) for pairs in found)
    assert len(found) <= 2
    assert set(met) == (set(seats) if len(seats) > 1 else set())
    under = sum(seats[a][0].switch == seats[b][0].switch for pairs in found[:1] for a, b in pairs)
    assert under == sum(count // 2 for counts in racks for count in counts)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 5), max_size=4), min_size=1, max_size=3),
    st.sampled_from(["node", "pairs", "rails", "groups", "zone", "zones"]),
)
def test_groups_of_a_round_share_nothing(racks: list[list[int]], stage: Stage) -> None:
    for groups in rounds(stage, ("all_gather",), made_up(racks)):
        loaded = Counter((host, rail) for group in groups for host in group.hosts for rail in group.rails or (0, 1))
        assert groups
        assert max(loaded.values()) == 1
        assert all(len(set(group.hosts)) == len(group.hosts) for group in groups)


@pytest.mark.parametrize(
    ("stage", "shapes"),
    [
        ("node", [[1] * 8]),
        ("pairs", [[2] * 4]),
        ("rails", [[2] * 32]),
        ("retest", []),
        ("groups", []),
        ("zone", [[4, 4]]),
        ("zones", [[8]]),
    ],
)
def test_rounds_of_the_lab(stage: Stage, shapes: list[list[int]]) -> None:
    assert [[len(group.hosts) for group in groups] for groups in rounds(stage, ("all_gather",), LAB)] == shapes


def test_growing_groups_stay_inside_their_zones_and_below_them() -> None:
    seats = made_up([[2] * 9, [2] * 5])
    found = rounds("groups", ("all_gather",), seats)
    assert [(len(groups[0].hosts), len(groups)) for groups in found] == [(4, 6), (8, 3), (16, 1)]
    assert all(len({seats[host][0].zone for host in group.hosts}) == 1 for groups in found for group in groups)


def test_infiniband_partners_share_the_leaves_of_all_rails() -> None:
    (pairs,) = pairings(IB)
    assert all([s.switch for s in IB[a]] == [s.switch for s in IB[b]] for a, b in pairs)


def test_tests_of_stages() -> None:
    assert stages.tests_of(Collectives())["rails"] == ("all_gather", "ib_write_bw")
    assert stages.tests_of(Collectives(engine="mpi"))["rails"] == ("all_gather",)
    assert stages.tests_of(Collectives(tests={"pairs": ["sendrecv"]}))["pairs"] == ("sendrecv",)
    chosen = stages.tests_of(Collectives(), ("ib_write_bw", "alltoall"))
    assert (chosen["pairs"], chosen["rails"], chosen["diag"]) == (("alltoall",), ("ib_write_bw", "alltoall"), ("dcgm",))


def one_task(group: Group, *more: Group, **how: object) -> Task:
    (task,) = tasks(
        (group, *more), Collectives.model_validate(how), IB if group.hosts[0] in IB else LAB, Around(("eth0",))
    )
    return task


def rails_of(test: str, *rails: int) -> list[Group]:
    return [Group("rails", test, TWO, (rail,)) for rail in rails]


def test_rails_of_a_pair_are_one_split_run_each_gpu_by_its_own_nic() -> None:
    task = one_task(*rails_of("all_gather", *range(8)), programs="/opt/t")
    assert dict(task.env)["NCCL_TESTS_SPLIT"] == "MOD 8"
    assert task.argv[3:7] == (
        "sh",
        "NCCL_IB_HCA",
        " ".join(f"=mlx5_{rail}" for rail in range(8)),
        "/opt/t/all_gather_perf",
    )
    assert (task.ranks, task.gpus, task.rails) == (8, "rank", tuple(range(8)))


def test_a_few_rails_see_only_their_gpus() -> None:
    task = one_task(*rails_of("all_gather", 3, 5))
    assert task.argv[:2] == ("env", "CUDA_VISIBLE_DEVICES=3,5")
    assert (task.ranks, task.gpus, task.cards, dict(task.env)["NCCL_TESTS_SPLIT"]) == (2, "node", 8, "MOD 2")
    assert "NCCL_TESTS_SPLIT" not in dict(one_task(*rails_of("all_gather", 3)).env)


def test_perftest_serves_on_the_first_host_and_calls_from_the_second() -> None:
    task = one_task(*rails_of("ib_write_bw", 1, 2))
    assert task.argv[4:9] == ("2", TWO[0], "mlx5_1 mlx5_2", "18515", "1 2")
    assert task.argv[-2:] == ("-x", "3")
    assert (task.ranks, task.ordered, task.mpi) == (2, True, False)


def test_infiniband_needs_no_gid_index() -> None:
    hosts = tuple(IB)[:2]
    assert "-x" not in one_task(Group("rails", "ib_write_bw", hosts, (0,))).argv


def test_diagnosis_and_flows() -> None:
    assert one_task(Group("diag", "dcgm", TWO[:1])).argv == ("dcgmi", "diag", "-r", "1", "-j")
    task = one_task(Group("paths", "path", TWO, (2,)), python="/usr/bin/python3.11")
    assert task.argv[:2] == ("/usr/bin/python3.11", "-c")
    assert task.argv[3:7] == ("--from", "10.128.0.5", "--to", "10.128.0.21")
