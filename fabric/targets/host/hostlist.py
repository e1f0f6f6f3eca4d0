"""Slurm's short form of lists of names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

_TAIL = re.compile(r"(.*?)([0-9]*)$")


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
