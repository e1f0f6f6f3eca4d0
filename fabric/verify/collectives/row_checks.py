"""Whether the numbers of a row of nccl-tests agree with each other, and what they say when it was printed with few digits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from fabric.verify.collectives.nccl_run import UNKNOWN, Half, Row, busbw_factor

WIDTHS: Mapping[str, int] = MappingProxyType(
    {
        "int8": 1,
        "uint8": 1,
        "int32": 4,
        "uint32": 4,
        "int64": 8,
        "uint64": 8,
        "half": 2,
        "bfloat16": 2,
        "float": 4,
        "double": 8,
    }
)
"""Bytes of an element by the type's printed name."""


@dataclass(frozen=True, slots=True)
class Printing:
    """How exactly the numbers of a row were printed: relative error, absolute error of bandwidths in GB/s, whether the time is that
    of the operation (not with -C, which prints the CPU's).
    """

    slack: float
    floor: float
    timed: bool = True


def fits(row: Row, collective: str, nranks: int, printing: Printing) -> bool:
    """Whether the numbers of a row agree with each other, so far as they can be checked.

    A row that was mixed with another line on its way may look whole: then time, bandwidths, size and count contradict each other.
    """
    width = row.count * WIDTHS.get(row.type, 1)
    if width and row.size and (row.size % width or row.size < width):
        return False
    factor = busbw_factor(collective, nranks)
    for half in (row.oop, row.inplace):
        if half is None or half.algbw is None or half.busbw is None:
            continue
        if min(half.algbw, half.busbw) < 0 or (half.time_us is not None and half.time_us < 0):
            return False
        if factor is not None and not _near(half.algbw * factor, half.busbw, printing):
            return False
        timed = printing.timed and half.time_us and collective not in ("hypercube", "alltoallv")
        if timed and half.time_us and not _near(row.size / half.time_us / 1e3, half.algbw, printing):
            return False
    return True


def _near(one: float, other: float, printing: Printing) -> bool:
    return abs(one - other) <= max(one, other) * printing.slack + printing.floor


def sharpened(row: Row, collective: str, nranks: int, timely: tuple[bool, bool]) -> Row:
    """The row with bandwidths from size and time where the time was printed more exactly (`timely`, of each half).

    Two decimals of a GB/s are nothing at the speeds of a lab: 0.02 may be 0.015 or 0.025.
    """
    factor = busbw_factor(collective, nranks)
    if factor is None or not any(timely) or collective in ("hypercube", "alltoallv"):
        return row

    def sharp(half: Half | None, timed: bool) -> Half | None:
        if half is None or not timed or not half.time_us or half.busbw is None:
            return half
        rate = row.size / half.time_us / 1e3
        return replace(half, algbw=rate, busbw=rate * factor)

    return replace(row, oop=sharp(row.oop, timely[0]), inplace=sharp(row.inplace, timely[1]))


def guess(rows: Iterable[Row], nranks: int) -> str:
    """The collective whose factor and size are those of the rows, when only one is; else UNKNOWN."""
    rows = [row for row in rows if row.oop and row.oop.busbw and row.oop.algbw and row.oop.busbw > 1]
    if nranks < 3 or not rows:
        return UNKNOWN  # of two ranks, all factors are near 1 or equal
    ratios = [half.busbw / half.algbw for row in rows if (half := row.oop) and half.busbw and half.algbw]
    factor = busbw_factor("all_reduce", nranks) or 0.0
    return "all_reduce" if all(math.isclose(ratio, factor, rel_tol=0.02) for ratio in ratios) else UNKNOWN
