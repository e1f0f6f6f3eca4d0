"""The few Linux calls that Python 3.11 lacks: unshare, setns, mount, umount, sethostname.

Every function raises OSError with the name of what was tried.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

# Values of linux/sched.h and linux/mount.h.
NEWNS = 0x00020000
NEWUTS = 0x04000000
NEWIPC = 0x08000000
NEWUSER = 0x10000000
NEWPID = 0x20000000
NEWNET = 0x40000000

MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_BIND = 0x1000
MS_MOVE = 0x2000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MNT_DETACH = 0x2

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def unshare(flags: int) -> None:
    """Leave the namespaces in `flags` for new ones (a new pid namespace holds the children only)."""
    _check(_libc.unshare(flags), f"unshare({flags:#x})")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount a file system: the system call of that name."""
    _check(
        _libc.mount(source.encode(), target.encode(), kind.encode() or None, flags, options.encode() or None),
        f"mount {kind or source} on {target}",
    )


def bind(source: str, target: str) -> None:
    """Show `source` at `target` as well."""
    mount(source, target, flags=MS_BIND)


def umount(target: str) -> None:
    """Detach what is mounted at `target`, even when it is in use."""
    _check(_libc.umount2(target.encode(), MNT_DETACH), f"umount {target}")


def sethostname(name: str) -> None:
    """Host name of this UTS namespace."""
    raw = name.encode()
    _check(_libc.sethostname(raw, len(raw)), f"sethostname {name}")


NAMESPACES = ("ipc", "uts", "net", "pid", "mnt")
"""Those of a node, in the order in which they are entered."""


def enter(pid: int, *, into: tuple[str, ...] = NAMESPACES) -> None:
    """Enter the namespaces of process `pid`; children then run in its pid namespace. The user namespace comes first when it differs."""
    opened: list[tuple[str, int]] = []
    try:
        if not _same_user_namespace(pid):
            into = ("user", *into)
        for kind in into:  # one at a time, so that those opened are closed when the next cannot be
            opened.append((kind, os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)))  # noqa: PERF401
        for kind, fd in opened:
            _check(_libc.setns(fd, 0), f"setns({kind} of {pid})")
    finally:
        for _, fd in opened:
            os.close(fd)


def _same_user_namespace(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/ns/user").readlink() == Path("/proc/self/ns/user").readlink()
    except OSError:
        return True
