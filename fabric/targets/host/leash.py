"""Starts a program that does not outlive its parent: `python leash.py PARENT PROGRAM ARGUMENT...`.

Between fork and exec of a process with threads nothing may be done that takes a lock, so this small program does it: the kernel sends it
SIGTERM when its parent ends, also by SIGKILL (prctl(2), PR_SET_PDEATHSIG; kept over exec). It imports nothing of ours, to be quick.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main(argv: list[str]) -> None:
    """Ties this process to `argv[0]`, the parent's id, and becomes the program of the rest."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != int(argv[0]):
            sys.exit(1)
    os.execv(argv[1], argv[1:])  # noqa: S606 - the program that our caller has chosen, without a shell


if __name__ == "__main__":
    main(sys.argv[1:])
