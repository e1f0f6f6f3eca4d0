"""The write, read and rename probe of a mount. It may hang, so it only ever runs in a child (see `gather`)."""

from __future__ import annotations

import contextlib
import errno
import os

TEXT = b"fabric check-host\n" * 256
"""What is written: some 4.5 KiB, more than one page."""


def probe(path: str, host: str, *, write: bool = True) -> str:
    """An empty text when all went well, else "STEP ERRNO", like "write ENOTCONN"; "read DIFFERENT" when other bytes came back.

    The file's name begins with a dot and holds the host and our process id: hosts that share the mount do not meet.
    """
    step = "stat"
    file = os.path.join(path, f".fabric-check-{host}-{os.getpid()}")  # noqa: PTH118 - one call, nothing to go wrong
    moved = file + ".moved"
    try:
        os.statvfs(path)
        step = "list"
        with os.scandir(path) as entries:
            next(entries, None)
        if not write:
            return ""
        for step, work in (
            ("write", lambda: _write(file)),
            ("read", lambda: _read(file)),
            ("rename", lambda: os.rename(file, moved)),  # noqa: PTH104 - see above
            ("remove", lambda: os.unlink(moved)),  # noqa: PTH108 - see above
        ):
            if work() is False:
                return f"{step} DIFFERENT"
        return ""
    except OSError as error:
        return f"{step} {errno.errorcode.get(error.errno or 0, str(error.errno))}"
    finally:
        for left in (file, moved):
            with contextlib.suppress(OSError):
                os.unlink(left)  # noqa: PTH108 - see above


def _write(file: str) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        os.write(descriptor, TEXT)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(file: str) -> bool:
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        return os.read(descriptor, len(TEXT) + 1) == TEXT
    finally:
        os.close(descriptor)
