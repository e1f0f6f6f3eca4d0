"""kill -9 at each step of a run, then resume and, separately, rollback; and what the journal survives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fabric.change.clock import SystemClock, run_id
from fabric.change.control import Options
from fabric.change.events import Ended, Event, RunStarted, Step
from fabric.change.journal import NAME, Journal, read_journal
from fabric.change.keep import FOLDER, keeper, kept
from fabric.change.leftovers import dead_changes
from fabric.change.lock import locked
from fabric.change.runs import list_runs, load_run
from fabric.errors import FabricError
from tests.change.fake_cluster import AGENT, BGP, Cluster, job, results
from tests.change.fake_fleet import FakeClock, fails, refused
from tests.change.forked import forked

ROOT = Path(__file__).resolve().parents[2]
TARGET = "z01-rtsw002"
STEPS = [
    *[("journal", step) for step in ("RunStarted", "WaveEnded", "staging", "staged", "committing", "committed", "checking")],
    *[("journal", step) for step in ("confirming", "confirmed", "ended", "RunEnded")],
    *[("device", point) for point in ("stage-done", "commit-done", "reconnect", "confirm-half", "confirm-done")],
]  # fmt: skip


class Later(SystemClock):
    def now(self) -> float:
        return super().now() + 1000


def killed(tmp_path: Path, kind: str, where: str) -> Cluster:
    """A cluster whose apply was killed there, as the next process finds it."""
    folder = tmp_path / "devices"
    folder.mkdir()
    cluster = Cluster(tmp_path / "state", job(9000, 4, 1), job(9100, 4, 1), SystemClock(), folder).install()
    assert forked(lambda: apply_until(cluster.state, folder, kind, where)) == -signal.SIGKILL
    return cluster


def apply_until(state: Path, folder: Path, kind: str, where: str) -> None:
    """In a process of its own: it kills itself when TARGET is at that step of the journal or of the device."""

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def observe(event: Event) -> None:
        step = event.step if isinstance(event, Step) else "ended" if isinstance(event, Ended) else ""
        at_step = getattr(event, "device", "") == TARGET and step == where
        if kind == "journal" and (at_step or where == type(event).__name__):
            die()

    def hook(name: str, point: str) -> None:
        if kind == "device" and (name, point) == (TARGET, where):
            die()

    options = Options(parallel=2)
    cluster = Cluster(state, job(9000, 4, 1), job(9100, 4, 1), SystemClock(), folder, options)
    cluster.observers = [observe]
    cluster.fleet.hook = hook
    cluster.apply()


@pytest.mark.parametrize(("kind", "where"), STEPS)
@pytest.mark.parametrize("then", ["resume", "rollback", "resume after the timers"])
def test_killed(tmp_path: Path, kind: str, where: str, then: str) -> None:
    cluster = killed(tmp_path, kind, where)
    if then == "resume after the timers":
        cluster.clock = cluster.fleet.clock = Later()
    record = load_run(cluster.state, "last")
    assert record.status == ("complete" if where == "RunEnded" else "interrupted")
    operator = cluster.operator()
    ended = operator.rollback("last") if then == "rollback" else operator.resume("last")
    cluster.truthful(ended)
    held = {name: cluster.holds(name) for name in cluster.new.files}
    assert set(held.values()) == ({"old"} if then == "rollback" else {"new"})
    states = [cluster.fleet.load(name) for name in cluster.new.files]
    assert all(state["armed"] is None for state in states)
    assert all(state["saved"] == state["running"] for state in states)
    assert load_run(cluster.state, "last").status == ("rolled back" if then == "rollback" else "complete")
    assert len(list(list_runs(cluster.state))) == 1
    if where in ("confirm-half", "confirm-done") and then != "rollback":
        calls = {point for name, point in cluster.fleet.calls if name == TARGET}
        assert calls == {"pending", "read", "finish", "close"}  # saved, and nothing done again


def test_a_killed_process_leaves_a_lock_that_is_recognised(tmp_path: Path) -> None:
    cluster = killed(tmp_path, "journal", "committed")
    with locked(cluster.state, "x", "now") as stale:
        assert "stale lock of fabric apply of cluster.yaml" in stale
        assert "is gone" in stale
    with locked(cluster.state, "x", "now") as stale:
        assert stale == ""


@pytest.mark.parametrize(
    ("since", "status"), [("2026-01-01T00:00:00Z", "running"), ("9999-01-01T00:00:00Z", "interrupted")]
)
def test_a_run_that_another_process_is_at(tmp_path: Path, since: str, status: str) -> None:
    """A lock that was taken after the last word of a run is about something else."""
    cluster = killed(tmp_path, "journal", "committed")
    hold = (
        "import sys; from pathlib import Path; from fabric.change.lock import locked\n"
        f"with locked(Path(sys.argv[1]), 'x', '{since}'): print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", hold, str(cluster.state)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert load_run(cluster.state, "last").status == status
        other.communicate()
    assert load_run(cluster.state, "last").status == "interrupted"


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path / "state").install()


def test_rollback_of_a_whole_run(cluster: Cluster) -> None:
    cluster.apply()
    ended = cluster.operator().rollback("last")
    assert set(results(ended).values()) == {"rolled-back"}
    assert {cluster.holds(n) for n in ended} == {"old"}
    assert cluster.operator().rollback("last") == {}


def test_rollback_leaves_alone_what_changed_since(cluster: Cluster) -> None:
    cluster.apply()
    cluster.fleet.edit(TARGET, AGENT, '{"by": "hand"}')
    ended = cluster.operator().rollback("last")
    assert Counter(results(ended).values()) == {"broken": 1, "rolled-back": 7}
    assert "changed since this run; nothing was sent" in ended[TARGET].detail
    assert cluster.fleet.running(TARGET)[AGENT] == '{"by": "hand"}'
    assert load_run(cluster.state, "last").status == "incomplete"


def test_rollback_that_a_device_cannot_do_is_told(cluster: Cluster) -> None:
    cluster.apply()
    cluster.fleet.load(TARGET)["old"] = {}
    (load_run(cluster.state, "last").folder / FOLDER / f"{TARGET}.json").unlink()
    ended = cluster.operator().rollback("last")
    assert ended[TARGET].result == "broken"
    assert "does not hold its old state" in ended[TARGET].detail


def test_rollback_by_the_kept_files_of_a_device_that_keeps_none(cluster: Cluster) -> None:
    cluster.apply()
    cluster.fleet.load(TARGET)["old"] = {}
    ended = cluster.operator().rollback("last")
    assert (ended[TARGET].result, ended[TARGET].detail) == ("rolled-back", "by the files kept of before")
    assert cluster.holds(TARGET) == "old"
    assert load_run(cluster.state, "last").status == "rolled back"


@pytest.mark.parametrize("refuses", [False, True])
def test_a_file_that_was_not_there_before_is_removed_or_told(cluster: Cluster, refuses: bool) -> None:
    del cluster.fleet.load(TARGET)["running"][BGP]
    cluster.apply()
    cluster.fleet.load(TARGET)["old"] = {}
    if refuses:
        cluster.fleet.hook = fails(TARGET, "stage", refused())
    ended = cluster.operator().rollback("last")
    assert ended[TARGET].result == ("broken" if refuses else "rolled-back")
    assert (BGP in cluster.fleet.running(TARGET)) is refuses
    assert cluster.fleet.running(TARGET)[AGENT] == (cluster.new if refuses else cluster.old).files[TARGET][AGENT]


def test_nothing_that_looks_like_a_secret_is_kept(tmp_path: Path) -> None:
    keep = keeper(tmp_path)
    keep("a", {"/f": b"{}", "/g": b"username x secret sha512 $6$hash\n"})
    keep("b", {"/f": b"{}", "/g": None})
    assert (kept(tmp_path, "a"), kept(tmp_path, "b")) == (None, {"/f": b"{}", "/g": None})


def test_resume_after_the_cause_was_removed(cluster: Cluster) -> None:
    cluster.fleet.hook = fails("z01-rtsw001", "stage", refused())
    assert cluster.apply()["z01-rtsw001"].result == "failed"
    assert load_run(cluster.state, "last").status == "incomplete"
    cluster.fleet.hook = lambda _d, _p: None
    cluster.control = type(cluster.control)()
    cluster.operator().resume("last")
    assert {cluster.holds(n) for n in cluster.new.files} == {"new"}
    assert load_run(cluster.state, "last").status == "complete"


def test_resume_refuses_another_spec(cluster: Cluster) -> None:
    cluster.fleet.hook = fails("z01-rtsw001", "stage", refused())
    cluster.apply()
    cluster.new = job(9200)
    with pytest.raises(FabricError, match="spec has changed"):
        cluster.operator().resume("last")


def test_resume_undoes_what_is_in_force_and_unhealthy(tmp_path: Path) -> None:
    cluster = killed(tmp_path, "journal", "committed")
    cluster.fleet.faults = {TARGET: {"breaks-bgp"}}
    cluster.options = Options(gate_s=0.1)
    ended = cluster.operator().resume("last")
    assert ended[TARGET].result == "rolled-back"
    cluster.truthful(ended)
    assert cluster.holds("z01-rtsw003") == "old"


def test_journal_with_a_torn_last_line(tmp_path: Path) -> None:
    path = tmp_path / NAME
    journal = Journal(path, FakeClock())
    journal.append(Step("a", "staging"))
    journal.close()
    with path.open("ab") as file:
        file.write(b'{"t": "2027-01-15T08:00:00Z", "event": "step", "dev')
    assert [e for _, e in read_journal(path)] == [Step("a", "staging")]
    journal = Journal(path, FakeClock())
    journal.append(Ended("a", "done"))
    journal.close()
    assert [e for _, e in read_journal(path)] == [Step("a", "staging"), Ended("a", "done")]
    assert [json.loads(line)["t"] for line in path.read_text().splitlines()] == ["2027-01-15T08:00:00Z"] * 2


def test_damage_before_the_last_line_is_no_torn_line(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(b'{"t": 1}\n{"t": "x", "event": "note", "text": "y"}\n')
    with pytest.raises(FabricError, match=r"journal\.jsonl:1 is damaged"):
        read_journal(path)


def test_runs_of_the_same_second_have_their_own_folders(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path).install()
    clock = FakeClock()
    cluster.clock = cluster.fleet.clock = clock
    first = clock.now()
    cluster.apply()
    clock.sleep(first - clock.now())
    cluster.new = job(9200)
    cluster.apply()
    assert [run.id for run in list_runs(tmp_path)] == [run_id(first), f"{run_id(first)}-2"]


def test_no_such_run(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match="there is no run 'x'"):
        load_run(tmp_path, "x")


def test_a_damaged_journal_holds_up_no_other_run(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path).install()
    cluster.operator().apply(cluster.plan())
    good = load_run(tmp_path, "last").id
    bad = tmp_path / "runs/20200101-000000"
    bad.mkdir()
    (bad / "journal.jsonl").write_bytes(b"x\n{}\n")
    damaged: list[FabricError] = []
    assert [run.id for run in list_runs(tmp_path, damaged.append)] == [good]
    assert [str(bad) in one.message for one in damaged] == [True]
    assert load_run(tmp_path, good).status == "complete"
    with dead_changes(tmp_path, cluster.clock) as found:
        assert not found
    with pytest.raises(FabricError, match="damaged"):
        load_run(tmp_path, bad.name)


def test_the_last_run_is_the_one_that_began_last(tmp_path: Path) -> None:
    clock = FakeClock()
    for name, later in (("kept-by-hand", 0), ("20260101-000000-9", 5), ("20260101-000000-10", 0)):
        clock.sleep(later)
        (tmp_path / "runs" / name).mkdir(parents=True)
        journal = Journal(tmp_path / "runs" / name / NAME, clock)
        journal.append(RunStarted(name, "apply", "cluster.yaml", "", "", (), (), 0))
        journal.close()
    assert [run.id for run in list_runs(tmp_path)] == ["kept-by-hand", "20260101-000000-9", "20260101-000000-10"]
    assert load_run(tmp_path, "last").id == "20260101-000000-10"
