"""What stands in the output folder before a render: is it ours, what is in it, and may we write there at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fabric.change.files import cannot, read_regular
from fabric.change.manifest import Manifest, load_manifest
from fabric.change.paths import MANIFEST, TMP_PREFIX, split_tree_path
from fabric.errors import FabricError

JOURNAL = f"{TMP_PREFIX}journal"
"""Paths that a run is about to put in place; it makes a killed first run recognisable as ours, and goes when the manifest is written."""
_JOURNAL_LIMIT = 1 << 30


@dataclass(slots=True)
class Found:
    """The folder before the run: what we own (manifest, journal of a killed run), and the files that are there.

    `files` and `leftovers` (temporary files and folders of a killed run) are relative to the folder; `folders` are the devices that
    have one; `foreign` are names at its top that are no device's and nobody's we know.
    """

    manifest: Manifest | None = None
    journal: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    leftovers: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)


@contextlib.contextmanager
def open_folder(out: Path) -> Iterator[None]:
    """`out` as a folder to render into, created when it is missing; when the run fails before it wrote anything, no trace stays.

    Raises FabricError when `out` is `/`, no folder, or one that holds somebody else's files.
    """
    if out.resolve() == Path(out.resolve().anchor):
        raise FabricError(f"cannot render into {out}: it is the root of the file system", hint="choose an empty folder")
    created = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
        names = sorted(entry.name for entry in os.scandir(out))
    except (FileExistsError, NotADirectoryError) as error:
        raise FabricError(
            f"cannot render into {out}: it is a file, or below one", hint="choose an empty folder"
        ) from error
    except OSError as error:
        raise cannot("open the folder", out, error) from error
    if names and not {MANIFEST, JOURNAL} & set(names):
        raise FabricError(
            f"cannot render into {out}: it is not empty and has no {MANIFEST} of ours ({names[0]!r} is there)",
            hint="choose another or an empty folder",
        )
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            if not any(entry.name != JOURNAL for entry in os.scandir(out)):
                (out / JOURNAL).unlink()
            if created:
                out.rmdir()
        raise


@contextlib.contextmanager
def locked(out: Path) -> Iterator[int]:
    """The open folder, held by this run alone. Raises FabricError when another run has it."""
    try:
        handle = os.open(out, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise cannot("open the folder", out, error) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise FabricError(f"another render is writing to {out}", hint="wait for it to end") from error
        yield handle
    finally:
        os.close(handle)


def scan(out: Path, devices: Collection[str], *, whole: bool) -> Found:
    """Looks through the folders of `devices` (and, when `whole`, those of every device that we wrote before).

    Never follows a link; a link in place of a folder of a device is refused with FabricError.
    """
    found = Found(load_manifest(out), _read_journal(out))
    ours = set(devices)
    if whole:
        ours |= {row.device for row in found.manifest.rows.values()} if found.manifest else set()
        ours |= {path.partition("/")[0] for path in found.journal}
    try:
        for entry in os.scandir(out):
            name = entry.name
            if name in ours:
                _refuse_odd(out, name, entry)
                found.folders.add(name)
                _walk(out, name, found)
            elif name.startswith(TMP_PREFIX) and name != JOURNAL:
                found.leftovers.append(name)
            elif whole and name != MANIFEST and not name.startswith("."):
                found.foreign.append(name)
    except OSError as error:
        raise cannot("read the folder", error.filename or out, error) from error
    return found


def _walk(out: Path, top: str, found: Found) -> None:
    todo = [top]
    while todo:
        folder = todo.pop()
        for entry in os.scandir(out / folder):
            relative = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                todo.append(relative)
            elif entry.name.startswith(TMP_PREFIX):
                found.leftovers.append(relative)
            elif entry.is_symlink() and entry.is_dir():
                _refuse_odd(out, relative, entry)
            else:
                found.files.add(relative)


def _refuse_odd(out: Path, relative: str, entry: os.DirEntry[str]) -> None:
    if entry.is_symlink():
        raise FabricError(
            f"{out / relative} is a symbolic link; fabric does not write through links", hint="remove the link"
        )
    if not stat.S_ISDIR(entry.stat(follow_symlinks=False).st_mode):
        raise FabricError(f"{out / relative} is a file, where the folder of a device belongs", hint="remove the file")


def _read_journal(out: Path) -> set[str]:
    path = out / JOURNAL
    try:
        data = read_regular(str(path), _JOURNAL_LIMIT) or b""
    except OSError as error:
        raise cannot("read", path, error) from error
    lines = data.decode("utf-8", "replace").splitlines()
    return {line for line in lines if split_tree_path(line)}
