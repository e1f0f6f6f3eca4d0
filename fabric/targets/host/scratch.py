"""Temporary folders that nobody has to clear away: gone at the end, and also when this process is killed.

They hold a copy of the spec, names of hosts, and what Ansible said. Each has a process that waits for its lock (`broom.py`); and whoever makes
a folder removes those that nobody holds, which is what is left when that process was killed too.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from fabric.targets.host import broom
from fabric.targets.host.broom import is_at, sweep

PREFIX = "fabric-scratch-"
"""Of their names. What carries it in the folder for temporary files is swept, so nothing else may."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder of ours. `lock`: the descriptor that holds it; a program that outlives us in there must inherit it."""

    path: Path
    lock: int


@contextmanager
def scratch(purpose: str) -> Iterator[Scratch]:
    """A new folder of mode 0700 for this long; `purpose` is a part of its name. Raises OSError when there can be none."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # what another one's mistake has left there must not keep us from our work
            sweep(left, wait=False)
    folder = _made(purpose)
    waiting = subprocess.Popen(  # noqa: S603 - our own program, no shell
        [sys.executable, "-I", "-S", broom.__file__, str(folder.path)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/",
    )  # fmt: skip
    try:
        yield folder
    finally:
        shutil.rmtree(folder.path)
        fcntl.flock(folder.lock, fcntl.LOCK_UN)  # also for a forked process that still has the descriptor
        os.close(folder.lock)
        waiting.kill()
        waiting.wait()


def _made(purpose: str) -> Scratch:
    """Made and locked. Between the two somebody's sweep may take it for one that nobody holds: then another one is made."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}-"))
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            continue
        if is_at(handle, path):
            return Scratch(path, handle)
        os.close(handle)
