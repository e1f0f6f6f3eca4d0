"""Writing files: what must not be replaced, and time that is set meanwhile."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.change.clock import SystemClock
from fabric.change.files import write_atomic
from fabric.errors import FabricError


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def a_link_to_a_device(path: Path) -> None:
    path.symlink_to(os.devnull)


def identity(path: Path) -> tuple[int, ...]:
    """What a replaced or changed file would have other: not its access time, which following a link sets."""
    found = path.lstat()
    return (found.st_dev, found.st_ino, found.st_mode, found.st_nlink, found.st_size, found.st_mtime_ns)


@pytest.mark.parametrize("make", [os.mkfifo, a_socket, a_link_to_a_device])
def test_only_regular_files_are_replaced(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "out"
    make(path)
    before = identity(path)
    with pytest.raises(FabricError, match=r"cannot write .*/out: it is no regular file"):
        write_atomic(path, b"x")
    assert (identity(path), list(tmp_path.iterdir())) == (before, [path])


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
def test_time_that_is_set_meanwhile_moves_no_deadline(monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    clock, before = SystemClock(), time.time()
    monkeypatch.setattr(time, "time", lambda: before + jump)
    assert before - 1 < clock.now() < before + 60
