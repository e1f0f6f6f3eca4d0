"""Starts a program that does not outlive its parent: `python leash.py PARENT PROGRAM ARGUMENT...`.

Between fork and exec of a process with threads nothing may be done that takes a lock, so this small program does it: the kernel sends it
SIGTERM when its parent ends, also by SIGKILL (prctl(2), PR_SET_PDEATHSIG; kept over exec). A program that does not end by that is killed
with its process group some time later, by a watcher that is left behind. It imports nothing of ours, to be quick.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h

GRACE_S = 15.0
"""Seconds between SIGTERM, which launchers hand on to their ranks, and SIGKILL (our choice)."""


def main(argv: list[str]) -> None:
    """Ties this process to `argv[0]`, the parent's id, and becomes the program of the rest."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        with contextlib.suppress(OSError):  # before Linux 5.3: SIGTERM has to be enough
            _watched(os.pidfd_open(int(argv[0])), os.pidfd_open(os.getpid()))
        if os.getppid() != int(argv[0]):
            sys.exit(1)
    os.execv(argv[1], argv[1:])  # noqa: S606 - the program that our caller has chosen, without a shell


def _watched(parent: int, program: int) -> None:
    """Leaves the watcher behind: a grandchild, so that the program has no child that it does not know. Both are pidfds, closed at exec."""
    number = os.getpid()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    if os.fork() == 0:
        _watch(parent, program, number)
    os._exit(0)


def _watch(parent: int, program: int, number: int) -> None:
    """Until the program has ended, or some time after its parent has."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - nobody waits for the end of what we would hold open
        if int(name) not in (parent, program):
            with contextlib.suppress(OSError):  # that of the listing itself
                os.close(int(name))
    gone, _, _ = select.select([parent, program], [], [])
    if program not in gone and not select.select([program], [], [], GRACE_S)[0]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(number, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
