"""Is a value of opensm.conf what opensm takes? It falls back to the default with a line on stdout, or takes `true` for FALSE in silence."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from fabric.design.ib.model import Flavour
from fabric.design.suggest import near
from fabric.targets.opensm.keys import Key, engines
from fabric.targets.opensm.problem import shown

_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)").fullmatch
_PAIR = re.compile(r"([0-9]+):([0-9]+)").fullmatch
NO_FALLBACK = "no_fallback"
SLS = 16
_DROP = 15  # VL15 in sl2vl means: drop what has this SL
_WEIGHTS = 256
SECRET = "$SECRET{"  # noqa: S105 - what a rendered file holds where a secret will stand

Complaint = tuple[str, str | None]
"""What is wrong, and what to write instead."""


def number(text: str) -> int | None:
    """A number as opensm reads it (decimal, or hexadecimal with 0x); None when it is none. A leading zero would be octal: none."""
    return int(text, 0) if _NUMBER(text) else None


def complain(key: Key, value: str, flavour: Flavour) -> Complaint | None:
    """What is wrong with `value`, None when nothing is."""
    if value.startswith(SECRET):
        return None
    if key.kind == "engines":
        return _engines(key, value, flavour)
    check = _CHECKS.get(key.kind)
    return check(key, value) if check else None


def _bool(key: Key, value: str) -> Complaint | None:
    if value in ("TRUE", "FALSE"):
        return None
    return f"{key.name} {shown(value)} counts as FALSE", "only the exact words TRUE and FALSE are read"


def _int(key: Key, value: str) -> Complaint | None:
    found = number(value)
    if found is None and value.lstrip("-").isdigit():
        return f"{key.name} {value[:20]}: a leading zero makes the number octal", "decimal, or hexadecimal with 0x"
    if found is None:
        return f"{key.name} {shown(value)} is not a number: the default {key.default} would be used", None
    if not key.low <= found <= key.high:
        return f"{key.name} {value} is out of range", f"from {key.low} to {key.high}"
    return None


def _choice(key: Key, value: str) -> Complaint | None:
    if value in key.choices:
        return None
    allowed = ", ".join(key.choices) if len(key.choices) <= SLS else f"{len(key.choices)} codes; {key.default} = all"
    return f"{key.name} has no value {shown(value)}: the default {key.default} would be used", allowed


def _engines(key: Key, value: str, flavour: Flavour) -> Complaint | None:
    names = value.split(",")
    if names[-1] == NO_FALLBACK:
        names.pop()
    if not names:
        return f"{key.name} names no engine", "for example ftree,no_fallback"
    known = engines(flavour)
    for name in names:
        if name == NO_FALLBACK:
            return f"{key.name}: {NO_FALLBACK} must come last", None
        if name not in known:
            return f"there is no routing engine {shown(name)}: MinHop would be used without a word", near(name, known)
    return None


def _sl2vl(key: Key, value: str) -> Complaint | None:
    parts = value.split(",")
    if len(parts) != SLS:
        return f"{key.name} has {len(parts)} values", f"one VL for each of the {SLS} SLs"
    for sl, part in enumerate(parts):
        if not part.isdigit() or int(part) > _DROP:
            return f"{key.name}: SL {sl} goes to {shown(part)}", f"a VL from 0 to 14; {_DROP} drops"
    return None


def _vlarb(key: Key, value: str) -> Complaint | None:
    for part in value.split(","):
        pair = _PAIR(part)
        if pair is None or int(pair[1]) >= _DROP or int(pair[2]) >= _WEIGHTS:
            return f"{key.name}: {shown(part)} is no VL:weight pair", "VL from 0 to 14, weight from 0 to 255"
    return None


def _by_sl(key: Key, value: str) -> Complaint | None:
    parts = value.split()
    if len(parts) != 2 or (number(parts[0]) or 0) >= SLS or None in map(number, parts):
        return f"{key.name} {shown(value)} is no SL and value", "for example `0 10`"
    return None


_CHECKS: Mapping[str, Callable[[Key, str], Complaint | None]] = {
    "bool": _bool, "int": _int, "choice": _choice, "sl2vl": _sl2vl, "vlarb": _vlarb, "by_sl": _by_sl,
}  # fmt: skip
"""By kind of key; `text` and `file` take any value."""
