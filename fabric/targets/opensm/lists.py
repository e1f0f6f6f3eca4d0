"""Reading the small files: GUID lists (root, CN, I/O, routing order) and the node-name-map."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fabric.targets.opensm.problem import Collector, Problem, decoded, shown

_GUID = re.compile(r"0x[0-9a-fA-F]{1,16}").fullmatch
_NAMED = re.compile(r'(\S+)\s+"([^"]*)"').fullmatch


@dataclass(frozen=True, slots=True)
class GuidList:
    """The GUIDs of a file in its order, with the line of each, and what is wrong with it."""

    guids: Mapping[int, int]
    problems: tuple[Problem, ...]


def read_guids(text: str | bytes, file: str) -> GuidList:
    """One GUID a line, hexadecimal with 0x; `#` starts a comment. Never raises for what the file holds."""
    problem = Collector(file)
    found: dict[int, int] = {}
    for number, line in enumerate(decoded(_bytes(text), problem), 1):
        word = line.partition("#")[0].strip()
        if not word:
            continue
        if not _GUID(word):
            problem(number, f"{shown(word)} is no GUID", "one GUID a line, hexadecimal with 0x")
            continue
        guid = int(word, 16)
        if guid in found:
            problem(number, f"{word} stands on line {found[guid]} already")
        found.setdefault(guid, number)
    if not found:
        problem(0, "no GUID in it: the routing engine refuses an empty list")
    return GuidList(found, tuple(problem.found))


@dataclass(frozen=True, slots=True)
class NameMap:
    """Name by node GUID, and what is wrong with the file."""

    names: Mapping[int, str]
    lines: Mapping[int, int]
    problems: tuple[Problem, ...]


def read_names(text: str | bytes, file: str = "node-name-map") -> NameMap:
    """Lines of the form `0xGUID "name"`. Never raises for what the file holds."""
    problem = Collector(file)
    names: dict[int, str] = {}
    lines: dict[int, int] = {}
    taken: dict[str, int] = {}
    for number, line in enumerate(decoded(_bytes(text), problem), 1):
        text_ = line.partition("#")[0].strip()
        if not text_:
            continue
        match = _NAMED(text_)
        if match is None or not _GUID(match[1]):
            problem(number, f'{shown(text_)} is not of the form 0xGUID "name"')
            continue
        guid, name = int(match[1], 16), match[2]
        if guid in names:
            problem(number, f"{match[1]} is named on line {lines[guid]} already")
        elif name in taken:
            problem(number, f"the name {shown(name)} stands on line {taken[name]} already")
        names.setdefault(guid, name)
        lines.setdefault(guid, number)
        taken.setdefault(name, number)
    return NameMap(names, lines, tuple(problem.found))


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
