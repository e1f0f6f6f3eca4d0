"""One pydantic error becomes one sentence of ours: what was found, what is wanted, and what to do."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from yaml.nodes import Node, ScalarNode

from fabric.spec.suggest import Place, legal_keys, listing, members, near, near_only, nearest
from fabric.spec.yaml_build import is_secret, shown
from fabric.words import counted

#: What pydantic's error types want, in plain words. A key that ends in "_" stands for all types that start with it.
_WANTED: dict[str, str] = {
    "int_": "a whole number",
    "float_": "a number",
    "finite_number": "a finite number",
    "decimal_": "a number",
    "bool_": "yes or no (true or false)",
    "string_type": "text",
    "string_sub_type": "text",
    "string_unicode": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "iterable_type": "a list",
    "dict_type": "a mapping (key: value)",
    "mapping_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "model_attributes_type": "a mapping (key: value)",
    "dataclass_type": "a mapping (key: value)",
    "none_required": "nothing",
    "date_": "a date (2024-01-31)",
    "datetime_": "a date and time",
    "time_": "a time",
    "timedelta_": "a duration",
    "ip_v4_address": "an IPv4 address",
    "ip_v6_address": "an IPv6 address",
    "ip_any_address": "an IP address",
    "ip_v4_network": "an IPv4 prefix",
    "ip_v6_network": "an IPv6 prefix",
    "ip_any_network": "an IP prefix",
    "ip_v4_interface": "an IPv4 address with its prefix length",
    "ip_v6_interface": "an IPv6 address with its prefix length",
    "ip_any_interface": "an IP address with its prefix length",
    "url_": "a URL",
    "uuid_": "a UUID",
}

_BOUNDS = {
    "greater_than": ("gt", "must be more than"),
    "greater_than_equal": ("ge", "must be at least"),
    "less_than": ("lt", "must be less than"),
    "less_than_equal": ("le", "must be at most"),
    "multiple_of": ("multiple_of", "must be a multiple of"),
}
_LENGTHS = {
    "string_too_short": ("min_length", "at least", "character"),
    "string_too_long": ("max_length", "at most", "character"),
    "too_short": ("min_length", "at least", "item"),
    "too_long": ("max_length", "at most", "item"),
}
_KEY_ERRORS = frozenset({"missing", "extra_forbidden", "invalid_key"})
_CHOICE = re.compile(r"'((?:[^'\\]|\\.)*)'|([^\s',]+)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is wrong (without the place), and the hint."""

    text: str
    hint: str | None = None


def wanted(error: Mapping[str, Any]) -> str | None:
    """What an error of the wrong type or choice wants, in plain words; None for every other error."""
    kind: str = error["type"]
    if kind in ("literal_error", "enum"):
        return listing_or(choices(error))
    if kind == "int_parsing_size":
        return None
    stem = kind.partition("_")[0] + "_"
    return _WANTED.get(kind) or _WANTED.get(stem)


def choices(error: Mapping[str, Any]) -> list[str]:
    """The legal values of a Literal or enum, from pydantic's own list of them."""
    text = error["ctx"].get("expected") or error["ctx"].get("expected_tags") or ""
    return [quoted or bare for quoted, bare in _CHOICE.findall(text) if quoted or bare != "or"]


def listing_or(names: list[str]) -> str:
    """`a`, `a or b`, `a, b or c`; cut when there are many."""
    shown_names = listing(names)
    return shown_names if len(names) == 1 or "more" in shown_names else f"{', '.join(names[:-1])} or {names[-1]}"


def sentence(error: Mapping[str, Any], place: Place, key: Node | None, node: Node | None) -> Sentence:
    """The sentence for one pydantic error at `place`.

    `key` and `node` are what the YAML holds there (None when it holds nothing). For a missing key, `place` is the mapping
    that lacks it; for an unknown one, `place.kind` is the model that does not know it.
    """
    kind: str = error["type"]
    if kind in _KEY_ERRORS or place.is_key:
        return _key(error, place, key)
    if kind.startswith("union_tag_"):
        return _tag(error, place, node)
    if kind in ("value_error", "assertion_error"):
        return Sentence(str(error["ctx"]["error"]) or "is refused")
    if kind in _BOUNDS or kind in _LENGTHS or kind == "string_pattern_mismatch":
        return _out_of_bounds(error, place)
    wants = wanted(error)
    if wants is None:
        return Sentence(error["msg"][:1].lower() + error["msg"][1:])
    told = mismatch(wants, error["input"], node, _legal(error), place)
    return Sentence(told.text, told.hint or _prefix_hint(kind, error["input"]))


