"""Which files are dumps, and of which rank: `<prefix><rank>`, as every version names them, with or without `.json`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from fabric.errors import FabricError
from fabric.words import counted

_NAME = re.compile(r"(.*?)(\d{1,7})(\.json|\.pickle|\.pkl)?", re.DOTALL)
_MOST = 1 << 20  # files looked at below the folders that were given


def find_dumps(paths: Iterable[Path]) -> dict[int, Path]:
    """The dump of each rank, by rank, ascending. Of a folder all files below it whose names end in a number are taken.

    Where one folder has a rank as pickle and as JSON the pickle is taken: they say the same. Two dumps of one rank otherwise, a path
    that is not there, and nothing found at all raise FabricError.
    """
    found: dict[int, Path] = {}
    for path in paths:
        for file in _files(path):
            _take(found, file)
    if not found:
        raise FabricError(
            "there is no dump: no file name ends in a rank", hint="dumps are named <prefix><rank>, such as _dump_7"
        )
    return dict(sorted(found.items()))


def _files(path: Path) -> Iterator[Path]:
    try:
        if path.is_file():
            yield path
            return
        if not path.is_dir():
            raise FabricError(f"{path} is no file and no folder")
    except OSError as error:
        raise _unreadable(path, error) from error
    yield from _below(path)


def _below(folder: Path) -> Iterator[Path]:
    looked = 0

    def refused(error: OSError) -> None:
        raise _unreadable(Path(error.filename), error) from error

    for base, folders, names in os.walk(folder, onerror=refused):
        folders.sort()
        looked += len(names)
        if looked > _MOST:
            raise FabricError(
                f"{folder} holds more than {counted(_MOST, 'file')}", hint="give the folder of the dumps only"
            )
        dumps = {
            name: match[1] for name in sorted(names) if (match := _NAME.fullmatch(name)) and not name.startswith(".")
        }
        mixed = len(set(dumps.values())) > 1
        paths = (Path(base, name) for name in dumps)
        yield from (path for path in paths if not mixed or _may_be(path))


def _unreadable(path: Path, error: OSError) -> FabricError:
    return FabricError(f"{path} cannot be read: {error.strerror}", hint="give the folders or files of the dumps only")


def _may_be(path: Path) -> bool:
    """Whether it begins as a dump does, or is empty: a folder may hold core.1234, too. What cannot be opened is told later."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(1) in (b"", b"\x80", b"{")
    except OSError:
        return True


def _take(found: dict[int, Path], file: Path) -> None:
    rank = rank_of(file)
    other = found.get(rank)
    if other is None or other == file:
        found[rank] = file
    elif other.parent == file.parent and (other.suffix == ".json") != (file.suffix == ".json"):
        found[rank] = other if file.suffix == ".json" else file
    else:
        raise FabricError(
            f"rank {rank} has two dumps: {other} and {file}",
            hint="give the dumps of one job only, by their folder or by name",
        )


def rank_of(file: Path) -> int:
    """The rank in a dump's name; FabricError when it has none."""
    match = _NAME.fullmatch(file.name)
    if match is None:
        raise FabricError(
            f"{file} does not name a rank", hint="a dump's name ends in its rank: <prefix><rank> or <prefix><rank>.json"
        )
    return int(match[2])
