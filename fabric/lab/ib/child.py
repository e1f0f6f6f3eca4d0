"""Starting a process that never outlives the one that started it, with or without namespaces of its own."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1
"""linux/prctl.h."""

_libc = ctypes.CDLL(None, use_errno=True)


def start(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    log: Path,
    stdin: int = subprocess.DEVNULL,
    before: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program; what it prints is appended to `log`. The kernel kills it when we die, however we die.

    `before` is called in the new process before the program takes its place. We have no other threads, so it may do what it likes.
    """
    parent = os.getpid()

    def bound_to_us() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # died before that took effect
            os._exit(1)
        if before is not None:
            before()

    with log.open("ab") as out:
        return subprocess.Popen(  # noqa: S603 - our own argument lists
            list(argv), stdin=stdin, stdout=out, stderr=out, env=dict(env), cwd=cwd, start_new_session=True, preexec_fn=bound_to_us,  # noqa: PLW1509
        )  # fmt: skip
