"""Slurm's short form of lists of names, both ways."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from fabric.errors import FabricError

MOST = 1 << 20  # nodes and tasks of one job that are written out
_TAIL = re.compile(r"(.*?)([0-9]*)$")
_PART = re.compile(r"[^,\[]*(?:\[[^\]]*\][^,\[]*)*")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,253}")
_BRACKET = re.compile(r"\[([^\]]*)\]")


def hostlist(names: Iterable[str]) -> str:
    """Slurm's short form of names with numbers at their end: `gt[0001-0032,0040]`, several with commas between."""
    return ",".join(_words(names))


def _words(names: Iterable[str]) -> Iterator[str]:
    parts = [_split(name) for name in names]
    for (stem, width), group in groupby(parts, key=lambda part: (part[0], len(part[1]))):
        numbers = [int(digits) for _, digits in group if digits]
        if not width:
            yield stem
        elif len(numbers) == 1:
            yield f"{stem}{numbers[0]:0{width}d}"
        else:
            yield f"{stem}[{','.join(_spans(numbers, width))}]"


def _split(name: str) -> tuple[str, str]:
    match = _TAIL.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


def _spans(numbers: list[int], width: int) -> Iterator[str]:
    for _, group in groupby(enumerate(numbers), key=lambda item: item[1] - item[0]):
        run = [number for _, number in group]
        yield f"{run[0]:0{width}d}" if len(run) == 1 else f"{run[0]:0{width}d}-{run[-1]:0{width}d}"


def expand(listed: str) -> list[str]:
    """`gt[0001-0003,0007],login1` -> the names, in Slurm's order. FabricError for what is no such list, or of more than MOST names."""
    names: list[str] = []
    rest = listed
    while rest:
        match = _PART.match(rest)
        part = match[0] if match else ""
        if not part:
            raise FabricError(f"{listed[:60]!r} is no list of nodes")
        names += _expand_part(part, listed)
        _bounded(len(names))
        rest = rest[len(part) :]
        if rest and not rest.startswith(","):
            raise FabricError(f"{listed[:60]!r} is no list of nodes")
        rest = rest[1:]
    return names


def _expand_part(part: str, listed: str) -> list[str]:
    match = _BRACKET.search(part)
    if match is None:
        if part and not _NAME.fullmatch(part):
            raise FabricError(f"{listed[:60]!r} is no list of nodes")
        return [part]
    tails = _expand_part(part[match.end() :], listed)
    made: list[str] = []
    for piece in match[1].split(","):
        first, dash, last = piece.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or (dash and int(last) < int(first)):
            raise FabricError(f"{listed[:60]!r} is no list of nodes: {piece[:20]!r} is no range")
        numbers = range(int(first), int(last or first) + 1)
        _bounded(len(numbers) * len(tails) + len(made))
        if part[: match.start()] and not _NAME.fullmatch(part[: match.start()]):
            raise FabricError(f"{listed[:60]!r} is no list of nodes")
        made += [f"{part[: match.start()]}{number:0{len(first)}d}{tail}" for number in numbers for tail in tails]
    return made


def _bounded(number: int) -> None:
    if number > MOST:
        raise FabricError(f"Slurm's layout has more than {MOST:,} nodes or tasks")
