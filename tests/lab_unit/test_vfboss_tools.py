"""The box's command lines as real processes, without an agent (which programs the kernel: see tests/lab); no root needed."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from fabric.lab import proc
from fabric.lab.fboss.node import Node
from fabric.lab.fboss.timers import seconds, timers
from tests.lab_unit.vfboss_box import make_node, tool

REFUSED = (
    "AsyncSocketException: connect failed, type = Socket not open, errno = 111 (Connection refused): Connection refused"
)


@pytest.fixture
def box(tmp_path: Path) -> Node:
    return make_node(tmp_path)


def fault(node: Node, **found: object) -> None:
    (node.folder / "faults.json").write_text(json.dumps(found), encoding="utf-8")


def test_nobody_answers(box: Node) -> None:
    done = tool(box, "fboss2", "--fmt", "json", "show", "port")
    assert (done.returncode, done.stdout) == (1, "{}\n")
    words = f"Thrift call failed: '{REFUSED}'"
    assert done.stderr == f"localhost::\n{'=' * 80}\n{words}\n\nlocalhost: {words}\n"


@pytest.mark.parametrize(
    "words",
    [
        "show version agent",
        "show",
        "config reload",
        "bounce",
        "--nonsense show port",
        "set port eth2/1/1 state sideways",
        "",
    ],
)
def test_unknown_commands(box: Node, words: str) -> None:
    done = tool(box, "fboss2", *words.split())
    assert done.returncode > 100
    assert done.stdout == ""
    assert done.stderr.endswith("Run with --help for more information.\n")


def test_product_in_both_places_of_the_option(box: Node) -> None:
    before = tool(box, "fboss2", "--fmt", "json", "show", "product")
    assert json.loads(before.stdout) == {
        "localhost": {"product": "MINIPACK2", "oem": "fabric virtual lab", "serial": "LAB-box"}
    }
    assert tool(box, "fboss2", "show", "product", "--fmt=json").stdout == before.stdout
    assert "MINIPACK2" in tool(box, "fboss2", "show", "product").stdout


def test_a_port_is_not_shut_without_a_yes(box: Node) -> None:
    done = tool(box, "fboss2", "set", "port", "eth2/1/1", "state", "disable")
    assert done.returncode == 1
    assert (
        "Invalid argument: Refusing to proceed: stdin/stderr is not a TTY and -y/--yes was not passed." in done.stderr
    )


def test_faults_of_the_command_line(box: Node) -> None:
    fault(box, garbage=True)
    assert "]not json" in tool(box, "fboss2", "show", "product").stdout
    fault(box, garbage=True, only="bgp")
    assert "MINIPACK2" in tool(box, "fboss2", "show", "product").stdout
    assert "]not json" in tool(box, "fboss2", "--fmt", "json", "show", "bgp", "summary").stdout
    fault(box, flood_mb=3)
    assert len(tool(box, "fboss2", "show", "product").stdout) == 3 << 20
    fault(box, hang=True)
    with pytest.raises(subprocess.TimeoutExpired):
        tool(box, "fboss2", "show", "product", timeout=2)
    fault(box, log_lines=True)
    noisy = tool(box, "fboss2", "--fmt", "json", "show", "product")
    assert noisy.stderr.startswith("I0102")
    assert json.loads(noisy.stdout)["localhost"]["product"] == "MINIPACK2"


# --- units -----------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("is-active qsfp_service", 0, "active"),
        ("is-active fboss_sw_agent", 3, "failed"),
        ("is-active nothing", 3, "inactive"),
        ("restart nothing", 5, "Failed to restart nothing.service: Unit nothing.service not found."),
        ("stop nothing.timer", 5, "Failed to stop nothing.timer: Unit nothing.timer not loaded."),
        ("frobnicate qsfp_service", 1, "Unknown command verb 'frobnicate'."),
        ("show qsfp_service -p NRestarts -p ActiveState", 0, "NRestarts=0\nActiveState=active"),
        ("show qsfp_service -p ActiveState --value", 0, "active"),
    ],
)
def test_systemctl(box: Node, words: str, status: int, said: str) -> None:
    done = tool(box, "systemctl", *words.split())
    assert (done.returncode, (done.stdout + done.stderr).strip()) == (status, said)


def test_older_boxes_run_one_agent(tmp_path: Path) -> None:
    old = make_node(tmp_path, settings={"model": "wedge400", "agent": "wedge_agent"}, model="wedge400")
    assert tool(old, "systemctl", "is-active", "wedge_agent").stdout == "failed\n"
    assert tool(old, "systemctl", "is-active", "fboss_sw_agent").stdout == "inactive\n"
    assert tool(old, "systemctl", "restart", "fboss_hw_agent@0").returncode == 5


def test_pretended_units_stop_and_start(box: Node) -> None:
    for verb, state in (("stop", "inactive"), ("start", "active"), ("restart", "active")):
        assert tool(box, "systemctl", verb, "qsfp_service").returncode == 0
        assert tool(box, "systemctl", "is-active", "qsfp_service").stdout.strip() == state
    fault(box, qsfp_down=True)
    assert tool(box, "systemctl", "is-active", "qsfp_service").stdout.strip() == "failed"


# --- timers ----------------------------------------------------------------------------------------------------------------------
def arm(box: Node, after: str, name: str, *command: str) -> int:
    return tool(box, "systemd-run", f"--on-active={after}", f"--unit={name}", *command).returncode


def active(box: Node, unit: str) -> bool:
    return tool(box, "systemctl", "is-active", unit).returncode == 0


def test_a_timer_fires_once(box: Node, tmp_path: Path) -> None:
    mark = tmp_path / "fired"
    assert arm(box, "300s", "later", "/bin/true") == 0  # one that cannot fire while a busy machine looks at it
    assert active(box, "later.timer")
    assert "later.timer" in tool(box, "systemctl", "list-timers").stdout
    assert tool(box, "systemctl", "stop", "later.timer").returncode == 0
    armed = time.time()
    assert arm(box, "3s", "t", "/bin/sh", "-c", f"echo x >> {mark}") == 0
    limit = time.monotonic() + 120
    while not mark.exists() or active(box, "t.service"):
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert mark.stat().st_mtime - armed >= 2.9, "not before its time"  # files have the time of the last tick
    assert not active(box, "t.timer")
    assert tool(box, "systemctl", "stop", "t.timer").returncode == 5  # it fired: nothing is left to stop
    assert mark.read_text(encoding="utf-8") == "x\n"


def test_a_stopped_timer_does_not_fire(box: Node, tmp_path: Path) -> None:
    mark = tmp_path / "fired"
    assert arm(box, "300", "t", "/usr/bin/touch", str(mark)) == 0  # stopped before, also on a busy machine
    assert arm(box, "10", "t", "/bin/true") == 1  # the name is taken
    row = timers(box)["t"]
    assert tool(box, "systemctl", "stop", "t.timer").returncode == 0
    assert not active(box, "t.timer")
    limit = time.monotonic() + 120
    while proc.start_time(row["pid"]) == row["start"]:  # what would fire is gone
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert not mark.exists()
    assert arm(box, "300", "t", "/bin/true") == 0  # the name is free again
    assert tool(box, "systemctl", "stop", "t.timer").returncode == 0


def test_a_timer_takes_nothing_of_the_session(box: Node, tmp_path: Path) -> None:
    out = tmp_path / "env"
    arm(box, "0.1", "t", "/bin/sh", "-c", f"echo $$ $(ps -o sid= -p $$) $PWD > {out}; sleep 0")
    limit = time.monotonic() + 120
    while not out.exists() or not out.read_text(encoding="utf-8"):
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert out.read_text(encoding="utf-8").split()[2] == "/"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--on-active=soon", "/bin/true"], "Failed to parse timer value: soon"),
        (["--on-active=5"], "Command line to execute required."),
        (["--frob", "/bin/true"], "systemd-run: unrecognized option '--frob'"),
        (["--unit=a/b", "/bin/true"], "Failed to mangle unit name: Invalid argument: a/b"),
    ],
)
def test_systemd_run_refuses(box: Node, words: list[str], said: str) -> None:
    done = tool(box, "systemd-run", *words)
    assert (done.returncode, done.stderr.strip()) == (1, said)


@pytest.mark.parametrize(
    ("text", "value"),
    [("300", 300), ("5min", 300), ("1h 30s", 3630), ("1h30s", 3630), ("1.5s", 1.5), ("200ms", 0.2), ("2 m", 120)],
)
def test_time_spans(text: str, value: float) -> None:
    assert seconds(text) == pytest.approx(value)


def test_journal_of_a_timer(box: Node) -> None:
    arm(box, "0", "t", "/bin/echo", "hello")
    limit = time.monotonic() + 120
    while "hello" not in tool(box, "journalctl", "-u", "t", "--no-pager").stdout + tool(box, "journalctl").stdout:
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert tool(box, "journalctl", "-u", "other").stdout == "-- No entries --\n"
