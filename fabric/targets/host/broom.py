"""Removes a temporary folder once nobody holds its lock: `python broom.py FOLDER`, started by `scratch.py`.

Whoever uses the folder holds a flock(2) on it. A process that gets SIGKILL cannot tidy up, but the kernel drops its locks; this one waits
for that. It imports nothing of ours, to be quick, and lives in a session of its own, so that what ends a whole group does not end it.
"""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path


def sweep(folder: Path, *, wait: bool) -> None:
    """Removes `folder` if it is ours and its lock is free; `wait`: as soon as it is. Links in it are removed, not followed."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return  # gone by now, a file, a link, or another user's: nothing of ours
    try:
        if os.fstat(handle).st_uid != os.geteuid():
            return
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        if is_at(handle, folder):
            import shutil  # takes longer than all the rest of a sweep that finds nothing

            shutil.rmtree(folder)
    except BlockingIOError:
        return  # somebody lives in it
    finally:
        os.close(handle)


def is_at(handle: int, folder: Path) -> bool:
    """Whether an open folder is still the one at this path: another process may have swept it between two steps of ours."""
    try:
        return os.path.samestat(os.fstat(handle), folder.lstat())
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    sweep(Path(sys.argv[1]), wait=True)
