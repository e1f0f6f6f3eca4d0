"""What launchers put before each line: rank labels and times. Untagged, the lines of all ranks are one stream."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TIME = re.compile(r"\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?:? ")
_TAGS = (
    re.compile(r"\s{0,6}(\d{1,7}): "),  # srun --label
    re.compile(r"\[[^\]\[,]{1,80},(\d{1,7})\](?:\[[^\]]{1,80}\])?<std(?:out|err|diag)>: ?"),  # Open MPI --tag-output
    re.compile(r"\[(?:rank|default)?(\d{1,7})\]:? "),  # MPICH -l, torchrun
)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
MAX_LINE = 16_384
"""Characters of a line that are looked at: the longest lines of these programs are a few hundred."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its label. `tag`: the rank that the launcher says, None without a label. `whole`: its end is there."""

    number: int
    tag: int | None
    text: str
    whole: bool = True


def lines_of(text: str) -> Iterator[Line]:
    """The lines of a text, numbered from 1. What stands after the last line end was cut: it may look complete and is not `whole`."""
    parts = text.split("\n")
    for number, part in enumerate(parts, 1):
        tag, rest = untag(part)
        yield Line(number, tag, rest, whole=number < len(parts))


def whole_lines(text: str) -> str:
    """The text up to its last line end: a number or an address that was cut reads as another one."""
    return text[: text.rfind("\n") + 1]


def untag(line: str) -> tuple[int | None, str]:
    """The rank of a line's label (the last one where there are several), and the line without labels, colours and carriage returns."""
    line = line[:MAX_LINE].rstrip("\r\n")
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    if "\r" in line:
        line = line.rpartition("\r")[2]
    tag = None
    for _ in range(3):
        stamp = _TIME.match(line)
        if stamp:
            line = line[stamp.end() :]
        found = next((match for pattern in _TAGS if (match := pattern.match(line))), None)
        if found is None:
            break
        tag, line = int(found[1]), line[found.end() :]
    return tag, line
