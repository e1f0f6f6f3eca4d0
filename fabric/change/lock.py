"""One change of a cluster at a time: a file that is locked as long as its process lives, and says whose it is.

The kernel's lock (flock) decides and falls with the process, however it ends; the text in the file is for people. Local folders.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from fabric.change.files import cannot
from fabric.errors import FabricError

NAME = "lock"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class BusyError(FabricError):
    """Another process holds the lock."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds, or held, the lock; `started` is a UTC time as text, `boot` the boot id of the machine."""

    pid: int
    host: str
    started: str
    boot: str
    what: str


def boot_id() -> str:
    """The id of this boot of the machine; "" where there is none."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


@contextmanager
def locked(state: Path, what: str, now: str, *, in_passing: bool = False) -> Iterator[str]:
    """Holds the cluster's lock; gives a line about a stale lock that was found, or "".

    `what` says what is done under it ("apply 20260131T1200Z"). `in_passing`: who changes nothing leaves a stale lock to be told by who
    does. Raises BusyError when another process holds it.
    """
    path = state / NAME
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise cannot("open the lock", path, error) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _busy(_read(handle), path) from None
        before = _read(handle)
        stale = _stale(before)
        holder = Holder(os.getpid(), socket.gethostname(), now, boot_id(), what)
        _write(handle, json.dumps(asdict(holder)), path)
        try:
            yield stale
        finally:
            _clear(handle)
            if before is not None and in_passing:
                with suppress(FabricError):  # then nobody is told of it: no harm
                    _write(handle, json.dumps(asdict(before)), path)
    finally:
        os.close(handle)


def holder(state: Path) -> Holder | None:
    """The other process that holds the cluster's lock now; None when there is none. Leaves the lock as it is."""
    try:
        handle = os.open(state / NAME, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        found = _read(handle)
        return found if found is not None and found.pid != os.getpid() else None
    except OSError:
        return None
    finally:
        os.close(handle)
    return None


def _read(handle: int) -> Holder | None:
    try:
        raw = json.loads(os.pread(handle, 4096, 0))
        return Holder(int(raw["pid"]), str(raw["host"]), str(raw["started"]), str(raw["boot"]), str(raw["what"]))
    except (ValueError, KeyError, TypeError):
        return None


def _write(handle: int, text: str, path: Path) -> None:
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, text.encode(), 0)
        os.fsync(handle)
    except OSError as error:
        raise cannot("write the lock", path, error) from error


def _clear(handle: int) -> None:
    """An empty file is no stale lock. When even that fails, the next run says "stale", which is no harm."""
    with suppress(OSError):
        os.ftruncate(handle, 0)


def _busy(holder: Holder | None, path: Path) -> BusyError:
    who = (
        f"{holder.what} (process {holder.pid} on {holder.host}, since {holder.started})"
        if holder
        else "another process"
    )
    return BusyError(f"this cluster is being changed by {who}", hint=f"wait until it ends; the lock is {path}")


def _stale(holder: Holder | None) -> str:
    """What became of a holder whose lock fell without a word."""
    if holder is None:
        return ""
    if holder.host != socket.gethostname():
        why = f"it ran on {holder.host}"
    elif holder.boot != boot_id():
        why = "the machine has been restarted since"
    else:
        why = f"process {holder.pid} is gone"
    return f"stale lock of {holder.what} (since {holder.started}) taken over: {why}; see fabric runs list"
