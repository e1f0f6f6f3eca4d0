"""One data row of nccl-tests' table, old or new: its numbers, and how exactly they were printed (hosts.md 3.1)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from fabric.verify.collectives.nccl_run import Half, Row

COARSE = 5e-3
"""A relative error of a printed bandwidth above which its time is asked instead: three digits and more leave less."""

_NUMBER = re.compile(r"-?(?:\d{1,18}(?:\.\d{1,9})?(?:[eE][+-]?\d{1,3})?|nan|inf)\Z", re.IGNORECASE)
_INTEGER = re.compile(r"\d{1,18}\Z")
_STAMP = (re.compile(r"\d{4}-\d\d-\d\d\Z"), re.compile(r"\d\d:\d\d:\d\d\Z"))


@dataclass(frozen=True, slots=True)
class Printed:
    """A row, how exactly it was printed, and for each half whether its time says more than its bandwidth."""

    row: Row
    slack: float
    floor: float
    timely: tuple[bool, bool]


def row_of(text: str, *, errors_column: bool, root: bool) -> Printed | None:
    """A data row; None for what is no whole row.

    12 columns: old, without root (unless the header has one); 13: new; 8 more with -I; 2 more, date and time, with -S.
    """
    words = text.split()
    if len(words) in (14, 15, 22, 23) and all(
        pattern.match(word) for pattern, word in zip(_STAMP, words[-2:], strict=True)
    ):
        words = words[:-2]
    old = len(words) in (12, 20)
    if len(words) not in (12, 13, 20, 21) or (old and root) or not all(map(_INTEGER.match, words[:2])):
        return None
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,19}", words[2]) or not re.fullmatch(r"[a-z]\w{0,19}", words[3]):
        return None
    if not old and not re.fullmatch(r"-?\d{1,7}", words[4]):
        return None
    numbers = words[4:] if old else words[5:]
    width = len(numbers) // 2
    halves = [_half(numbers[at : at + width], errors=old or errors_column) for at in (0, width)]
    if halves[0] is None and halves[1] is None:
        return None
    if any(half is None and not _blank(numbers[at : at + width]) for half, at in zip(halves, (0, width), strict=True)):
        return None
    slacks = [[_slack(word) for word in numbers[at : at + 3]] for at in (0, width)]
    row = Row(int(words[0]), int(words[1]), words[2], words[3], halves[0], halves[1])
    timely = [time < busbw and busbw > COARSE for time, _, busbw in slacks]
    floor = max(_error(word) for at in (0, width) for word in numbers[at + 1 : at + 3])
    return Printed(row, max(map(max, slacks)), 2 * floor, (timely[0], timely[1]))


def _blank(words: list[str]) -> bool:
    return all(word == "N/A" for word in words)


def _half(words: list[str], *, errors: bool) -> Half | None:
    """Time, two bandwidths, wrong (and four times of -I); None when one of them is no number."""
    *numbers, wrong = words[:4]
    if not all(map(_NUMBER.match, [*numbers, *words[4:]])):
        return None
    if wrong != "N/A" and not _NUMBER.match(wrong):
        return None
    counted = None if errors or wrong == "N/A" else finite(wrong)
    time_us, algbw, busbw = map(finite, numbers)
    return Half(time_us, algbw, busbw, None if counted is None else round(counted))


def finite(word: str) -> float | None:
    """A number; None for what is none, and for nan and inf."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _error(word: str) -> float:
    """Half of the last digit that was printed: `1e+03` may be 500 to 1,500, `255.65` is near exact."""
    if finite(word) is None:
        return 0.0
    digits, _, exponent = word.lower().partition("e")
    return 0.5 * 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))


def _slack(word: str) -> float:
    """Twice the relative error that the printing of a number leaves."""
    value = finite(word)
    return 1e-3 + (2 * _error(word) / value if value else 0.0)
