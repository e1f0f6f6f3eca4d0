"""Reading opensm.conf strictly: whatever opensm would drop, cut or replace without failing is a problem here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fabric.design.ib.model import Flavour
from fabric.design.suggest import near
from fabric.targets.opensm.keys import UPSTREAM_ONLY, Key, known_keys, nvidia_keys, upstream_keys
from fabric.targets.opensm.problem import Collector, Problem, decoded, shown
from fabric.targets.opensm.values import complain, number

LONGEST = 1021
"""Bytes of a line, the newline not counted: opensm reads 1,022 at a time, and the rest would be a line of its own."""
NULL = "(null)"


@dataclass(frozen=True, slots=True)
class Conf:
    """What an opensm.conf says. `values`: the last value of each key, as written, None where it says `(null)`.

    `lines`: where it stands. `problems`: in the order of the lines. `flavour`: whose keys were known.
    """

    flavour: Flavour
    values: Mapping[str, str | None]
    lines: Mapping[str, int]
    problems: tuple[Problem, ...]

    def text(self, name: str) -> str | None:
        """The value in force: the file's, else the default; None when there is none. KeyError for a key of no opensm."""
        return self.values[name] if name in self.values else known_keys(self.flavour)[name].default

    def path(self, name: str) -> str:
        """The name of a file in force; "" when there is none."""
        return self.text(name) or ""

    def true(self, name: str) -> bool:
        """Is a boolean on? Only the exact word TRUE is."""
        return self.text(name) == "TRUE"

    def number(self, name: str) -> int | None:
        """A number in force; None when there is none or it is none."""
        text = self.text(name)
        return None if text is None else number(text)


def read_conf(text: str | bytes, flavour: Flavour = "opensm", file: str = "opensm.conf") -> Conf:
    """The settings of an opensm.conf and everything that is wrong with it. Never raises for what the file holds."""
    problem = Collector(file)
    known = known_keys(flavour)
    values: dict[str, str | None] = {}
    lines: dict[str, int] = {}
    seen: dict[tuple[str, str], int] = {}
    content = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    for number_, line in enumerate(decoded(content, problem), 1):
        if len(line) > LONGEST:
            problem(number_, f"a line of {len(line):,} bytes: opensm cuts it in two", f"at most {LONGEST:,} bytes")
        name, value = split(line)
        if not name:
            continue
        _comment(line, number_, problem)
        values[name], lines[name] = value, number_
        key = known.get(name)
        if key is None:
            problem(number_, *_unknown(name, flavour))
            continue
        again = (name, value.split()[0] if key.kind == "by_sl" and value else "")
        if again in seen:
            problem(number_, f"{name} stands on line {seen[again]} already; the last one wins", "write it once")
        seen[again] = number_
        _value(key, value, number_, problem, flavour)
    return Conf(flavour, values, lines, tuple(problem.found))


def split(line: str) -> tuple[str, str | None]:
    """Key and value of a line as opensm takes it: `#` cuts, one pair of quotes goes, `(null)` is None. No key: ("", "")."""
    parts = line.partition("#")[0].split(None, 1)
    if not parts:
        return "", ""
    value = parts[1].strip() if len(parts) > 1 else ""
    if len(value) > 1 and value[0] == value[-1] == '"':
        value = value[1:-1]
    return parts[0], None if value == NULL else value


def _comment(line: str, at: int, problem: Collector) -> None:
    if "#" in line:
        problem(at, "`#` cuts the line, also inside a value", "put the comment on a line of its own")


def _value(key: Key, value: str | None, at: int, problem: Collector, flavour: Flavour) -> None:
    if value is None:
        return
    if not value:
        problem(at, f"{key.name} has no value", f"write {NULL} to leave it unset")
        return
    if complaint := complain(key, value, flavour):
        problem(at, *complaint)


def _unknown(name: str, flavour: Flavour) -> tuple[str, str]:
    other: Mapping[str, Key] = nvidia_keys() if flavour == "opensm" else upstream_keys()
    if name in other:
        whose: Literal["NVIDIA's OpenSM", "upstream OpenSM"] = (
            "NVIDIA's OpenSM" if flavour == "opensm" else "upstream OpenSM"
        )
        instead = (
            "use mlnx_congestion_control" if name in UPSTREAM_ONLY else "set the flavour of the SM, or leave it out"
        )
        return f"{name} is a key of {whose} only; this one would ignore it", instead
    known = known_keys(flavour)
    hint = near(name, known)
    return f"unknown key {shown(name)}: opensm would ignore it", hint if hint.startswith("did") else "leave it out"
