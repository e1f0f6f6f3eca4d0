"""The Ansible module against scripted devices: check and diff mode, a run, a second run, failures; no secret in any result."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.testing import patch_module_args

import fabric.cli.live
from fabric.change.clock import SystemClock
from fabric.change.control import Control
from fabric.change.runs import load_run
from fabric.design.load import load_spec
from fabric.targets import render_devices
from tests.change.fake_fleet import Fleet, fails, lost, refused

ROOT = Path(__file__).resolve().parents[2]
HASH = "$6$salt$ThisMustNeverBeShownAnywhere"
CANARIES = ("z01-rtsw001", "z02-rtsw001", "z01-ctsw01", "atsw001")


@pytest.fixture(scope="module")
def plugin() -> Any:
    """The module's file, imported."""
    path = ROOT / "playbooks" / "plugins" / "modules" / "fabric_switch.py"
    spec = importlib.util.spec_from_file_location("fabric_switch", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["fabric_switch"] = module  # dataclasses look for their module there
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """The lab's switches, which hold the spec as it was when the IP MTU was 9000."""
    shutil.copy(ROOT / "inventories" / "lab" / "cluster.yaml", tmp_path)
    spec = tmp_path / "cluster.yaml"
    made = Fleet(SystemClock())
    job = render_devices(load_spec(spec), None)
    for ref in job.devices:
        made.install(ref.name, {a.path: a.content.decode() for a in job.render(ref.name)})
    spec.write_text(f"{spec.read_text()}mtu: {{ip: 8000}}\n")
    monkeypatch.setattr(fabric.cli.live, "driver", lambda ref, _model, _login, _fill: made.open(ref))
    monkeypatch.setenv("FABRIC_NETOPS_HASH", HASH)
    monkeypatch.delenv("FABRIC_STATE", raising=False)
    return made


@pytest.fixture
def call(
    plugin: Any, fleet: Fleet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., dict[str, Any]]:
    """`call(check=True, devices=[...])`: what the module gives back to Ansible."""

    def run(*, check: bool = False, **params: Any) -> dict[str, Any]:
        internal = {"_ansible_check_mode": check, "_ansible_diff": True}
        with (
            patch_module_args({"spec": str(tmp_path / "cluster.yaml"), **internal, **params}),
            pytest.raises(SystemExit),
        ):
            plugin.main()
        out = capsys.readouterr().out
        assert HASH not in out
        result: dict[str, Any] = json.loads(out)
        return result

    return run


def test_check_mode_shows_and_changes_nothing(
    call: Callable[..., dict[str, Any]], fleet: Fleet, tmp_path: Path
) -> None:
    for result in (call(check=True), call(state="planned")):
        assert result["changed"] is True
        assert result["counts"] == {"changed": 10}
        assert "mtu 8000" in result["diff"]["prepared"]
        assert result["run"] == ""
    assert {point for _, point in fleet.calls} == {"read", "pending", "close"}
    assert not (tmp_path / ".fabric").exists()


def test_second_run_changes_nothing(call: Callable[..., dict[str, Any]], fleet: Fleet, tmp_path: Path) -> None:
    first = call(commit_timer=120, wave_size=2)
    assert first["changed"] is True
    assert first["counts"] == {"done": 10}
    assert "mtu 8000" in first["diff"]["prepared"]
    record = load_run(tmp_path / ".fabric", first["run"])
    assert record.started.timer_s == 120
    assert max(map(len, record.started.waves)) == 2
    assert HASH not in "".join(file.read_text() for file in record.folder.rglob("*") if file.is_file())
    assert all("mtu 8000" in text for text in fleet.running("atsw001").values())
    second = call()
    assert (second["changed"], second["counts"], second["devices"]) == (False, {"same": 10}, {})
    assert "diff" not in second


def test_limit_takes_only_those(call: Callable[..., dict[str, Any]], fleet: Fleet) -> None:
    result = call(devices=["z02-*"])
    assert set(result["devices"]) == {"z02-rtsw001", "z02-rtsw002", "z02-ctsw01", "z02-ctsw02"}
    assert {name for name, _ in fleet.calls} == set(result["devices"])


def test_a_canary_that_refuses_stops_the_rest(call: Callable[..., dict[str, Any]], fleet: Fleet) -> None:
    fleet.hook = fails(CANARIES[0], "stage", refused("% Invalid input at line 7"))
    result = call()
    assert (result["failed"], result["changed"]) == (True, False)
    assert result["counts"] == {"failed": 1, "not-started": 9}
    (failed, *_, stopped, left) = result["msg"].split("; ")
    assert failed.startswith(f"1 switch not as declared: {CANARIES[0]}: failed: ")
    assert "% Invalid input at line 7" in failed
    assert re.fullmatch(f"stopped: canary {CANARIES[0]}.*", stopped)
    assert left == "9 not started"


def test_a_later_failure_tells_what_was_changed(call: Callable[..., dict[str, Any]], fleet: Fleet) -> None:
    fleet.hook = fails(CANARIES[1], "confirm", refused("% no"))
    result = call(max_failed=99, canary="z01-*")
    assert (result["failed"], result["changed"]) == (True, True)
    assert result["devices"][CANARIES[1]]["result"] == "rolled-back"
    assert result["counts"]["done"] == 9


def test_an_unreadable_switch_fails_the_task_after_the_others(
    call: Callable[..., dict[str, Any]], fleet: Fleet
) -> None:
    fleet.hook = fails("atsw002", "read", lost("atsw002 (10.0.1.2:22)"))
    result = call()
    assert result["failed"] is True
    assert result["msg"] == "1 switch could not be read: atsw002 (10.0.1.2:22): the connection was lost"
    assert result["counts"] == {"done": 9}
    again = call(check=True)
    assert (again["failed"], again["changed"], again["counts"]) == (True, False, {"unknown": 1, "same": 9})


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"spec": "/no/such/cluster.yaml"}, r"/no/such/cluster\.yaml.*"),
        ({"devices": ["z09-*"]}, r".*'z09-\*' matches none of 10 devices.*"),
        ({"commit_timer": 5}, r"commit_timer is 5; it must be between 30 and 3600"),
        ({"canary": "nobody"}, r"--canary 'nobody' matches no device that changes"),
        ({"state": "gone"}, r"value of state must be one of: planned, applied, got: gone"),
    ],
)
def test_what_the_user_got_wrong_is_one_line(
    call: Callable[..., dict[str, Any]], params: dict[str, Any], words: str
) -> None:
    result = call(**params)
    assert result["failed"] is True
    assert re.fullmatch(words, result["msg"])


