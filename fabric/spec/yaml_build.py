"""YAML nodes become plain Python values, with everything refused that a spec must not hold.

PyYAML's own constructor is replaced: it keeps the last of two equal keys silently, expands merge keys without a bound, and is
slower than this one function a node. What is refused is collected, so that one run names every mistake of this kind.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from yaml.constructor import SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

#: Deepest nesting of lists and mappings. Our own bound: the spec's models need less than a quarter of it.
MAX_DEPTH = 64
#: Values that aliases may add to what is written in the file. Our own bound: far above any honest use of anchors.
MAX_ALIAS_VALUES = 200_000

_TAG = "tag:yaml.org,2002:"
_STR, _MAP, _SEQ, _MERGE = _TAG + "str", _TAG + "map", _TAG + "seq", _TAG + "merge"
# Control characters except newline and tab, line separators, surrogates, and the marks that reorder what a reader sees.
_BAD_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
# PyYAML lets escape whatever int(), date(), or what it does with a failed match, raises
_UNREADABLE = (ValueError, OverflowError, IndexError, TypeError, AttributeError)
_SECRET = re.compile(r"(password|passwd|secret|token|community|psk|private_key|api_key)$", re.IGNORECASE)
_SAFE = SafeConstructor()
_SCALARS: dict[str, Callable[[ScalarNode], Any]] = {
    _TAG + "null": lambda _: None,
    _TAG + "bool": _SAFE.construct_yaml_bool,
    _TAG + "int": _SAFE.construct_yaml_int,
    _TAG + "float": _SAFE.construct_yaml_float,
    _TAG + "timestamp": _SAFE.construct_yaml_timestamp,
    _TAG + "value": lambda node: node.value,  # a lone "="
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the file that is refused: the node at fault, what is wrong, and what to do."""

    node: Node
    message: str
    hint: str | None = None


class AliasBombError(Exception):
    """The aliases of the file expand beyond MAX_ALIAS_VALUES; `node` is the one that went over."""

    def __init__(self, node: Node) -> None:
        super().__init__("aliases expand too far")
        self.node = node


def scalar(node: ScalarNode) -> Any:
    """The value of a scalar as YAML 1.1 reads it; KeyError for a tag that we do not know, _UNREADABLE for nonsense."""
    return node.value if node.tag == _STR else _SCALARS[node.tag](node)


