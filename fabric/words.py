"""Words for numbers: "1 wave", "2 waves", "1,708 devices". Every message that counts something says it through this.

And for times: "40 s", "12 min".
"""

from __future__ import annotations

import json


def counted(number: int, noun: str, nouns: str = "") -> str:
    """The number with thousands separated, and the noun in the number's form; `nouns` when the plural is not `noun` + s."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def verb(number: int, one: str, many: str) -> str:
    """`one` or `many`, whichever goes with so many: "is" or "are"."""
    return one if number == 1 else many


def once(name: str, reason: str) -> str:
    """`name: reason`, or the reason alone where it begins with the name, as what a connection says does."""
    return reason if reason.startswith((f"{name}:", f"{name} ")) else f"{name}: {reason}"


def misread(error: Exception) -> str:
    """Why a JSON document is not what it should be, for people: of the exceptions that reading one raises."""
    if isinstance(error, KeyError):
        return f"the key {error.args[0]!r} is missing" if error.args else "a key is missing"
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    if isinstance(error, UnicodeDecodeError):
        return "it is no text"
    if isinstance(error, json.JSONDecodeError):
        return f"it is no JSON, or was cut off: line {error.lineno}, column {error.colno}"
    if isinstance(error, ValueError):
        return str(error)[:120]
    return "something in it is of another kind than it should be"


def printable(text: str) -> str:
    """The text as one line that moves no cursor: what is not printable is written as its escape, a line feed too."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def duration(seconds: float) -> str:
    """About so long, for people: `40 s`, `12 min`, `3.5 h`; at least `1 s`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
