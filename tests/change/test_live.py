"""Reading live devices at once: those that fail, answer garbage, or never answer do not hold up the others."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from fabric.change.drift import drift_exit
from fabric.change.fan import GivenUpError, fan_out
from fabric.change.live import LiveSource, require_all
from fabric.change.plan import Plan, make_plan
from fabric.change.state_edit import removed, with_state
from fabric.errors import FabricError
from tests.change.fake_cluster import AGENT, STARTUP, Cluster, job
from tests.change.fake_fleet import fails, lost


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path).install()


def plan_of(cluster: Cluster, **options: float) -> Plan:
    source = LiveSource(cluster.new, cluster.fleet.open, **options)  # type: ignore[arg-type]
    source.fetch(cluster.new.devices)
    return make_plan(cluster.new, source, workers=2)


def test_unreachable_devices_are_listed(cluster: Cluster) -> None:
    cluster.fleet.hook = fails("z01-rtsw001", "read", lost("z01-rtsw001"))
    plan = plan_of(cluster)
    assert [(d.name, d.note) for d in plan.devices if d.kind == "unknown"] == [
        ("z01-rtsw001", "z01-rtsw001: the connection was lost")
    ]
    assert (plan.count("changed"), plan.exit_code, drift_exit(plan)) == (7, 1, 2)
    with pytest.raises(FabricError, match="could not read z01-rtsw001"):
        require_all({"z01-rtsw001": "x"})


def test_a_device_that_never_answers_is_given_up(cluster: Cluster) -> None:
    release = threading.Event()

    def hook(name: str, _point: str) -> None:
        if name == "z01-ctsw01":
            release.wait(120)

    cluster.fleet.hook = hook
    start = time.monotonic()
    plan = plan_of(cluster, deadline_s=3, parallel=1)
    release.set()
    assert time.monotonic() - start < 60
    assert [d.name for d in plan.devices if d.kind == "unknown"] == ["z01-ctsw01"]
    assert plan.count("changed") == 7


def test_garbage_and_100_mb_are_a_change_and_no_crash(cluster: Cluster) -> None:
    cluster.fleet.edit("z01-rtsw001", AGENT, "\x00{" + "garbage " * 9)
    cluster.fleet.edit("z01-ctsw01", STARTUP, "x" * (100 << 20))
    plan = plan_of(cluster)
    assert (plan.count("changed"), plan.count("unknown")) == (8, 0)


def test_every_connection_is_closed(cluster: Cluster) -> None:
    cluster.fleet.hook = fails("z01-rtsw001", "read", lost())
    plan_of(cluster)
    opened = {name for name, call in cluster.fleet.calls if call == "read"}
    assert {name for name, call in cluster.fleet.calls if call == "close"} == opened == set(cluster.new.files)


def test_a_bug_in_a_driver_is_no_unreachable_device(cluster: Cluster) -> None:
    cluster.fleet.hook = fails("z01-rtsw001", "read", ValueError("bug"))
    with pytest.raises(ValueError, match="bug"):
        plan_of(cluster)


def test_fan_out_runs_so_many_at_once() -> None:
    running, most, lock = [0], [0], threading.Lock()
    eight = threading.Barrier(8)

    def work(number: int) -> int:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        eight.wait(120)  # nobody goes on before there are eight
        with lock:
            running[0] -= 1
        return number * 2

    assert dict(fan_out(work, range(40), parallel=8)) == {n: n * 2 for n in range(40)}
    assert most[0] == 8


def test_fan_out_gives_up_and_goes_on() -> None:
    release = threading.Event()
    results = dict(fan_out(lambda n: release.wait(120) if n < 2 else n, range(6), parallel=2, deadline_s=3))
    release.set()
    assert [n for n, result in results.items() if isinstance(result, GivenUpError)] == [0, 1]
    assert [results[n] for n in range(2, 6)] == [2, 3, 4, 5]


def test_64_devices(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, job(9000, 24, 8, 2), job(9100, 24, 8, 2)).install()
    assert plan_of(cluster).count("changed") == 64


TEXTS = {
    "": "state:\n  - {match: {name: a}, state: drained}\n",
    "x: 1": "x: 1\nstate:\n  - {match: {name: a}, state: drained}\n",
    "state: []\nx: 1\n": "state:\n  - {match: {name: a}, state: drained}\nx: 1\n",
    "state:  # who is away\n- {match: {zone: 2}, state: planned}\n# end\nx: 1\n": (
        "state:  # who is away\n- {match: {zone: 2}, state: planned}\n- {match: {name: a}, state: drained}\n# end\nx: 1\n"
    ),
    "state:\n    - match: {zone: 2}\n      state: planned\n": (
        "state:\n    - match: {zone: 2}\n      state: planned\n    - {match: {name: a}, state: drained}\n"
    ),
}


@pytest.mark.parametrize("text", TEXTS)
def test_state_in_the_text_of_a_spec(text: str) -> None:
    edited = with_state(text, "a", "drained")
    assert edited == TEXTS[text]
    assert with_state(edited, "a", "drained") == edited
    back = removed(edited, "a")
    assert "name: a" not in back
    assert back == text or text in ("x: 1", "state: []\nx: 1\n")


def test_a_state_on_one_line_is_not_edited() -> None:
    assert with_state("state: [{match: {zone: 1}, state: planned}]\n", "a", "drained") is None


def test_what_runs_under_a_timer_is_not_settled(cluster: Cluster) -> None:
    ref = next(ref for ref in cluster.new.devices if ref.name == "z01-rtsw001")
    device = cluster.fleet.open(ref)
    device.commit(device.stage(cluster.new.render(ref.name), "r1"), 300)
    plan = plan_of(cluster)
    assert [(d.name, d.note) for d in plan.devices if d.kind == "unknown"] == [
        (
            "z01-rtsw001",
            "z01-rtsw001: a change of ours (r1) is not confirmed: timer armed (hint: fabric runs resume, or fabric runs rollback)",
        )
    ]
    assert (plan.exit_code, drift_exit(plan)) == (1, 2)
