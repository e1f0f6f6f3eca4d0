"""The fields of a dump, each with the type that it must have; FabricError for another, never a traceback."""

from __future__ import annotations

from typing import Any

from fabric.errors import FabricError

_TEXT = 4096  # characters of a name in a dump: of a call, a group, a type


def known_version(value: Any) -> str:
    """The version, when it is one of 1.x or 2.x. All up to 2.10 are known."""
    if not isinstance(value, str):
        raise FabricError("is no flight-recorder dump: it has no version")
    major, _, minor = value.partition(".")
    if major not in ("1", "2") or not (minor.isdecimal() and len(minor) < 4):
        raise FabricError(f"is of version {value[:20]!r}; known are 1.0 to 2.10")
    return value


def entry_list(value: Any) -> list[dict[str, Any]]:
    """The entries: a list of dicts."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(type(entry) is dict for entry in value):
        raise FabricError("its entries are not a list of entries")
    return value


def section(data: dict[str, Any], name: str) -> dict[Any, Any]:
    """One part of the dump by name; empty when it is not there."""
    value = data.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FabricError(f"{name} is not a table")
    return value


def number(value: Any, what: str) -> int | None:
    """A whole number, also as text; None for none."""
    if type(value) is int and -(1 << 63) <= value < 1 << 63:
        return value
    if value is None:
        return None
    if isinstance(value, str) and len(value) < 20 and value.removeprefix("-").isdecimal() and value.isascii():
        return int(value)
    raise FabricError(f"{what} is not a number")


def text(value: Any, what: str) -> str:
    """A text of sane length, as it can be shown."""
    if not isinstance(value, str) or len(value) > _TEXT:
        raise FabricError(f"{what} is not a text")
    return value if value.isprintable() else shown(value)


def shown(value: str) -> str:
    """The text with a question mark for each character that would move a terminal's cursor or is no character at all."""
    return "".join(char if char.isprintable() else "?" for char in value)


def group_of(value: Any) -> tuple[str, str]:
    """Name and description of a process group: a pair, or before 2.x the name alone."""
    if isinstance(value, tuple | list) and len(value) == 2:
        return text(value[0], "process_group"), text(value[1], "process_group")
    return text(value, "process_group"), ""
