"""Waves over control machines: a real Dask scheduler and two workers, each of which runs its own (fake) Ansible."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabric.change.events import Note, Step
from fabric.change.hosts.dask import DaskRunner, _shares
from fabric.change.hosts.work import Work
from fabric.change.runs import load_run
from fabric.errors import FabricError
from tests.change.hosts.host_scene import Scene, install_fake, results, until

distributed = pytest.importorskip("distributed")


def _address(text: str) -> str | None:
    """The scheduler's address in its file; None while that is being written."""
    try:
        found: str | None = json.loads(text).get("address")
    except ValueError:
        return None
    return found


class Machines:
    """A scheduler and its workers, as processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        file = folder / "scheduler.json"
        self.start("scheduler", "distributed.cli.dask_scheduler", "--port", "0", "--scheduler-file", str(file))
        self.address: str = until(lambda: file.exists() and _address(file.read_text()))
        for name in ("c1", "c2"):
            self.worker(name)

    def start(self, name: str, module: str, *args: str) -> None:
        argv = [sys.executable, "-m", module, "--host", "127.0.0.1", "--no-dashboard", *args]
        env = {**os.environ, "TMPDIR": str(self.folder)}
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(argv, stdout=log, stderr=log, env=env, start_new_session=True)

    def worker(self, name: str) -> None:
        more = ("--no-nanny", "--nthreads", "1", "--name", name, "--local-directory", str(self.folder / name))
        self.start(name, "distributed.cli.dask_worker", self.address, *more)

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def complete(self) -> None:
        for name in ("c1", "c2"):
            if self.processes[name].poll() is not None:
                self.worker(name)

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    folder = tmp_path_factory.mktemp("dask")
    patch = pytest.MonkeyPatch()
    (folder / "fake").mkdir()
    install_fake(folder / "fake", patch)
    made = Machines(folder)
    yield made
    made.stop()
    patch.undo()


def opened(address: str, scene: Scene) -> DaskRunner | None:
    """None while no worker has come yet."""
    try:
        return DaskRunner(address, scene.control.abandoned)
    except FabricError as error:
        assert error.message == f"no control machine (Dask worker) is there at {address}"
        return None


@pytest.fixture
def scene(machines: Machines) -> Iterator[Scene]:
    folder = machines.folder / "fake"
    for file in (folder / "runs.jsonl", *(folder / "hosts").glob("*")):
        file.unlink(missing_ok=True)
    machines.complete()
    one = Scene(folder, count=5, wave_size=8)
    runner = until(lambda: opened(machines.address, one))
    until(lambda: len(runner._workers()) == 2)
    one.runner = runner
    yield one
    runner.close()


def test_what_the_client_keeps_of_the_scheduler_hides_no_machine(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks by itself every two seconds, for no workers, and keeps that: so they seemed lost, in the middle of their work."""
    runner = scene.runner
    assert isinstance(runner, DaskRunner)
    real = distributed.Client._update_scheduler_info

    async def update(self: Any, n_workers: int = 0) -> None:
        await real(self, n_workers)
        await real(self, 0)

    monkeypatch.setattr(distributed.Client, "_update_scheduler_info", update)
    assert len(runner._workers()) == 2


def test_a_wave_is_shared(scene: Scene) -> None:
    assert set(results(scene.apply()).values()) == {"done"}
    wave = [run for run in scene.runs() if run["kind"] == "apply"][1:]
    assert sorted(run["hosts"] for run in wave) == [["h01", "h02"], ["h03", "h04"]]
    assert len({run["parent"] for run in wave}) == 2
    assert {run["spec"] for run in wave} == {"schema: 1\nname: fake\n"}


def test_a_lost_machine_makes_its_hosts_unknown_and_another_goes_on(scene: Scene, machines: Machines) -> None:
    plan = scene.plan()
    scene.set("h03", hang={"apply": 600})
    pids = {name: process.pid for name, process in machines.processes.items()}

    def started() -> dict[str, Any] | None:
        return next((run for run in scene.runs() if run["kind"] == "apply" and "h03" in run["hosts"]), None)

    def break_it() -> None:
        run = until(started)
        scene.set("h03", hang={})
        name = next(name for name, pid in pids.items() if pid == run["parent"])
        machines.kill(name)
        broken.append((name, run["pid"]))

    broken: list[tuple[str, int]] = []
    thread = threading.Thread(target=break_it)
    thread.start()
    ended = scene.operator().apply(plan)
    thread.join()
    assert set(results(ended).values()) == {"done"}
    unknown = {event.device for event in scene.events if isinstance(event, Step) and event.step == "unknown"}
    assert unknown == {"h03", "h04"}
    assert any(isinstance(event, Note) and "was lost: 2 hosts unknown" in event.text for event in scene.events)
    until(lambda: not Path(f"/proc/{broken[0][1]}").exists())  # its Ansible ended with it
    until(lambda: not list(machines.folder.glob("fabric-scratch-*")))
    assert load_run(scene.folder / "state", "last").status == "complete"


def test_who_gives_up_ends_ansible_over_there(scene: Scene) -> None:
    plan = scene.plan()
    scene.set("h00", hang={"apply": 600})
    operator = scene.operator()

    def give_up(event: Any) -> None:
        if isinstance(event, Step) and event.step == "configuring":
            scene.control.interrupt()
            scene.control.interrupt()

    operator.observers = [give_up]
    assert results(operator.apply(plan))["h00"] == "unknown"
    until(lambda: not [run for run in scene.runs() if Path(f"/proc/{run['pid']}").exists()])


def test_refusals_of_a_machine(scene: Scene) -> None:
    assert scene.runner is not None
    work = Work("", "", "hosts_apply.yml", ("h00",), check=True, forks=1, deadline_s=60, tool_version="0.0.1")
    with pytest.raises(
        FabricError, match=r"control machine tcp://\S+: the work was sent by fabric 0.0.1, this control"
    ):
        scene.runner.run(work, lambda _hosts, _why: None)


def test_no_machine_left_is_told(scene: Scene, machines: Machines) -> None:
    plan = scene.plan()
    for name in ("c1", "c2"):
        machines.kill(name)
    runner = scene.runner
    assert isinstance(runner, DaskRunner)
    until(lambda: not runner._workers())
    ended = scene.operator().apply(plan)
    assert set(results(ended).values()) == {"not-started"}
    assert scene.control.reason.startswith("no control machine (Dask worker) is there any more at tcp://")


@pytest.mark.parametrize("hosts", range(1, 9))
@pytest.mark.parametrize("workers", range(1, 5))
def test_shares_are_even(hosts: int, workers: int) -> None:
    names = [f"h{n}" for n in range(hosts)]
    shares = _shares(names, [f"w{n}" for n in range(workers)])
    assert [name for share, _ in shares for name in share] == names
    assert len({worker for _, worker in shares}) == len(shares) <= workers
    assert all(shares[0][0][:1] and len(share) <= -(-hosts // workers) for share, _ in shares)
