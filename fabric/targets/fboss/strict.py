"""The strict check of FBOSS configuration files against the IDL.

The daemons skip unknown keys and keep unknown enum numbers without a word, so this check is the only place where a
misspelt key is seen. Two walks over the same rules: a yes/no walk of small closures, compiled once a type, for the
files that are right (nearly all); and, only when that says no, the slower walk of `strict_walk`, which finds and
names every fault.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

from fabric.errors import FabricError
from fabric.targets.fboss import wire
from fabric.targets.fboss.problem import Problem
from fabric.targets.fboss.schema import Schema, Struct, TypeRef, load_schema, parse_type
from fabric.targets.fboss.strict_walk import INT_BITS, Walk, integer_key

Root = Literal["agent", "bgp", "qsfp", "fsdb", "led"]
Validator = Callable[[object], list[Problem]]
Test = Callable[[Any], bool]


def compile_validator(root: Root) -> Validator:
    """The check of one kind of file: `compile_validator("agent")(value)` -> problems, empty when all is right.

    `value` is what `wire.loads` gives or what goes to `wire.dumps` (a `wire.Raw` that was checked as the expected
    struct passes). Never raises on any value made of JSON types.
    """
    return compile_struct(load_schema().roots[root])


@cache
def compile_struct(name: str) -> Validator:
    """The same for one struct of the schema, such as "PlatformConfig"; paths are relative to it."""
    schema = load_schema()
    ref = parse_type(name)
    schema.struct(name)
    passes = _Compiler(schema).test(ref)
    walk = Walk(schema)

    def validate(value: object) -> list[Problem]:
        try:
            return [] if passes(value) else walk.check(ref, value)
        except RecursionError:
            return [Problem("", "nested too deeply")]

    return validate


def checked_raw(struct: str, value: object, *, depth: int = 2) -> wire.Raw:
    """`value` checked as `struct` and dumped once, for nesting `depth` of many files; FabricError on a problem."""
    problems = compile_struct(struct)(value)
    if problems:
        raise FabricError(f"{struct}: {problems[0]}" + (f" (and {len(problems) - 1} more)" if problems[1:] else ""))
    return wire.fragment(value, depth=depth, struct=struct)


class _Compiler:
    """Makes one yes/no closure a type; structs are entered through their table of fields, so recursive types work."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._made: dict[TypeRef, Test] = {}

    def test(self, ref: TypeRef) -> Test:
        if ref not in self._made:
            self._made[ref] = self._make(ref)
        return self._made[ref]

    def _make(self, ref: TypeRef) -> Test:
        if ref.name in INT_BITS:
            return _int_test(INT_BITS[ref.name])
        if ref.name in _SCALARS:
            return _SCALARS[ref.name]
        if ref.name in self._schema.enums:
            return _enum_test(frozenset(self._schema.enums[ref.name].values()))
        if ref.name in ("list", "set"):
            return _list_test(self.test(ref.args[0]), unique=ref.name == "set")
        if ref.name == "map":
            return _map_test(self._key(ref.args[0]), self.test(ref.args[1]))
        return self._struct(ref, self._schema.struct(ref.name))

    def _struct(self, ref: TypeRef, struct: Struct) -> Test:
        table: dict[str, Test] = {}
        required = frozenset(field.name for field in struct.fields.values() if field.required)
        made = _struct_test(struct.name, table, struct.union, required)
        self._made[ref] = made  # before the fields, which may name this struct again
        table.update({field.name: self.test(field.type) for field in struct.fields.values()})
        return made

    def _key(self, ref: TypeRef) -> Test:
        if ref.name == "string":
            return _is_str
        value = self.test(ref)
        known: dict[str, bool] = {}

        def test(key: Any) -> bool:
            if key in known:
                return True
            good = integer_key(key) is not None and value(int(key))
            if good and len(known) < _KEYS_KEPT:
                known[key] = True
            return good

        return test


_KEYS_KEPT = 4096


def _is_str(value: Any) -> bool:
    return type(value) is str


def _is_bool(value: Any) -> bool:
    return type(value) is bool


def _is_double(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


_SCALARS: Mapping[str, Test] = {"string": _is_str, "binary": _is_str, "bool": _is_bool, "double": _is_double}


def _int_test(bits: int) -> Test:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def test(value: Any) -> bool:
        return type(value) is int and low <= value <= high

    return test


def _enum_test(values: frozenset[int]) -> Test:
    def test(value: Any) -> bool:
        return type(value) is int and value in values

    return test


def _list_test(element: Test, *, unique: bool) -> Test:
    def test(value: Any) -> bool:
        if type(value) is not list:
            return False
        if not all(map(element, value)):
            return False
        return not unique or len(set(value)) == len(value)

    return test


def _map_test(key_test: Test, value_test: Test) -> Test:
    def test(value: Any) -> bool:
        if type(value) is not dict:
            return False
        return all(map(key_test, value)) and all(map(value_test, value.values()))

    return test


def _struct_test(name: str, table: Mapping[str, Test], union: bool, required: frozenset[str]) -> Test:
    def test(value: Any) -> bool:
        if type(value) is not dict:
            return type(value) is wire.Raw and value.struct == name
        for key, member in value.items():  # noqa: SIM110 - all() over a generator takes twice as long
            if key not in table or not (member is None or table[key](member)):
                return False
        return True

    def narrow(value: Any) -> bool:
        if not test(value):
            return False
        if type(value) is wire.Raw:
            return True
        members = {key for key, member in value.items() if member is not None}
        return members >= required and (not union or len(members) == 1)

    return narrow if union or required else test
