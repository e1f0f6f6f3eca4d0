"""The same over a program `ansible-playbook`: how it is started, followed and ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fabric.change.control import Control
from fabric.change.events import Step
from fabric.change.runs import load_run
from fabric.errors import FabricError
from tests.change.hosts.host_scene import Scene, host, install_fake, results, until

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    install_fake(tmp_path, monkeypatch)
    return lambda **values: Scene(tmp_path, **{"count": 2, **values})


def test_a_playbook_with_a_mistake_blames_no_host(scene: Any) -> None:
    one = scene().by_program()
    plan = one.plan()
    (one.folder / "refuse").touch()
    with pytest.raises(FabricError, match=r"^ansible-playbook ended with code 4: site.yml: line 3: no such role$"):
        one.plan()
    ended = one.operator().apply(plan)
    assert set(results(ended).values()) == {"not-started"}
    assert "no such role" in ended["h00"].detail


def test_an_ansible_that_is_killed_leaves_unknown_hosts(scene: Any) -> None:
    one = scene().by_program()
    plan = one.plan()
    operator = one.operator()
    operator.observers = [
        lambda e: (one.folder / "die").touch() if isinstance(e, Step) and e.step == "configuring" else None
    ]
    ended = operator.apply(plan)
    assert results(ended) == {**dict.fromkeys(one.names, "not-started"), "h00": "unknown"}
    assert "code -9 in the task 'Write the files'" in ended["h00"].detail
    (one.folder / "die").unlink()
    one.control = Control()
    assert set(results(one.operator().resume("last")).values()) == {"done"}


def test_twice_interrupted_ends_ansible(scene: Any) -> None:
    one = scene().by_program()
    plan = one.plan()
    one.set("h00", hang={"apply": 60})
    operator = one.operator()

    def both(event: Any) -> None:
        if isinstance(event, Step) and event.step == "configuring":
            one.control.interrupt()
            one.control.interrupt()

    operator.observers = [both]
    assert results(operator.apply(plan))["h00"] == "unknown"


def test_no_secret_leaves_this_process(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_PASSWORD", "Zebra-4711-secret")
    one = scene().by_program()
    one.set("h01", fail="apply")
    one.apply()
    for file in (one.folder / "state").rglob("*"):
        assert not file.is_file() or "Zebra-4711" not in file.read_text()
    assert "Zebra-4711" not in json.dumps([run["argv"] for run in one.runs()])


KILLED = """
import sys
from pathlib import Path
from tests.change.hosts.host_scene import Scene
one = Scene(Path(sys.argv[1]), count=4).by_program()
one.set("h02", hang={"apply": 600})
one.slurm = None
one.apply()
"""


def test_kill_dash_nine_takes_ansible_along_and_can_be_resumed(scene: Any, tmp_path: Path) -> None:
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, env=env)
    try:
        one = scene(count=0)
        until(lambda: one.path("h01").exists() and one.get("h01")["has"] == 2)  # which is the moment before h02 hangs
        assert list(tmp_path.glob("fabric-scratch-*"))
    finally:
        process.kill()
        process.wait()
    until(lambda: not [run for run in one.runs() if Path(f"/proc/{run['pid']}").exists()])
    until(lambda: not list(tmp_path.glob("fabric-scratch-*")))  # spec and names of hosts stay nowhere
    record = load_run(one.folder / "state", "last")
    assert record.status == "interrupted"
    assert {d.name: d.result or d.step for d in record.devices.values()} == {
        "h00": "done", "h01": "configuring", "h02": "configuring", "h03": "configuring",
    }  # fmt: skip
    done = [name for name in ("h01", "h02", "h03") if one.get(name)["has"] == 2]
    assert done == ["h01"]
    one.hosts = [host(n) for n in range(4)]
    one.set("h02", hang={})
    assert results(one.operator().resume("last")) == dict.fromkeys(("h01", "h02", "h03"), "done")
    assert load_run(one.folder / "state", "last").status == "complete"
