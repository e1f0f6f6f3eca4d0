"""The slow half of the strict check: walks a file that is known to be wrong and names every fault with its path."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from fabric.targets.fboss import wire
from fabric.targets.fboss.problem import Problem, join
from fabric.targets.fboss.schema import Schema, Struct, TypeRef

INT_BITS: Mapping[str, int] = {"byte": 8, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
"""Widths of the signed integer types, in bits (fbthrift; a byte is signed)."""

_MOST = 200
_SHOWN = 40
_JSON_NAMES = {dict: "an object", list: "a list", str: "a string", bool: "a bool", int: "an integer", float: "a number"}


def shown(value: object) -> str:
    """A value in a message: short, on one line."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def integer_key(key: object) -> int | None:
    """The integer that a map key holds in its one canonical form ("7", "-1"; not "07", "+7"), or None."""
    if type(key) is not str or len(key) > 20:
        return None
    try:
        number = int(key)
    except ValueError:
        return None
    return number if str(number) == key else None


class Walk:
    """`check(type, value)` -> the first 200 problems, in the order of the file."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def check(self, ref: TypeRef, value: object) -> list[Problem]:
        """All problems of `value` read as `ref`; [] when there is none."""
        found: list[Problem] = []
        self._value(ref, value, "", found)
        return found

    def _value(self, ref: TypeRef, value: Any, path: str, found: list[Problem]) -> None:
        if len(found) >= _MOST:
            return
        if ref.name in self._schema.structs:
            self._struct(self._schema.struct(ref.name), value, path, found)
        elif ref.name in ("list", "set"):
            self._list(ref, value, path, found)
        elif ref.name == "map":
            self._map(ref, value, path, found)
        else:
            message = self._scalar(ref, value)
            if message:
                found.append(Problem(path, message))

    def _scalar(self, ref: TypeRef, value: Any) -> str | None:
        if ref.name in self._schema.enums:
            return _enum_fault(ref.name, self._schema.enums[ref.name], value)
        if ref.name in INT_BITS:
            return _int_fault(ref.name, value)
        if ref.name == "bool":
            return None if type(value) is bool else f"expected true or false, not {shown(value)}"
        if ref.name == "double":
            good = type(value) is int or (type(value) is float and math.isfinite(value))
            return None if good else f"expected a number, not {shown(value)}"
        return None if type(value) is str else f"expected a string, not {shown(value)}"

    def _struct(self, struct: Struct, value: Any, path: str, found: list[Problem]) -> None:
        if type(value) is wire.Raw:
            if value.struct != struct.name:
                found.append(Problem(path, f"pre-dumped text that was not checked as {struct.name}"))
            return
        if type(value) is not dict:
            found.append(Problem(path, _wrong_kind(f"an object ({struct.name})", value)))
            return
        for key, member in value.items():
            if key not in struct.fields:
                found.append(Problem(join(path, str(key)), f"{struct.name} has no such key{near(key, struct.fields)}"))
            elif member is not None:
                self._value(struct.fields[key].type, member, join(path, key), found)
        members = [key for key, member in value.items() if member is not None]
        if struct.union and len(members) != 1:
            found.append(Problem(path, f"the union {struct.name} takes exactly one member, not {len(members)}"))
        missing = [field.name for field in struct.fields.values() if field.required and field.name not in members]
        found.extend(Problem(join(path, name), f"{struct.name} requires this key") for name in missing)

    def _list(self, ref: TypeRef, value: Any, path: str, found: list[Problem]) -> None:
        if type(value) is not list:
            found.append(Problem(path, _wrong_kind(f"a {ref.name}", value)))
            return
        for at, item in enumerate(value):
            self._value(ref.args[0], item, f"{path}[{at}]", found)
        if ref.name == "set":
            seen: list[Any] = []
            for at, item in enumerate(value):
                if item in seen:
                    found.append(Problem(f"{path}[{at}]", f"{shown(item)} stands twice in a set"))
                seen.append(item)

    def _map(self, ref: TypeRef, value: Any, path: str, found: list[Problem]) -> None:
        if type(value) is not dict:
            found.append(Problem(path, _wrong_kind("an object (map)", value)))
            return
        for key, member in value.items():
            place = join(path, str(key))
            message = self._key_fault(ref.args[0], key)
            if message:
                found.append(Problem(place, message))
            if member is None:
                found.append(Problem(place, "null is not allowed as a value of a map"))
            else:
                self._value(ref.args[1], member, place, found)

    def _key_fault(self, ref: TypeRef, key: Any) -> str | None:
        if type(key) is not str:
            return f"map keys are strings, not {shown(key)}"
        if ref.name == "string":
            return None
        number = integer_key(key)
        if number is None:
            return self._named_key(ref, key)
        return self._scalar(ref, number)

    def _named_key(self, ref: TypeRef, key: str) -> str:
        values = self._schema.enums.get(ref.name, {})
        if key in values:
            return f'the name of an enum value as a key: FBOSS reads only its number, "{values[key]}"'
        return f"keys of this map are strings holding integers ({ref.name}), not {shown(key)}"


def near(key: object, names: Iterable[str]) -> str:
    """` (did you mean "x"?)` for the nearest of `names`, or nothing."""
    close = difflib.get_close_matches(str(key)[:80], list(names), n=1, cutoff=0.75)
    return f' (did you mean "{close[0]}"?)' if close else ""


def _wrong_kind(expected: str, value: object) -> str:
    return f"expected {expected}, not {_JSON_NAMES.get(type(value), shown(value))}"


def _int_fault(name: str, value: Any) -> str | None:
    if type(value) is not int:
        return f"expected an integer ({name}), not {shown(value)}"
    half = 1 << (INT_BITS[name] - 1)
    return None if -half <= value < half else f"{shown(value)} does not fit {name} ({-half}..{half - 1})"


def _enum_fault(name: str, values: Mapping[str, int], value: Any) -> str | None:
    if type(value) is str:
        if value in values:
            return f"the name of a {name} value: FBOSS reads only its number, {values[value]}"
        return f"expected a number of {name}, not {shown(value)}{near(value, values)}"
    if type(value) is not int:
        return f"expected a number of {name}, not {shown(value)}"
    return None if value in values.values() else f"{name} has no value {shown(value)}"
