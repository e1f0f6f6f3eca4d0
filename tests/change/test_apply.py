"""Apply against scripted devices: each fault ends with every device old or new, and the report says which."""

from __future__ import annotations

import errno
import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.change.control import Options, Stream
from fabric.change.events import Ended, Event, Note, RunEnded, RunStarted, Step, WaveStarted
from fabric.change.journal import Journal, read_journal
from fabric.change.lock import locked
from fabric.change.runs import list_runs, load_run
from fabric.errors import FabricError
from tests.change.fake_cluster import AGENT, STARTUP, Cluster, job, results
from tests.change.fake_fleet import fails, lost, refused

FIRST = "z01-rtsw001"  # the canary
SECOND = "z01-ctsw01"  # the canary of the other tier
LATER = "z01-rtsw002"  # in a wave with others


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path / "state").install()


def test_all_devices_get_the_new_state_and_are_saved(cluster: Cluster) -> None:
    ended = cluster.apply()
    assert set(results(ended).values()) == {"done"}
    cluster.truthful(ended)
    assert all(cluster.fleet.load(n)["saved"] == cluster.new.files[n] for n in cluster.new.files)
    started = next(e for e in cluster.events if isinstance(e, RunStarted))
    assert set(started.hosts) == set(cluster.new.files)
    assert started.waves[0] == (FIRST,)
    assert cluster.plan().exit_code == 0


def test_a_second_apply_has_nothing_to_do(cluster: Cluster) -> None:
    cluster.apply()
    assert cluster.apply() == {}


FAULTS: dict[str, tuple[str, Callable[[str], Any], str]] = {
    "cannot log in": ("read", lost, "failed"),
    "lost while staging": ("stage", lost, "failed"),
    "lost after staging": ("stage-done", lost, "failed"),
    "refuses a line": ("stage", lambda _d: refused(), "failed"),
    "refuses the commit": ("commit", lambda _d: refused("% Cannot commit"), "failed"),
    "lost for good before the commit takes": ("commit", lost, "failed"),
    "refuses to confirm": ("confirm", lambda _d: refused("% no"), "rolled-back"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("device", [FIRST, LATER])
def test_fault(cluster: Cluster, fault: str, device: str) -> None:
    point, error, result = FAULTS[fault]
    plan = cluster.plan()
    cluster.fleet.hook = fails(device, point, error(device))
    ended = cluster.operator().apply(plan)
    assert ended[device].result == result
    cluster.truthful(ended)
    counts = Counter(results(ended).values())
    if device == FIRST:
        assert counts == {result: 1, "not-started": 7}
    else:  # the rest of its wave finishes, nothing further starts
        assert ended["z01-rtsw004"].result == "done"
        assert ended["z01-rtsw003"].result == "not-started"
    assert cluster.fleet.load(device)["armed"] is None


def test_refused_line_is_reported_in_the_devices_words(cluster: Cluster) -> None:
    cluster.fleet.hook = fails(FIRST, "stage", refused())
    assert "% Invalid input at line 7" in cluster.apply()[FIRST].detail


@pytest.mark.parametrize("after", ["at once", "when connecting again"])
def test_lost_between_commit_and_confirm_the_timer_reverts(cluster: Cluster, after: str) -> None:
    def hook(name: str, point: str) -> None:
        if name == LATER and cluster.fleet.load(name)["armed"] and (after == "at once" or point != "commit-done"):
            raise lost(name)

    plan = cluster.plan()
    cluster.fleet.hook = hook
    ended = cluster.operator().apply(plan)
    assert ended[LATER].result == "reverted"
    assert "its timer has returned it" in ended[LATER].detail
    cluster.truthful(ended)


def test_lost_for_a_moment_after_the_commit_is_no_failure(cluster: Cluster) -> None:
    cluster.fleet.hook = fails(LATER, "reconnect", lost(), times=3)
    assert set(results(cluster.apply()).values()) == {"done"}


def test_answer_to_the_commit_lost_but_it_took(cluster: Cluster) -> None:
    cluster.fleet.hook = fails(LATER, "commit-done", lost(), times=1)
    assert set(results(cluster.apply()).values()) == {"done"}


@pytest.mark.parametrize("point", ["confirm", "confirm-half", "confirm-done"])
def test_lost_while_confirming_is_no_failure(cluster: Cluster, point: str) -> None:
    cluster.fleet.hook = fails(LATER, point, lost(), times=1)
    assert set(results(cluster.apply()).values()) == {"done"}
    state = cluster.fleet.load(LATER)
    assert (state["saved"], state["armed"]) == (cluster.new.files[LATER], None)


@pytest.mark.parametrize(("times", "result"), [(2, "rolled-back"), (1_000_000, "lost")])
def test_old_files_that_a_daemon_does_not_run_are_no_return(cluster: Cluster, times: int, result: str) -> None:
    gate, proof = fails(FIRST, "confirm", refused("% no")), fails(FIRST, "run-files", refused("mtu: kept"), times)

    def hook(name: str, point: str) -> None:
        gate(name, point)
        proof(name, point)

    cluster.fleet.hook = hook
    ended = cluster.apply()
    assert ended[FIRST].result == result
    assert ("it refuses to go back" in ended[FIRST].detail) == (result == "lost")


def test_never_seen_again(cluster: Cluster) -> None:
    gone: list[str] = []

    def hook(name: str, point: str) -> None:
        if name == FIRST and (gone or point == "commit-done"):
            gone.append(point)
            raise lost(name)

    cluster.fleet.hook = hook
    ended = cluster.apply()
    assert ended[FIRST].result == "lost"
    assert "its timer is over; look at it" in ended[FIRST].detail
    cluster.fleet.hook = lambda _n, _p: None
    assert cluster.holds(FIRST) == "old"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("keeps", "a difference remains: /etc/coop/agent.conf: ~ mtu: 9099 -> 9100"),
        ("breaks-bgp", "health gate: BGP session to 10.0.0.1 was established and is idle"),
        ("breaks-link", "health gate: link Ethernet1/1 was up and is down"),
    ],
)
def test_canary_gate(cluster: Cluster, fault: str, words: str) -> None:
    cluster.fleet.faults = {FIRST: {fault}}
    ended = cluster.apply()
    assert ended[FIRST].result == "rolled-back"
    assert words in ended[FIRST].detail
    assert Counter(results(ended).values()) == {"rolled-back": 1, "not-started": 7}
    assert {cluster.holds(n) for n in ended} == {"old"}


