"""Processes of their own for tests that kill them or sit at their terminal: forks of this one, which has imported everything already.

A process that is started anew spends most of its time on importing; what these tests ask is what it does then.
"""

from __future__ import annotations

import os
import pty
import signal
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn


def forked(work: Callable[[], object]) -> int:
    """`work` in a process of its own: its exit code, or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        _end(work)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def at_terminal(work: Callable[[], int]) -> tuple[int, int]:
    """`work` in a process at a terminal of its own, with its streams and Ctrl-C: (process id, our end of the terminal)."""
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(fd, mode) for fd, mode in enumerate("rww"))
        _end(work)
    return pid, terminal


def _end(work: Callable[[], object]) -> NoReturn:
    """As a process ends, but none of this one's own business (pytest's, other threads') is done in the copy."""
    code = 1
    try:
        done = work()
        code = done if isinstance(done, int) else 0
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # told where the test's own output goes; the exit code says that it was one
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)
