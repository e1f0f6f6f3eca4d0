"""The rollback of a run goes by its waves, the last first, with gates between and at the end, and stops by the same rules."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fabric.change.control import Control, Options
from fabric.change.events import RunEnded, WaveEnded, WaveStarted
from fabric.change.runs import load_run
from tests.change.fake_cluster import Cluster, job, results
from tests.change.fake_fleet import fails, refused

FIRST_BACK = "z01-ctsw02"
"""In the last wave of the run, so that it is in the first one of the rollback."""


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """A cluster to which a run was applied."""
    cluster = Cluster(tmp_path / "state", options=Options(gate_s=1)).install()
    assert set(results(cluster.apply()).values()) == {"done"}
    return cluster


def rollback(cluster: Cluster) -> dict[str, str]:
    cluster.events.clear()
    cluster.control = Control()
    return results(cluster.operator().rollback("last"))


def problems(cluster: Cluster) -> list[str]:
    return [problem for event in cluster.events if isinstance(event, WaveEnded) for problem in event.problems]


def stopped(cluster: Cluster) -> str:
    return next(event.stopped for event in cluster.events if isinstance(event, RunEnded))


def test_the_waves_of_the_run_in_reverse_and_a_final_gate(cluster: Cluster) -> None:
    waves = [event for event in cluster.events if isinstance(event, WaveStarted)]
    rollback(cluster)
    back = [event for event in cluster.events if isinstance(event, WaveStarted)]
    assert [wave.devices for wave in back[:-1]] == [wave.devices for wave in reversed(waves)]
    assert [wave.number for wave in back] == list(range(1, len(waves) + 2))
    assert (back[-1].title, set(back[-1].devices)) == ("final gate", set(cluster.new.files))
    assert (problems(cluster), load_run(cluster.state, "last").status) == ([], "rolled back")


def test_a_wave_that_makes_it_worse_stops_the_rest_and_can_be_gone_on_with(cluster: Cluster) -> None:
    cluster.fleet.faults = {FIRST_BACK: {"breaks-back"}}
    ended = rollback(cluster)
    assert Counter(ended.values()) == {"rolled-back": 1, "not-started": 7}
    assert problems(cluster)[0] == f"{FIRST_BACK}: BGP session to 10.0.0.1 was established and is idle"
    assert stopped(cluster) == "the gate of wave 1 found 1 unhealthy"
    assert {cluster.holds(name) for name in ended if name != FIRST_BACK} == {"new"}
    record = load_run(cluster.state, "last")
    assert (record.status, record.counts) == ("incomplete", {"done": 7, "rolled-back": 1})
    cluster.fleet.faults = {}
    assert Counter(rollback(cluster).values()) == {"rolled-back": 7}
    assert load_run(cluster.state, "last").status == "rolled back"


def test_what_the_run_itself_has_broken_is_waited_for_at_the_end_only(cluster: Cluster) -> None:
    cluster.fleet.faults = {FIRST_BACK: {"breaks-bgp", "breaks-back"}}
    assert set(rollback(cluster).values()) == {"rolled-back"}
    assert [event.number for event in cluster.events if isinstance(event, WaveEnded) and event.problems] == [6]
    assert stopped(cluster) == "the final gate found 1 unhealthy"
    assert load_run(cluster.state, "last").status == "incomplete"


@pytest.mark.parametrize(
    ("max_failed", "counts"), [(1, {"broken": 1, "not-started": 7}), (2, {"broken": 1, "rolled-back": 7})]
)
def test_a_device_that_cannot_go_back_stops_the_rest(cluster: Cluster, max_failed: int, counts: dict[str, int]) -> None:
    cluster.options = Options(gate_s=1, max_failed=max_failed)
    cluster.fleet.load(FIRST_BACK)["old"] = {}
    cluster.fleet.hook = fails(FIRST_BACK, "stage", refused())
    assert Counter(rollback(cluster).values()) == counts


def test_a_device_that_cannot_be_reached_stops_nothing(cluster: Cluster) -> None:
    cluster.fleet.hook = fails(FIRST_BACK, "read", refused("% no"))
    assert Counter(rollback(cluster).values()) == {"lost": 1, "rolled-back": 7}


def test_a_session_whose_far_end_is_still_to_go_back_is_not_waited_for(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "state", job(9000, 2, 1), job(9100, 2, 1), options=Options(gate_s=1))
    cables = {
        "z01-rtsw001": {"Ethernet2/1": ("z01-ctsw01", "Ethernet2/1")},
        "z01-ctsw01": {"Ethernet2/1": ("z01-rtsw001", "Ethernet2/1")},
    }
    cluster.new.cables = cluster.fleet.cables = cables
    cluster.install()
    cluster.apply()
    assert set(rollback(cluster).values()) == {"rolled-back"}
    assert problems(cluster) == []


def test_where_nothing_is_left_to_take_back_there_is_no_final_gate(cluster: Cluster) -> None:
    rollback(cluster)
    assert rollback(cluster) == {}
    assert [event for event in cluster.events if isinstance(event, WaveStarted | WaveEnded)] == []