def test_device_without_a_difference_of_its_own_is_a_failure_when_one_remains(cluster: Cluster) -> None:
    cluster.fleet.faults = {FIRST: {"no-difference"}}
    ended = cluster.apply()
    assert ended[FIRST].result == "failed"
    assert "but one remains" in ended[FIRST].detail


def test_changed_by_hand_after_the_plan(cluster: Cluster) -> None:
    plan = cluster.plan()
    cluster.fleet.edit(LATER, AGENT, "{}")
    ended = cluster.operator().apply(plan)
    assert ended[LATER].result == "refused"
    assert "changed since the plan" in ended[LATER].detail
    assert cluster.fleet.running(LATER)[AGENT] == "{}"
    assert Counter(results(ended).values()) == {"refused": 1, "done": 7}


def test_changed_by_hand_while_we_stage(cluster: Cluster) -> None:
    def hook(name: str, point: str) -> None:
        if (name, point) == (SECOND, "stage-done"):
            cluster.fleet.edit(name, STARTUP, "hostname hand\n")

    cluster.fleet.hook = hook
    ended = cluster.apply()
    assert ended[SECOND].result == "refused"
    assert cluster.fleet.running(SECOND)[STARTUP] == "hostname hand\n"
    assert cluster.fleet.load(SECOND)["staged"] == {}


@pytest.mark.parametrize(("armed", "result"), [(True, "not planned"), (False, "done")])
def test_session_of_another_operator(cluster: Cluster, armed: bool, result: str) -> None:
    state = cluster.fleet.load(FIRST)
    state["foreign"] = [["bob-1", armed]]
    ended = cluster.apply()
    assert (
        ended[FIRST].result if FIRST in ended else "not planned"
    ) == result  # what runs under a timer is not settled
    assert cluster.fleet.load(FIRST)["foreign"] == [["bob-1", armed]]
    if not armed:
        assert any(isinstance(e, Note) and "bob-1" in e.text for e in cluster.events)


def test_our_own_orphan_is_removed(cluster: Cluster) -> None:
    cluster.fleet.load(FIRST)["staged"]["20200101-000000"] = {}
    assert cluster.apply()[FIRST].result == "done"
    assert cluster.fleet.load(FIRST)["staged"] == {}


def test_more_failures_may_be_allowed(cluster: Cluster) -> None:
    cluster.options = Options(max_failed=2)
    cluster.fleet.hook = fails(LATER, "stage", refused())
    assert Counter(results(cluster.apply()).values()) == {"failed": 1, "done": 7}


def test_dry_run_changes_nothing_and_shows_the_devices_diff(cluster: Cluster) -> None:
    cluster.options = Options(dry_run=True)
    ended = cluster.apply()
    assert set(results(ended).values()) == {"dry-run"}
    assert {cluster.holds(n) for n in ended} == {"old"}
    assert all(not cluster.fleet.load(n)["staged"] for n in ended)
    assert any(isinstance(e, Step) and e.step == "staged" and "9100" in e.detail for e in cluster.events)
    assert not [c for c in cluster.fleet.calls if c[1] == "commit"]
    assert list(list_runs(cluster.state)) == []


def test_two_applies_at_once(cluster: Cluster) -> None:
    with (
        locked(cluster.state, "apply X", "now"),
        pytest.raises(FabricError, match=r"being changed by apply X \(process"),
    ):
        cluster.apply()
    assert {cluster.holds(n) for n in cluster.new.files} == {"old"}


