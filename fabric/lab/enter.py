"""Run a command inside a lab, with this terminal."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from fabric.lab import syscalls


def run_inside(command: Sequence[str], lab: int | None, node: int | None, env: Mapping[str, str]) -> int:
    """Run `command` in the namespaces of process `lab` (None: in our own), and then of `node` (a pid as the lab sees it); returns its exit code.

    It gets our environment with `env` added, our working directory and our terminal.
    """
    where = os.getcwd()  # noqa: PTH109 - text is what chdir takes in the child
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _step(command, [pid for pid in (lab, node) if pid is not None], {**os.environ, **env}, where)
    return _wait(child)


def _step(command: Sequence[str], pids: Sequence[int], env: Mapping[str, str], where: str) -> NoReturn:
    """Enter the first; only a child is in its pid namespace, so go on there."""
    try:
        if pids:
            syscalls.enter(pids[0])
            child = os.fork()
            if child:
                os._exit(_wait(child))
            _step(command, pids[1:], env, where)
        with contextlib.suppress(OSError):  # a folder that the node does not have: stay at the root
            os.chdir(where)
        os.execvpe(command[0], list(command), dict(env))  # noqa: S606 - what the user typed
    except FileNotFoundError:
        os.write(2, f"error: there is no program {command[0]!r}\n".encode())
        os._exit(127)
    except OSError as error:
        os.write(2, f"error: {error}\n".encode())
    os._exit(126)


def _wait(child: int) -> int:
    """Exit code of the child; signals from the terminal reach it by itself."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return code if code >= 0 else 128 - code
