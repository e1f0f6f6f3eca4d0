"""What a run left staged on a device that it lost: on record, and gone once anything reaches the device again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fabric.change.control import Control
from fabric.change.leftovers import dead_changes, record_cleared
from fabric.change.live import LiveSource
from fabric.change.lock import locked
from fabric.change.runs import load_run
from tests.change.fake_cluster import AGENT, Cluster, job
from tests.change.fake_fleet import fails, lost, refused

LOST = "z01-rtsw001"


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """A run has lost LOST while it was staging: the staged change stays there."""
    cluster = Cluster(tmp_path / "state").install()
    gone: list[str] = []

    def hook(name: str, point: str) -> None:
        if name == LOST and (gone or point == "stage-done"):
            gone.append(point)
            raise lost(name)

    plan = cluster.plan()
    cluster.fleet.hook = hook
    assert cluster.operator().apply(plan)[LOST].result == "failed"
    cluster.fleet.hook, cluster.control = lambda _name, _point: None, Control()
    assert cluster.fleet.load(LOST)["staged"]
    assert [d.name for d in load_run(cluster.state, "last").devices.values() if d.littered] == [LOST]
    return cluster


def clean(cluster: Cluster) -> bool:
    """Nothing is staged anywhere, and no run says that something is."""
    records = load_run(cluster.state, "last").devices.values()
    return not any(cluster.fleet.load(n)["staged"] for n in cluster.new.files) and not any(d.littered for d in records)


def read(cluster: Cluster) -> list[tuple[str, str]]:
    """As `fabric plan` reads the devices; what was cleared away."""
    with dead_changes(cluster.state, cluster.clock) as dead:
        source = LiveSource(cluster.new, cluster.fleet.open, dead=dead)
        source.fetch(cluster.new.devices)
        for device, token in source.cleared:
            record_cleared(dead[device, token], device, cluster.clock)
    return source.cleared


def test_a_plan_clears_it_away(cluster: Cluster) -> None:
    record = load_run(cluster.state, "last")
    assert read(cluster) == [(LOST, record.id)]
    assert clean(cluster)
    assert load_run(cluster.state, "last").status == record.status == "incomplete"
    assert read(cluster) == []


def test_resume_clears_it_away(cluster: Cluster) -> None:
    assert cluster.operator().resume("last")[LOST].result == "done"
    assert clean(cluster)


def test_the_next_apply_clears_it_away_also_where_it_then_refuses(cluster: Cluster) -> None:
    plan = cluster.plan()
    cluster.fleet.edit(LOST, AGENT, '{"by": "hand"}')
    assert cluster.operator().apply(plan)[LOST].result == "refused"
    assert not cluster.fleet.load(LOST)["staged"]


@pytest.mark.parametrize("by_hand", [False, True])
def test_rollback_clears_it_away_and_touches_nothing_else(cluster: Cluster, by_hand: bool) -> None:
    if by_hand:
        cluster.fleet.edit(LOST, AGENT, '{"by": "hand"}')
    held = cluster.fleet.running(LOST)
    assert cluster.operator().rollback("last")[LOST].result == "rolled-back"
    assert cluster.fleet.running(LOST) == held
    assert clean(cluster)


def test_no_plan_clears_away_what_is_not_dead(cluster: Cluster) -> None:
    staged = cluster.fleet.load(LOST)["staged"]
    with locked(cluster.state, "fabric apply", "now"):
        assert read(cluster) == []
    cluster.fleet.hook = fails(LOST, "discard", refused())
    assert read(cluster) == []
    assert cluster.fleet.load(LOST)["staged"] == staged


def test_what_a_kill_left_is_cleared_away(tmp_path: Path) -> None:
    folder = tmp_path / "devices"
    folder.mkdir()
    cluster = Cluster(tmp_path / "state", job(9000, 4, 1), job(9100, 4, 1), folder=folder).install()
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom tests.change.fake_cluster import Cluster, job\n"
        "cluster = Cluster(Path(sys.argv[1]), job(9000, 4, 1), job(9100, 4, 1), folder=Path(sys.argv[2]))\n"
        "cluster.fleet.hook = lambda _n, point: point != 'stage-done' or os.kill(os.getpid(), signal.SIGKILL)\n"
        "cluster.apply()\n"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code, str(cluster.state), str(folder)], cwd=root, check=False)
    assert done.returncode == -signal.SIGKILL
    assert [device for device, _token in read(cluster)] == [LOST]
    assert clean(cluster)
    assert load_run(cluster.state, "last").status == "interrupted"


def test_a_stale_lock_is_told_by_who_changes_something(cluster: Cluster) -> None:
    killed = {"pid": 1, "host": "elsewhere", "started": "then", "boot": "", "what": "fabric apply"}
    (cluster.state / "lock").write_text(json.dumps(killed), encoding="utf-8")
    assert read(cluster)
    for told in ("stale lock of fabric apply (since then) taken over: it ran on elsewhere; see fabric runs list", ""):
        with locked(cluster.state, "fabric resume", "now") as stale:
            assert stale == told