def test_journal_disk_full(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every single write in turn: a device is only touched when the step before is on disk."""
    write = os.pwrite
    for number in range(1, 60):
        fresh = Cluster(cluster.state.parent / f"state{number}").install()
        left = [number]

        def full(handle: int, data: bytes, at: int, left: list[int] = left) -> int:
            left[0] -= 1
            if left[0] <= 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(handle, data, at)

        plan = fresh.plan()
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", full)
            try:
                ended = fresh.operator().apply(plan)
            except FabricError as error:
                assert "no space left" in error.message
                ended = {}
        fresh.truthful(ended)
        held = {name: fresh.holds(name) for name in fresh.new.files}
        assert "between" not in held.values()
        if not ended:
            assert set(held.values()) == {"old"}
        elif number < 55:
            assert any(one.result != "done" for one in ended.values())


@pytest.mark.parametrize("point", ["stage", "commit-done"])
def test_ctrl_c_finishes_what_is_in_flight(cluster: Cluster, point: str) -> None:
    def hook(name: str, at: str) -> None:
        if (name, at) == (LATER, point):
            cluster.control.interrupt()

    cluster.fleet.hook = hook
    ended = cluster.apply()
    cluster.truthful(ended)
    assert ended[LATER].result == ("done" if point == "commit-done" else "not-started")
    assert ended["z01-rtsw003"].result == "not-started"
    assert all(cluster.fleet.load(n)["armed"] is None for n in ended)
    last = cluster.events[-1]
    assert isinstance(last, RunEnded)
    assert last.stopped == "interrupted"


def test_second_ctrl_c_leaves_devices_to_their_timers(cluster: Cluster) -> None:
    release = threading.Event()

    def hook(name: str, at: str) -> None:
        if (name, at) == (FIRST, "reconnect"):
            cluster.control.interrupt()
            cluster.control.interrupt()
            release.wait(120)
            raise lost(name)

    cluster.fleet.hook = hook
    ended = cluster.apply()
    assert ended[FIRST].result == "lost"
    assert "left to its timer" in ended[FIRST].detail
    assert cluster.fleet.load(FIRST)["armed"] is not None
    release.set()
    cluster.clock.sleep(400)
    assert cluster.holds(FIRST) == "old"


def test_what_a_device_that_was_left_still_does_is_not_told(cluster: Cluster, tmp_path: Path) -> None:
    """Its thread goes on after its end was written: in the journal that end is the last word."""
    path, end = tmp_path / "journal.jsonl", Ended(FIRST, "lost")
    stream = Stream(Journal(path, cluster.clock), [], cluster.control)
    stream.leave(end)
    stream.tell(Step(FIRST, "committed"))
    with pytest.raises(FabricError, match="nobody waits"):
        stream.announce(Step(FIRST, "confirming"))
    assert [event for _, event in read_journal(path)] == [end]


def test_a_broken_pipe_of_the_progress_stops_the_run_in_order(cluster: Cluster) -> None:
    def broken(event: Event) -> None:
        if isinstance(event, Step) and event.step == "committed":
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    cluster.observers = [broken]
    ended = cluster.apply()
    assert Counter(results(ended).values()) == {"done": 1, "not-started": 7}
    cluster.truthful(ended)


def test_a_bug_in_a_driver_ends_in_a_report(cluster: Cluster) -> None:
    cluster.fleet.hook = fails(FIRST, "commit-done", ValueError("hunter2"))
    ended = cluster.apply()
    assert ended[FIRST].result == "lost"
    assert "hunter2" not in ended[FIRST].detail
    assert Counter(results(ended).values()) == {"lost": 1, "not-started": 7}


@pytest.mark.parametrize("stale", ["spec", "tool"])
def test_a_stale_plan_is_refused_before_any_device(
    cluster: Cluster, stale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = cluster.plan()
    cluster.fleet.calls.clear()
    if stale == "spec":
        cluster.new = job(9200)
    else:
        monkeypatch.setattr("fabric.change.operate.__version__", "99.0")
    with pytest.raises(FabricError, match="since the plan was made" if stale == "spec" else "made by fabric"):
        cluster.operator().apply(plan)
    assert cluster.fleet.calls == []


def test_64_devices_in_waves_within_their_bounds(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, job(9000, 24, 8, 2), job(9100, 24, 8, 2)).install()
    ended = cluster.apply()
    assert Counter(results(ended).values()) == {"done": 64}
    for event in cluster.events:
        if isinstance(event, WaveStarted):
            assert len([n for n in event.devices if "z01-ctsw" in n]) <= 1
    assert load_run(tmp_path, "last").status == "complete"
    assert isinstance(cluster.events[-1], RunEnded)


def test_every_device_ends_exactly_once(cluster: Cluster) -> None:
    cluster.fleet.hook = fails(LATER, "stage", refused())
    cluster.apply()
    names = [e.device for e in cluster.events if isinstance(e, Ended)]
    assert sorted(names) == sorted(cluster.new.files)
