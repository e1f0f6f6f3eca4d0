"""Temporary folders: gone at the end, after SIGKILL too, and never under somebody who still runs."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.targets.host import scratch as module
from fabric.targets.host.scratch import PREFIX, scratch

HOLDER = """
import subprocess, sys, time
from fabric.targets.host.scratch import scratch
with scratch("test") as folder:
    (folder.path / "cluster.yaml").write_text("a")
    (folder.path / "link").symlink_to(sys.argv[1])
    child = subprocess.Popen(["sleep", "600"], pass_fds=(folder.lock,))
    print(folder.path, child.pid, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def until(what: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not what():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


def test_a_folder_is_ours_and_goes_at_the_end(place: Path) -> None:
    with scratch("test") as folder:
        assert folder.path.name.startswith(f"{PREFIX}test-")
        assert folder.path.stat().st_mode & 0o777 == 0o700
        (folder.path / "x").mkdir()
    assert list(place.iterdir()) == []


def test_a_failure_takes_the_folder_along(place: Path) -> None:
    with pytest.raises(ZeroDivisionError), scratch("test"):
        raise ZeroDivisionError
    assert list(place.iterdir()) == []


def test_a_killed_process_leaves_nothing_once_its_program_has_ended(place: Path) -> None:
    (place / "own").mkdir()
    (place / "own" / "token").write_text("secret")
    argv = [sys.executable, "-c", HOLDER, str(place / "own")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        name, child = holder.stdout.readline().split()
        holder.kill()
    time.sleep(0.3)
    with scratch("another"):  # whose sweep must leave it alone too
        assert Path(name, "cluster.yaml").exists(), "its program still runs"
    os.kill(int(child), 9)
    until(lambda: not Path(name).exists())
    assert (place / "own" / "token").read_text() == "secret"


def test_the_next_command_sweeps_what_nobody_holds(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free, held, other = (place / f"{PREFIX}test-{name}" for name in ("free", "held", "other"))
    for path in (free, held, place / "fabric-something"):
        path.mkdir()
    other.write_text("no folder")
    (place / f"{PREFIX}link").symlink_to(held)
    lock = os.open(held, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with scratch("test") as folder:
        left = {path.name for path in place.iterdir()} - {folder.path.name}
    assert left == {held.name, other.name, "fabric-something", f"{PREFIX}link"}
    os.close(lock)
    monkeypatch.setattr(module.os, "geteuid", lambda: 4711)  # type: ignore[attr-defined]
    with scratch("test"):
        assert held.exists(), "another user's"
