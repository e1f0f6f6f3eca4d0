"""The FBOSS configuration IDL as data: every struct, field and enum that the five configuration files can hold.

`data/schema.json` holds the facts (field names, numbers, types, optionality, defaults, enum values) of
facebook/fboss at the commit named in it. Renderers take enum numbers from here by name and never write bare
numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

DATA = Path(__file__).parent / "data"

_FIELD = re.compile(r"(\d+):([\w<>,]+)([?!]?)(?:=(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TypeRef:
    """An IDL type: `name` is a base type, struct, enum, "list", "set" or "map"; `args` are its element types."""

    name: str
    args: tuple[TypeRef, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}<{','.join(map(str, self.args))}>" if self.args else self.name


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct.

    `id` as in the IDL (0 = known to the daemon, number not public), `default` as IDL text (None = zero of the type).
    """

    name: str
    id: int
    type: TypeRef
    optional: bool
    required: bool
    default: str | None


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct, or a union (exactly one member is set)."""

    name: str
    union: bool
    fields: Mapping[str, Field]


@dataclass(frozen=True, slots=True)
class Schema:
    """All facts: `roots` (agent, bgp, qsfp, fsdb, led -> struct), `structs` and `enums` (name -> number) by name."""

    roots: Mapping[str, str]
    structs: Mapping[str, Struct]
    enums: Mapping[str, Mapping[str, int]]

    def enum(self, name: str) -> Mapping[str, int]:
        """The values of an enum by name: `enum("PortState")["ENABLED"]`; KeyError when there is no such enum."""
        return self.enums[name]

    def struct(self, name: str) -> Struct:
        """The struct or union `name`; KeyError when there is none."""
        return self.structs[name]


@cache
def parse_type(text: str) -> TypeRef:
    """`map<i32,list<i32>>` as a TypeRef; commas are split at the outer level only."""
    if not text.endswith(">"):
        return TypeRef(text)
    name, _, inner = text[:-1].partition("<")
    parts, depth, start = [], 0, 0
    for at, char in enumerate(inner):
        depth += (char == "<") - (char == ">")
        if char == "," and depth == 0:
            parts.append(inner[start:at])
            start = at + 1
    parts.append(inner[start:])
    return TypeRef(name, tuple(parse_type(part) for part in parts))


def _field(name: str, text: str) -> Field:
    match = _FIELD.fullmatch(text)
    if match is None:
        raise ValueError(f"schema.json: field {name}: {text!r}")
    number, type_text, mark, default = match.groups()
    return Field(name, int(number), parse_type(type_text), mark == "?", mark == "!", default)


@cache
def load_schema() -> Schema:
    """The schema, read once a process (about 5 ms)."""
    raw = json.loads((DATA / "schema.json").read_text(encoding="utf-8"))
    unions = frozenset(raw["unions"])
    structs = {
        name: Struct(name, name in unions, {key: _field(key, text) for key, text in fields.items()})
        for name, fields in raw["structs"].items()
    }
    return Schema(raw["roots"], structs, raw["enums"])


@lru_cache(maxsize=1024)
def enum_value(dotted: str) -> int:
    """`enum_value("PortState.ENABLED")` -> 2; KeyError for an unknown enum or value (our mistake, not the user's)."""
    enum, _, value = dotted.partition(".")
    return load_schema().enums[enum][value]


@cache
def load_flags() -> Mapping[str, str]:
    """The gflags of the FBOSS sources: name -> bool, int32, int64, uint32, uint64, double or string."""
    raw = json.loads((DATA / "flags.json").read_text(encoding="utf-8"))
    return {flag: kind for kind, names in raw.items() if kind != "source" for flag in names.split()}
