"""Writing without half-written files: a temporary file beside the target, fsync, rename."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import sys
from pathlib import Path

from fabric.change.paths import TMP_PREFIX
from fabric.errors import FabricError

_PLAIN = {
    errno.ENOSPC: "no space left on the device",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "not permitted",
    errno.ENOTDIR: "a part of the path is not a folder",
    errno.EISDIR: "there is a folder of that name",
    errno.ENOTEMPTY: "there is a folder of that name",
    errno.ELOOP: "a part of the path is a symbolic link",
    errno.ENAMETOOLONG: "the name is too long",
}


def os_reason(error: OSError) -> str:
    """The reason of an OSError in plain words."""
    return _PLAIN.get(error.errno or 0, error.strerror or str(error))


def cannot(verb: str, path: Path | str, error: OSError) -> FabricError:
    """`cannot write PATH: no space left on the device`."""
    return FabricError(f"cannot {verb} {path}: {os_reason(error)}")


def write_temporary(folder: str, name: str, content: bytes, mode: int, *, fsync: bool = False) -> str:
    """Writes `content` to a new temporary file in `folder`, for the target `name`; its path. Raises OSError, and leaves nothing."""
    path = f"{folder}/{TMP_PREFIX}{os.getpid()}-{name}"[: len(folder) + 1 + 255]
    write_new(path, content, mode, fsync=fsync)
    return path


def write_new(path: str, content: bytes, mode: int, *, fsync: bool = False) -> None:
    """Writes `content` to the file `path` of a run's own (temporary, or in a temporary folder). Raises OSError, and leaves nothing."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
        os.fchmod(handle, mode)
        if fsync:
            os.fsync(handle)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(path).unlink()
        raise
    finally:
        os.close(handle)


def write_atomic(path: Path, content: bytes, mode: int = 0o644) -> None:
    """`path` holds either what it held or all of `content`, at any kill or power cut. Raises FabricError.

    A device, a pipe or a socket of that name stays: a rename would put a file in the place of /dev/null for everybody.
    """
    try:
        require_regular(path)
        folder = os.fspath(path.parent)
        temporary = write_temporary(folder, path.name, content, mode, fsync=True)
        try:
            Path(temporary).rename(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise cannot("write", path, error) from error


def require_regular(path: Path) -> None:
    """Raises OSError (EINVAL) when `path` is something that a file must not take the place of: a device, a pipe, a socket."""
    try:
        kind = path.stat().st_mode
    except FileNotFoundError:
        return
    own_place = not (path.is_symlink() and path.parent.resolve() == Path("/dev"))  # /dev/stdout, whatever it leads to
    if not (own_place and (stat.S_ISREG(kind) or stat.S_ISDIR(kind))):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))


def read_regular(path: str, limit: int) -> bytes | None:
    """Up to `limit` + 1 bytes of a regular file, never through a symbolic link; None when there is no file of that name.

    One byte more than `limit` tells the caller that the file is too large. Raises OSError (ELOOP for a link, EISDIR and EINVAL
    for what is no regular file).
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        kind = os.fstat(handle).st_mode
        if not stat.S_ISREG(kind):
            raise OSError(errno.EISDIR if stat.S_ISDIR(kind) else errno.EINVAL, "not a regular file", path)
        pieces: list[bytes] = []
        left = limit + 1
        while left > 0 and (piece := os.read(handle, min(left, 1 << 20))):
            pieces.append(piece)
            left -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)
    finally:
        os.close(handle)


def sync_file_system(handle: int) -> None:
    """Everything written so far to the file system of the open `handle` is on disk when this returns. Raises OSError."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syncfs(handle) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    else:
        os.sync()