def _legal(error: Mapping[str, Any]) -> list[str]:
    return choices(error) if error["type"] in ("literal_error", "enum") else []


def _out_of_bounds(error: Mapping[str, Any], place: Place) -> Sentence:
    kind: str = error["type"]
    if kind in _LENGTHS:
        name, words, unit = _LENGTHS[kind]
        bound = error["ctx"][name]
        return Sentence(f"must have {words} {counted(bound, unit)}, has {len(error['input']):,}")
    found = _found_short(error, place)
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return Sentence(f"{words} {_number(error['ctx'][name])}, is {found}")
    return Sentence(f"{found} does not match the pattern {error['ctx']['pattern']}")


def _prefix_hint(kind: str, value: object) -> str | None:
    """For a prefix with host bits set: the prefix that it stands in."""
    if not kind.startswith("ip_") or not kind.endswith("_network") or not isinstance(value, str):
        return None
    try:
        return f"the prefix is {ipaddress.ip_network(value, strict=False)}"
    except ValueError:
        return None


def _key(error: Mapping[str, Any], place: Place, key: Node | None) -> Sentence:
    """A key that is missing, unknown or itself refused; pydantic calls a key of a model that is no text `invalid_key`."""
    kind, name = error["type"], error["loc"][-1]
    if kind == "missing":
        return Sentence(
            f"item number {name + 1} is missing" if isinstance(name, int) else f"the key {name!r} is missing"
        )
    if kind == "extra_forbidden":
        return Sentence(f"unknown key {shown(name)}", near(name, legal_keys(place.kind)))
    wants = "text" if kind == "invalid_key" else wanted(error)
    if wants is None:
        inner = sentence(error, Place(place.path, place.kind), None, key)
    else:
        inner = mismatch(wants, error["input"], key, _legal(error), place)
    return Sentence(f"this key {inner.text}" if inner.text.startswith(("must", "wants")) else inner.text, inner.hint)


def mismatch(wants: str, value: Any, node: Node | None, legal: list[str], place: Place) -> Sentence:
    """`wants X, found Y`; where YAML 1.1 made another thing of plain text than its writer meant, the advice to quote it."""
    raw = node.value if isinstance(node, ScalarNode) and not node.style else None
    text_wanted = "text" in wants or (raw in legal and not re.fullmatch(r"-?\d+", raw or ""))
    if is_secret(place.path) and value is not None:
        return Sentence(f"wants {wants}, found something else (not shown)", "put it in quotes" if raw else None)
    if raw and text_wanted and not isinstance(value, str):
        return Sentence(f"wants {wants}, but YAML reads {shown(raw)} as {_found(value)}", "put it in quotes")
    hint = near_only(value, legal) if isinstance(value, str) else None
    if isinstance(value, str) and _quoted_number(wants, value, node):
        hint = "take the quotes away"
    return Sentence(f"wants {wants}, found {_found(value)}", hint)


def _quoted_number(wants: str, value: str, node: Node | None) -> bool:
    quoted = isinstance(node, ScalarNode) and node.style in ("'", '"')
    pattern = r"[-+]?\d+" if "whole" in wants else r"[-+]?\d+(\.\d+)?"
    return quoted and "number" in wants and re.fullmatch(pattern, value) is not None


def _tag(error: Mapping[str, Any], place: Place, node: Node | None) -> Sentence:
    """The key that chooses a branch of a discriminated union: `place` is that key when it is there, or the mapping."""
    key, given = error["ctx"]["discriminator"].strip("'"), error["input"]
    if error["type"] == "union_tag_invalid":
        legal = choices(error)
        value = given.get(key) if isinstance(given, dict) else error["ctx"]["tag"]
        return mismatch(listing_or(legal), value, node, legal, place)
    meant = nearest(key, map(str, given)) if isinstance(given, dict) else None
    hint = f"is {meant!r} there meant to be it?" if meant else None
    return Sentence(f"the key {key!r} is missing: {listing_or(members(place.kind, key))}", hint)


def _number(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _found_short(error: Mapping[str, Any], place: Place) -> str:
    value = error["input"]
    if is_secret(place.path):
        return "a value that is not shown"
    plain = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**15
    return _number(value) if plain else shown(value)


def _found(value: Any) -> str:
    """What stands there, in plain words."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes/no (true)" if value else "yes/no (false)"
    if isinstance(value, int | float):
        return shown(value) if isinstance(value, int) and abs(value) > 10**15 else f"the number {value}"
    if isinstance(value, str):
        return f"the text {shown(value)}"
    if isinstance(value, date):
        return f"a date ({shown(value)})"
    return "a list" if isinstance(value, list) else "a mapping"
