"""An nccl.conf as NCCL reads it (2.30, src/misc/param.cc): what people write there in vain is told with line and column.

A line is split at its first '='. '#' begins a comment only as the first character. Nothing is trimmed; quotes belong to the value;
there is no `export`; a value ends after 1,023 characters; the carriage return of a Windows line end is taken away from 2.30 on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fabric.design.hosts.nccl_lint import Flaw, lint
from fabric.design.hosts.nccl_rules import Level, Truth

LONGEST = 1023
_NEEDED = ("NCCL_IB_HCA", "NCCL_SOCKET_IFNAME")
_TRAFFIC_CLASS = "NCCL_IB_TC"
_CR_TAKEN = (2, 30)


@dataclass(frozen=True, slots=True)
class Placed:
    """A flaw and its place, both counted from 1."""

    line: int
    column: int
    flaw: Flaw


def lint_text(text: str, truth: Truth) -> Iterator[Placed]:
    """All flaws of a file, in its order; what is missing stands at its first line."""
    seen: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.startswith("#"):
            yield from _line(number, line, truth, seen)
    yield from _missing(seen, truth)


def _line(number: int, line: str, truth: Truth, seen: dict[str, int]) -> Iterator[Placed]:
    def placed(column: int, level: Level, key: str, message: str, hint: str | None = None) -> Placed:
        return Placed(number, column, Flaw(level, key, message, hint))

    if line.endswith("\r"):
        if truth.version is None or truth.version < _CR_TAKEN:
            yield placed(
                len(line), "error", "", "a carriage return at the end of the line belongs to the value before NCCL 2.30"
            )
        line = line[:-1]
    key, equals, value = line.partition("=")
    spoilt = _key_flaw(key, equals)
    if spoilt is not None:
        column, message, hint = spoilt
        yield placed(column, "error", "", message, hint)
        return
    at = len(key) + 2
    if key in seen:
        yield placed(1, "error", key, f"stands twice: NCCL takes the first, on line {seen[key]}")
        return
    seen[key] = number
    wrong = _value_flaw(value)
    if wrong is not None:
        yield placed(at + wrong[0], "error", key, wrong[1], wrong[2])
        return
    if not key.startswith("NCCL_"):
        yield placed(1, "warning", key, "is no setting of NCCL")
        return
    for flaw in lint(key, value, truth):
        yield Placed(number, 1 if "no setting" in flaw.message else at, flaw)


def _key_flaw(key: str, equals: str) -> tuple[int, str, str | None] | None:
    """(column, message, hint) of what makes NCCL miss the key."""
    stripped = key.lstrip()
    indent = len(key) - len(stripped) + 1
    if stripped.startswith("#"):
        return indent, "a comment begins in the first column, or it is none", None
    if not equals:
        return indent, "a line without '=' sets nothing", None
    if stripped.startswith("export "):
        return indent, "'export' becomes part of the key", "write KEY=VALUE"
    if stripped != key:
        return 1, "a blank before the key becomes part of it", "begin in the first column"
    if key.rstrip() != key:
        return len(key.rstrip()) + 1, "a blank before '=' becomes part of the key", "write KEY=VALUE"
    if not key:
        return 1, "there is no key before '='", None
    return None


def _value_flaw(value: str) -> tuple[int, str, str | None] | None:
    """(offset, message, hint) of what becomes part of a value unasked."""
    if not value:
        return 0, "there is no value after '='", None
    if len(value) > LONGEST:
        return LONGEST, f"has {len(value):,} characters: NCCL cuts a value after {LONGEST:,}", None
    if "\0" in value:
        return value.index("\0"), "a NUL character ends the value", None
    for mark in ('"', "'"):
        if mark in value:
            return value.index(mark), f"the quote {mark} becomes part of the value", "write the value without quotes"
    comment = value.find(" #")
    if comment >= 0:
        return comment + 1, "a comment behind a value becomes part of it", "put the comment on its own line"
    if value != value.strip():
        place = 0 if value[0].isspace() else len(value.rstrip())
        return place, "a blank at the start or end becomes part of the value", None
    return None


def _missing(seen: dict[str, int], truth: Truth) -> Iterator[Placed]:
    if truth.qos is not None and _TRAFFIC_CLASS not in seen:
        told = f"is not set, so RDMA goes with DSCP 0, outside qos.lossless: {truth.qos.traffic_class} is wanted"
        yield Placed(1, 1, Flaw("error", _TRAFFIC_CLASS, told))
    for key in _NEEDED:
        if key not in seen:
            yield Placed(1, 1, Flaw("warning", key, "is not set: NCCL chooses by itself"))
