"""Which rank runs where: from a rank file, Slurm's layout, torchrun's or NCCL's logs, each known by what is in it.

No version of the recorder writes a host's name, so this always comes from beside the dumps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.verify.collectives.rank_map import ranks_in_log
from fabric.verify.flight_recorder import slurm
from fabric.verify.flight_recorder.torchrun import TorchrunLog

_LINE = 1 << 16  # characters of a line that are looked at
_FILE = 64 << 20  # bytes of a rank file
_ROW = re.compile(
    r"(?:rank\s+)?(\d{1,7})\s*[\s,;:=]\s*([A-Za-z0-9][A-Za-z0-9._-]{0,252})(?:[\s,;:]+(?:gpu|slot=)?\s*(\d{1,3}))?",
    re.IGNORECASE,
)
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
_HEAD = re.compile(r"rank\W", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Spot:
    """Host and GPU of a rank as `source` says; `gpu` None where it does not."""

    host: str
    gpu: int | None
    source: str


def read_ranks(paths: Iterable[Path], hosts: Collection[str]) -> dict[int, Spot]:
    """Where each rank runs, from files and folders of logs. `hosts`: names of the spec, which a log may be named after.

    FabricError for a file that says nothing of ranks, and for two that contradict each other.
    """
    found: dict[int, Spot] = {}
    for path in paths:
        for file in _files(path):
            for rank, spot in _read(file, hosts).items():
                other = found.setdefault(rank, spot)
                if _short(other.host) != _short(spot.host):
                    raise FabricError(
                        f"rank {rank} is on {other.host} by {other.source}, and on {spot.host} by {spot.source}",
                        hint="give the logs of one job only",
                    )
                if other.gpu is None:
                    found[rank] = spot
    return found


def in_folders(dumps: Mapping[int, Path], hosts: Collection[str]) -> dict[int, Spot]:
    """Where each rank runs when the dumps lie in one folder a host, named after it; nothing for other folders."""
    return {rank: Spot(path.parent.name, None, str(path)) for rank, path in dumps.items() if path.parent.name in hosts}


def _short(host: str) -> str:
    return host.partition(".")[0].casefold()


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.is_file())
        if not found:
            raise FabricError(f"{path} holds no file")
        return found
    if not path.is_file():
        raise FabricError(f"{path} is no file and no folder")
    return [path]


def _read(file: Path, hosts: Collection[str]) -> dict[int, Spot]:
    """One file, by its content: JSON, then what its lines say, else a rank file."""
    try:
        if _head(file).lstrip().startswith("{"):
            return _of_json(file)
        torchrun, variables, nccl = TorchrunLog(), dict[str, str](), False
        for line in _lines(file):
            nccl = nccl or "NCCL INFO" in line
            if not torchrun.line(line):
                variables.update(slurm.VARIABLE.findall(line))
        if nccl and (seats := ranks_in_log(_lines(file))):
            return {rank: Spot(host, gpu, f"{file} (NCCL log)") for rank, (host, gpu) in seats.items()}
        if found := torchrun.result(_named_after(file, hosts)):
            return {rank: Spot(host, gpu, f"{file} (torchrun log)") for rank, (host, gpu) in found.items()}
        if torchrun.block:
            raise FabricError(
                "a torchrun log that does not name its host", hint="name the file or its folder after the host"
            )
        if variables:
            return {rank: Spot(node, None, f"{file} (Slurm)") for rank, node in enumerate(slurm.layout(variables))}
        return _of_rows(file)
    except OSError as error:
        raise FabricError(f"{file} cannot be read: {error.strerror}") from error
    except FabricError as error:
        raise (
            error if str(file) in error.message else FabricError(f"{file}: {error.message}", hint=error.hint)
        ) from error


def _head(file: Path) -> str:
    with file.open(encoding="utf-8", errors="replace") as text:
        head = text.read(256)
    if "\0" in head:  # else all of it is read, which may take long
        raise FabricError("is no text", hint="a rank file, Slurm's variables, a torchrun or NCCL log")
    return head


def _lines(file: Path) -> Iterator[str]:
    """Its lines without their ends, long ones in pieces: the file may be of any size."""
    with file.open(encoding="utf-8", errors="replace") as text:
        while line := text.readline(_LINE):
            yield line.rstrip("\n")


def _named_after(file: Path, hosts: Collection[str]) -> str:
    """The host in the file's name, or in its folder's; the longest of several."""
    for name in (file.name, file.parent.name):
        inside = [
            host
            for host in hosts
            if host in name and re.search(rf"(?<![A-Za-z0-9]){re.escape(host)}(?![A-Za-z0-9])", name)
        ]
        if inside:
            return max(inside, key=len)
    return ""


def _of_rows(file: Path) -> dict[int, Spot]:
    if file.stat().st_size > _FILE:
        raise FabricError(f"a rank file may be {_FILE >> 20} MiB")
    found: dict[int, Spot] = {}
    for number, line in enumerate(_lines(file), 1):
        text = line.partition("#")[0].strip()
        if not text or (number == 1 and _HEAD.match(text) and not any(char.isdecimal() for char in text)):
            continue
        match = _ROW.fullmatch(text)
        if match is None:
            raise FabricError(
                f"line {number} is not of the form 'rank host gpu': {text[:60]!r}", hint="such as: 9 gt0001 1"
            )
        _add(found, int(match[1]), Spot(match[2], None if match[3] is None else int(match[3]), f"{file}:{number}"))
    if not found:
        raise FabricError(
            "says of no rank where it runs", hint="lines 'rank host gpu', Slurm's variables, a torchrun or NCCL log"
        )
    return found


def _add(found: dict[int, Spot], rank: int, spot: Spot) -> None:
    if rank in found:
        raise FabricError(f"rank {rank} stands twice: {found[rank].source} and {spot.source}")
    found[rank] = spot


def _of_json(file: Path) -> dict[int, Spot]:
    if file.stat().st_size > _FILE:
        raise FabricError(f"a rank file may be {_FILE >> 20} MiB")
    try:
        data = json.loads(file.read_bytes(), object_pairs_hook=_once)
    except RecursionError as error:
        raise FabricError("is nested deeper than any rank file") from error
    except ValueError as error:
        raise FabricError(f"is no JSON: {str(error)[:80]}") from error
    found: dict[int, Spot] = {}
    for key, value in data.items():
        host, gpu = _json_seat(value)
        if (
            not key.isdecimal()
            or len(key) > 7
            or not (isinstance(host, str) and _HOST.fullmatch(host))
            or not (gpu is None or (type(gpu) is int and gpu >= 0))
        ):
            raise FabricError(f'{key[:20]!r} is not of the form "9": {{"host": "gt0001", "gpu": 1}}')
        _add(found, int(key), Spot(host, gpu, str(file)))
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys differ: of two seats of one rank JSON would take the last without a word."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise FabricError(f"{key[:20]!r} stands twice")
        found[key] = value
    return found


def _json_seat(value: Any) -> tuple[Any, Any]:
    if isinstance(value, Mapping):
        return value.get("host"), value.get("gpu")
    return value, None
