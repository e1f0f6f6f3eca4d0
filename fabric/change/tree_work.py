"""The part of writing a tree that runs in the workers: render a few devices, compare with the disk, put in place what changed."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from fabric.change.files import cannot, read_regular, write_new, write_temporary
from fabric.change.manifest import Row
from fabric.change.paths import TMP_PREFIX, tree_path
from fabric.change.tree_scan import JOURNAL
from fabric.errors import FabricError
from fabric.targets.base import Artifact, RenderJob


@dataclass(slots=True)
class ChunkResult:
    """What one chunk of devices came to; `size` is in bytes, of all files, written or not."""

    rows: list[Row] = field(default_factory=list)
    written: int = 0
    unchanged: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class TreeWorker:
    """Writes chunks of devices of `job` below `out`; only devices' artifacts for `targets` when given.

    `there`: the devices that have a folder. All others are built beside their place, and put there with one rename: half the time.
    """

    job: RenderJob
    out: Path
    targets: frozenset[str] | None
    there: Collection[str]

    def __call__(self, names: Sequence[str]) -> ChunkResult:
        """Renders and writes; all new files of the chunk are complete on the side before the first one is put in place."""
        result = ChunkResult()
        wanted: list[tuple[str, Artifact]] = []
        for name in names:
            self._device(name, result, wanted)
        self._journal([relative for relative, _ in wanted])
        ready: list[tuple[str, str]] = []
        try:
            for name, files in groupby(wanted, key=lambda pair: pair[1].device):
                if name in self.there:
                    for relative, artifact in files:
                        ready.append((self._aside(relative, artifact), relative))
                else:
                    ready.append((f"{self.out}/{TMP_PREFIX}{os.getpid()}-{len(ready)}", name))
                    self._build(ready[-1][0], files)
            while ready:
                self._rename(*ready[-1])
                ready.pop()
        except BaseException:
            self._abandon(ready, wanted)
            raise
        return result

    def _device(self, name: str, result: ChunkResult, wanted: list[tuple[str, Artifact]]) -> None:
        seen: set[str] = set()
        for artifact in self.job.render(name):
            if self.targets is not None and artifact.target not in self.targets:
                continue
            relative = tree_path(artifact.device, artifact.path)
            if artifact.device != name or relative in seen:
                raise FabricError(
                    f"{name} declares the file {artifact.path} of {artifact.device} twice or for another device"
                )
            seen.add(relative)
            size = len(artifact.content)
            result.rows.append(
                Row(relative, artifact.sha256, size, name, artifact.role, artifact.target, artifact.mode)
            )
            result.size += size
            if name in self.there and self._same(relative, artifact):
                result.unchanged += 1
            else:
                wanted.append((relative, artifact))
                result.written += 1

    def _same(self, relative: str, artifact: Artifact) -> bool:
        path = f"{self.out}/{relative}"
        try:
            if read_regular(path, len(artifact.content)) != artifact.content:
                return False
            return stat.S_IMODE(os.lstat(path).st_mode) == artifact.mode
        except OSError:
            return False  # a link, a folder, or unreadable: writing it says what is wrong

    def _aside(self, relative: str, artifact: Artifact) -> str:
        folder, _, name = f"{self.out}/{relative}".rpartition("/")
        try:
            try:
                return write_temporary(folder, name, artifact.content, artifact.mode)
            except FileNotFoundError:
                Path(folder).mkdir(parents=True, exist_ok=True)
                return write_temporary(folder, name, artifact.content, artifact.mode)
        except OSError as error:
            raise cannot("write", f"{self.out}/{relative}", error) from error

    def _build(self, folder: str, files: Iterable[tuple[str, Artifact]]) -> None:
        """A new device's files in a folder that is renamed to the device's."""
        made: set[str] = set()
        for relative, artifact in files:
            path = folder + artifact.path
            try:
                _make_folders(path.rpartition("/")[0], made)
                write_new(path, artifact.content, artifact.mode)
            except OSError as error:
                raise cannot("write", f"{self.out}/{relative}", error) from error

    def _journal(self, paths: Sequence[str]) -> None:
        if not paths:
            return
        data = "".join(f"{path}\n" for path in paths).encode()
        path = f"{self.out}/{JOURNAL}"
        try:
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if os.write(handle, data) != len(data):
                    raise FabricError(f"cannot write {path}: no space left on the device")
            finally:
                os.close(handle)
        except OSError as error:
            raise cannot("write", path, error) from error

    def _abandon(self, ready: Sequence[tuple[str, str]], wanted: Sequence[tuple[str, Artifact]]) -> None:
        """Takes back what is not in place: temporary files, and folders that are empty without them."""
        for temporary, _ in ready:
            with contextlib.suppress(OSError):
                remove_leftover(Path(temporary))
        for relative, _ in wanted:
            prune(self.out, relative)

    def _rename(self, temporary: str, relative: str) -> None:
        try:
            os.rename(temporary, f"{self.out}/{relative}")  # noqa: PTH104 - to make a Path takes longer than the rename
        except OSError as error:
            raise cannot("write", f"{self.out}/{relative}", error) from error


def _make_folders(folder: str, made: set[str]) -> None:
    """Makes `folder`, and those above it that are missing, unless `made` says that it is there."""
    if folder in made:
        return
    try:
        os.mkdir(folder)  # noqa: PTH102 - to make a Path takes longer than the call
    except FileNotFoundError:
        _make_folders(folder.rpartition("/")[0], made)
        os.mkdir(folder)  # noqa: PTH102
    made.add(folder)


def remove_leftover(path: Path) -> None:
    """Removes a temporary file, or a temporary folder with all that is in it; nothing when it is gone. Raises OSError."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):  # macOS says EPERM of a folder
        if not path.is_dir() or path.is_symlink():
            raise
        shutil.rmtree(path)


def prune(out: Path, relative: str) -> None:
    """Removes the folders above `out/relative` that are empty."""
    for folder in (out / relative).parents:
        if folder == out:
            return
        try:
            folder.rmdir()
        except FileNotFoundError:
            continue
        except OSError:  # not empty: somebody else's file, or one that stays
            return
