"""`apply --hosts` over fake hosts: what is done in which order, how hosts end, what stops a run, what a kill leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.change.events import RunEnded, Step
from fabric.change.hosts.options import HostOptions
from fabric.change.hosts.planning import moved, rows
from fabric.change.hosts.work import FileRow, HostOutcome, TaskRow
from fabric.change.runs import load_run
from fabric.errors import FabricError
from tests.change.hosts.host_scene import Scene, results


@pytest.fixture
def scene(tmp_path: Path) -> Any:
    return lambda **values: Scene(tmp_path, **values)


def test_plan_groups_what_is_the_same(scene: Any) -> None:
    one = scene()
    one.set("h01", wants=1)
    one.set("h02", unreachable="check")
    one.set("h03", fail="check")
    plan = one.plan()
    kinds = {d.name: d.kind for d in plan.devices}
    assert kinds == {**dict.fromkeys(one.names, "changed"), "h01": "same", "h02": "unknown", "h03": "unknown"}
    assert [group.devices for group in plan.groups] == [("h00", "h04", "h05")]
    assert plan.exit_code == 1
    assert {d.note for d in plan.devices if d.kind == "unknown"} == {
        "not reached: it is unreachable",
        "check mode failed: network: Write the files: it is failed",
    }
    assert {run["kind"] for run in one.runs()} == {"check"}


def test_all_goes_well(scene: Any) -> None:
    one = scene()
    one.set("h05", wants=1)
    assert results(one.apply()) == dict.fromkeys(one.names[:5], "done")
    assert [(run["kind"], len(run["hosts"])) for run in one.runs()[1:]] == [
        (kind, size) for size in (1, 4) for kind in ("check", "apply", "check")
    ]
    assert [call[0] for call in one.slurm.calls] == ["drain", "undrain"] * 2
    assert one.slurm.out == {}
    record = load_run(one.folder / "state", "last")
    assert (record.status, record.of_hosts) == ("complete", True)
    steps = [event.step for event in one.events if isinstance(event, Step) and event.device == "h00"]
    assert steps == ["asking", "draining", "configuring", "examining", "returning"]
    assert one.plan().exit_code == 0


def test_a_host_that_was_done_meanwhile_is_not_drained(scene: Any) -> None:
    one = scene()
    plan = one.plan()
    one.set("h01", has=2)
    assert results(one.operator().apply(plan)) == {**dict.fromkeys(one.names, "done"), "h01": "unchanged"}
    assert not [call for call in one.slurm.calls if "h01" in call[1]]


def test_a_host_that_moved_since_the_plan_is_refused(scene: Any) -> None:
    one = scene()
    plan = one.plan()
    one.set("h02", has=0)
    ended = one.operator().apply(plan)
    assert results(ended) == {**dict.fromkeys(one.names, "done"), "h02": "refused"}
    assert ended["h02"].detail == (
        "it would change in other things than planned, it has moved since: /etc/x changes otherwise"
    )
    assert one.get("h02")["has"] == 0


def test_what_moved_is_told() -> None:
    def outcome(*tasks: tuple[str, str, str], reboot: tuple[str, ...] = ()) -> HostOutcome:
        made = [
            TaskRow("base", title, (FileRow(path, "new", "", ((line,),)),) if path else ())
            for title, path, line in tasks
        ]
        return HostOutcome("h", "changed", "", tuple(made), dict.fromkeys(reboot, "why"))

    a, b, c, d, e = [("Write", f"/etc/{name}", "+ 1") for name in "abcde"]
    install = ("Install", "", "")
    assert moved(outcome(a, b), rows(outcome(a, c))) == "/etc/b is new, /etc/c is gone"
    assert moved(outcome(install, reboot=("rdma",)), ()) == "base: Install is new, reboot for rdma is new"
    assert moved(outcome(("Write", "/etc/a", "+ 2")), rows(outcome(a))) == "/etc/a changes otherwise"
    assert moved(outcome(a, b, c, d, e), ()) == "/etc/a is new, /etc/b is new, /etc/c is new and 2 more"
    assert moved(outcome(b, a), rows(outcome(a, b))) == "its tasks come in another order"


@pytest.mark.parametrize(
    ("setting", "result", "detail", "drained"),
    [
        ({"fail": "apply"}, "broken", "network: Write the files: it is failed; it stays drained", True),
        ({"unreachable": "apply"}, "lost", "it is not reached any more: it is unreachable; it stays drained", True),
        ({"sticky": True}, "broken", "difference remains: network: Write the files (/etc/x); it stays drained", True),
        ({"sick": ["qos.pfc"]}, "broken", "unhealthy: h03: qos.pfc; it stays drained", True),
        ({"unseen": "no answer"}, "unknown", "its health could not be seen: no answer; it stays drained", True),
        ({"ill": ["gpu.ecc"]}, "done", "unhealthy as before: h03: gpu.ecc", False),
        ({"reboot": True}, "pending", "rdma (firmware changes); not allowed (--allow-reboot)", False),
    ],
)  # fmt: skip
def test_how_a_host_ends(scene: Any, setting: dict[str, Any], result: str, detail: str, drained: bool) -> None:
    one = scene(options=HostOptions(max_failed=5, gate_s=1))
    one.set("h03", **setting)
    ended = one.apply()
    assert results(ended) == {**dict.fromkeys(one.names, "done"), "h03": result}
    assert ended["h03"].detail.endswith(detail)
    assert ("h03" in one.slurm.out) is drained


def test_a_bad_canary_stops_all(scene: Any) -> None:
    one = scene()
    one.set("h00", sick=["qos.pfc"])
    assert results(one.apply()) == {**dict.fromkeys(one.names, "not-started"), "h00": "broken"}
    assert one.events[-1] == RunEnded(one.events[-1].run, {"broken": 1, "not-started": 5}, "canary h00: broken")
    assert all(one.get(name)["has"] == 1 for name in one.names[1:])


def test_so_many_failures_stop_the_rest(scene: Any) -> None:
    one = scene(wave_size=2, options=HostOptions(max_failed=2))
    one.set("h01", fail="apply")
    one.set("h02", fail="apply")
    assert list(results(one.apply()).values()) == ["done", "broken", "broken", *["not-started"] * 3]


def test_jobs_have_time_to_end(scene: Any) -> None:
    one = scene()
    one.slurm.jobs = {"h02": 2, "h03": 10**6}
    ended = one.apply()
    assert results(ended) == {**dict.fromkeys(one.names, "done"), "h03": "refused"}
    assert ended["h03"].detail == "its jobs did not end in 3600 s"
    assert one.slurm.out == {}
    assert one.get("h03")["has"] == 1


def test_what_others_have_drained_stays_drained(scene: Any) -> None:
    one = scene(drained=("h04",))
    one.slurm.out = {"h03": "broken fan"}
    assert set(results(one.apply()).values()) == {"done"}
    assert one.slurm.out == {"h03": "broken fan"}
    assert not [call for call in one.slurm.calls if "h04" in call[1]]


def test_reboots_some_at_a_time_and_never_a_whole_rack(scene: Any) -> None:
    one = scene(count=8, wave_size=8, options=HostOptions(allow_reboot=True, reboots=3))
    for name in one.names:
        one.set(name, reboot=True)
    assert set(results(one.apply()).values()) == {"done"}
    boots = [run["hosts"] for run in one.runs() if run["kind"] == "reboot"]
    assert sorted(name for batch in boots for name in batch) == one.names
    for batch in boots:
        assert len(batch) <= 3
        assert len({int(name[1:]) // 2 for name in batch}) == len(batch)


def test_no_reboot_beside_a_neighbour_that_did_not_come_back(scene: Any) -> None:
    one = scene(count=4, options=HostOptions(allow_reboot=True, max_failed=9), canary="h02")
    for name in ("h00", "h01"):
        one.set(name, reboot=True)
    one.set("h00", unreachable="reboot")
    ended = one.apply()
    assert results(ended) == {"h00": "lost", "h01": "pending", "h02": "done", "h03": "done"}
    assert ended["h01"].detail == "waits for a reboot: rdma (firmware changes); the rest of its block is away"
    one.set("h00", unreachable="")
    one.canary = None
    assert set(results(one.operator().resume("last")).values()) == {"done"}


def test_a_reboot_that_ends_badly_is_the_last(scene: Any) -> None:
    one = scene(count=9, per_rack=3, wave_size=9, options=HostOptions(allow_reboot=True, reboots=1))
    for name in one.names[1:]:
        one.set(name, reboot=True)
    one.set("h01", unreachable="reboot")
    ended = one.apply()
    assert results(ended)["h00"] == "done"
    assert results(ended)["h01"] == "lost"
    assert ended["h03"].result == "pending"
    assert ended["h03"].detail.endswith("1 host failed")
    assert [run["hosts"] for run in one.runs() if run["kind"] == "reboot"] == [["h01"]]


def test_after_a_reboot_another_one_is_a_fault(scene: Any) -> None:
    one = scene(options=HostOptions(allow_reboot=True))
    one.set("h00", reboot="always")
    assert (
        one.apply()["h00"].detail
        == "after a reboot it waits for another one: rdma (firmware changes); it stays drained"
    )


def test_resume_goes_on_where_a_kill_came(scene: Any) -> None:
    one = scene()
    plan = one.plan()

    class Killed(BaseException):
        pass

    def bomb(event: Any) -> None:
        if isinstance(event, Step) and event.device == "h04" and event.step == "examining":
            raise Killed

    operator = one.operator()
    operator.observers = [bomb]
    with pytest.raises(Killed):
        operator.apply(plan)
    record = load_run(one.folder / "state", "last")
    assert record.status == "interrupted"
    assert sorted(one.slurm.out) == ["h01", "h02", "h03", "h04"]
    ended = one.operator().resume("last")
    assert results(ended) == dict.fromkeys(one.names[1:], "done")
    assert one.slurm.out == {}
    assert load_run(one.folder / "state", "last").status == "complete"


def test_interrupted_before_the_change_gives_back(scene: Any) -> None:
    one = scene()
    plan = one.plan()
    operator = one.operator()
    operator.observers = [lambda e: one.control.interrupt() if isinstance(e, Step) and e.step == "draining" else None]
    assert set(results(operator.apply(plan)).values()) == {"not-started"}
    assert one.slurm.out == {}
    assert all(one.get(name)["has"] == 1 for name in one.names)


def test_interrupted_in_the_change_finishes_the_wave(scene: Any) -> None:
    one = scene()
    plan = one.plan()
    operator = one.operator()
    operator.observers = [lambda e: one.control.halt("no") if isinstance(e, Step) and e.step == "configuring" else None]
    assert results(operator.apply(plan)) == {**dict.fromkeys(one.names, "not-started"), "h00": "done"}
    assert one.slurm.out == {}


def test_no_answer_of_the_scheduler_changes_nothing(scene: Any) -> None:
    class Silent:
        def drain(self, *_: Any) -> frozenset[str]:
            raise FabricError("scontrol failed with code 1: no slurmctld")

        busy = undrain = drain

    one = scene(slurm=Silent())
    ended = one.apply()
    assert set(results(ended).values()) == {"not-started"}
    assert ended["h00"].detail.startswith(
        "the scheduler: scontrol failed with code 1: no slurmctld; it may still be drained"
    )
    assert all(one.get(name)["has"] == 1 for name in one.names)