class Builder:
    """Builds the value of one node tree. `problems` holds what was refused, in the order of the walk.

    `shared` says that the text may hold aliases: only then are nodes remembered.
    """

    def __init__(self, *, shared: bool) -> None:
        self.problems: list[Problem] = []
        self._done: dict[int, tuple[Any, int]] | None = {} if shared else None
        self._open: set[int] = set()
        self._values = 0
        self._alias_values = 0

    def build(self, node: Node, depth: int = 0) -> Any:
        """The value of `node`: dict, list or scalar. Raises AliasBombError."""
        self._values += 1
        if node.__class__ is ScalarNode:
            return self._scalar(node)
        if depth >= MAX_DEPTH:
            return self._refuse(node, f"lists and mappings stand more than {MAX_DEPTH} deep in each other here")
        if self._done is None:
            return self._collection(node, depth)
        return self._shared(node, depth, self._done)

    def _refuse(self, node: Node, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(node, message, hint))

    def _shared(self, node: Node, depth: int, done: dict[int, tuple[Any, int]]) -> Any:
        """Like _collection, for a node that an alias may name again: built once, and what it would expand to is counted."""
        key = id(node)
        if key in done:
            value, size = done[key]
            self._values += size
            self._alias_values += size
            if self._alias_values > MAX_ALIAS_VALUES:
                raise AliasBombError(node)
            return value
        if key in self._open:
            return self._refuse(node, "this anchor holds an alias to itself")
        self._open.add(key)
        before = self._values
        value = self._collection(node, depth)
        self._open.discard(key)
        done[key] = (value, self._values - before + 1)
        return value

    def _collection(self, node: Node, depth: int) -> Any:
        if node.__class__ is MappingNode and node.tag == _MAP:
            return self._mapping(node, depth)
        if node.__class__ is SequenceNode and node.tag == _SEQ:
            build = self.build
            return [build(item, depth + 1) for item in node.value]
        return self._refuse_tag(node)

    def _mapping(self, node: MappingNode, depth: int) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        merges: list[Node] = []
        for key_node, value_node in node.value:
            if key_node.__class__ is not ScalarNode:
                self._refuse(key_node, "a key must be one word, not a list or a mapping")
                continue
            if key_node.tag == _MERGE:
                merges.append(value_node)
                continue
            key = self._scalar(key_node)
            if key in out:
                self._refuse_duplicate(node, key_node, key)
                continue
            out[key] = self.build(value_node, depth + 1)
        for merged in merges:
            self._merge(out, merged, depth)
        return out

    def _merge(self, out: dict[Any, Any], node: Node, depth: int) -> None:
        """`<<: *anchor` or `<<: [*one, *two]`: what is written in the mapping itself wins, then the earlier anchor."""
        for source in node.value if node.__class__ is SequenceNode else [node]:
            value = self.build(source, depth + 1)
            if isinstance(value, dict):
                for key, item in value.items():
                    out.setdefault(key, item)
            else:
                self._refuse(source, "'<<' wants a mapping, or a list of mappings, to merge in")

    def _refuse_duplicate(self, node: MappingNode, key_node: ScalarNode, key: Any) -> None:
        first = next(k for k, _ in node.value if k.__class__ is ScalarNode and k.tag != _MERGE and _same(k, key))
        where = f"line {first.start_mark.line + 1}, column {first.start_mark.column + 1}"
        self._refuse(key_node, f"this key stands here twice, first at {where}", "keep one of them")

    def _scalar(self, node: ScalarNode) -> Any:
        text: str = node.value
        if node.tag == _STR:
            if not text.isprintable() and (bad := _BAD_TEXT.search(text)):
                char = f"U+{ord(bad[0]):04X}"
                self._refuse(node, f"the text holds the character {char}, which no configuration can carry")
            return text
        try:
            value = scalar(node)
        except KeyError:
            return self._refuse_tag(node)
        except _UNREADABLE:
            kind = {"timestamp": "a date", "bool": "yes or no"}.get(node.tag.removeprefix(_TAG), "a number")
            return self._refuse(node, f"YAML cannot read {shown(text)} as {kind}", "put it in quotes if text is meant")
        if value.__class__ is int and (why := _surprise(text)):
            hint = "put it in quotes" if ":" in text else "write it without the leading 0, or as text in quotes"
            self._refuse(node, f"YAML reads {shown(text)} as the {why} number {shown(value)}", hint)
        elif value.__class__ is float and not math.isfinite(value):
            self._refuse(node, f"{shown(text)} is no finite number", "put it in quotes if text is meant")
        elif value.__class__ is float and ":" in text:
            self._refuse(node, f"YAML reads {shown(text)} as the base-60 number {value}", "put it in quotes")
        return value

    def _refuse_tag(self, node: Node) -> None:
        tag = node.tag.replace(_TAG, "!!")
        self._refuse(node, f"the YAML tag {shown(tag)} is not allowed", "write the value without a tag")


def _same(node: ScalarNode, key: Any) -> bool:
    try:
        return bool(scalar(node) == key)
    except (KeyError, *_UNREADABLE):
        return key is None  # what _scalar made of it


def _surprise(text: str) -> str | None:
    """Why YAML 1.1 reads a number otherwise than people do: 65000:30 is in base 60, 010 is eight."""
    if ":" in text:
        return "base-60"
    digits = text.lstrip("+-").replace("_", "")
    return "octal" if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit() else None


def is_secret(loc: Sequence[str | int]) -> bool:
    """Whether the place is that of a secret by its name: its value is not repeated on a screen."""
    return any(isinstance(part, str) and _SECRET.search(part) is not None for part in loc[-1:])


def shown(value: object, limit: int = 60) -> str:
    """A value for a message: on one line, printable, in quotes when it is text, cut after `limit` characters."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return f"a number of about {int(value.bit_length() * math.log10(2))} digits"
    text = repr(value[: limit + 1] if isinstance(value, str) else value)
    return text if len(text) <= limit + 2 else text[: limit - 1] + "…" + (text[0] if text[0] in "'\"" else "")