def test_missing_secret_is_said_before_anything_is_sent(
    call: Callable[..., dict[str, Any]], fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FABRIC_NETOPS_HASH")
    assert "FABRIC_NETOPS_HASH" in call()["msg"]
    assert {point for _, point in fleet.calls} == {"read", "pending", "close"}


def test_lock_of_another_run(call: Callable[..., dict[str, Any]], fleet: Fleet, tmp_path: Path) -> None:
    from fabric.change.lock import locked

    with locked(tmp_path / ".fabric", "apply 1", "now"):
        assert "this cluster is being changed by apply 1" in call()["msg"]


def test_nobody_waits_any_more(plugin: Any) -> None:
    control, waiting = Control(), threading.Event()
    plugin.LOOK_S = 0.01
    plugin.stop_when_gone(control, waiting.is_set)
    time.sleep(0.05)
    assert not control.stopping()
    waiting.set()
    end = time.monotonic() + 120
    while not control.stopping() and time.monotonic() < end:
        time.sleep(0.01)
    assert control.stopping()
    assert not control.abandoned()


def test_reader_gone(plugin: Any) -> None:
    """In a process of its own: it is about standard output."""
    read, write = os.pipe()
    wait, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(write, 1)
        os.close(write)
        before = plugin.reader_gone()
        os.close(read)
        os.close(go)
        os.read(wait, 1)  # until the parent has closed its end too
        os._exit(10 * before + plugin.reader_gone())
    for end in (write, read, go, wait):
        os.close(end)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) in (1, 11)


def test_documented_options_are_those_it_takes(plugin: Any) -> None:
    options = yaml.safe_load(plugin.DOCUMENTATION)["options"]
    assert set(options) == set(plugin.ARGUMENTS)
    for name, argument in plugin.ARGUMENTS.items():
        documented = {key: value for key, value in options[name].items() if key != "description"}
        assert documented in ({"type": "str", **argument}, argument), name
