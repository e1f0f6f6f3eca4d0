"""Single values set in the text of a YAML file: comments, order and everything else stay as they are.

The text that comes out is parsed again and compared: it holds what it held, but for the values that were set, or nothing is returned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from fabric.errors import FabricError
from fabric.spec.yaml_source import Loc, YamlSource, path_text

Scalar = bool | int | str
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")


def with_values(text: str, name: str, values: Mapping[Loc, Scalar]) -> str:
    """The text with each value set at its path; keys that are missing, their mappings, and a list for its item 0, are written.

    FabricError when one stands where it cannot be set alone (behind an alias or a merge, or where a list or a mapping is);
    `name` is the file's, for the message.
    """
    for loc, value in values.items():
        before = YamlSource(name, text).build()
        edited = _set(text, name, loc, value)
        if YamlSource(name, edited).build() != _wanted(before, loc, value):
            raise _refused(name, loc)
        text = edited
    return text


def _refused(name: str, loc: Loc) -> FabricError:
    return FabricError(
        f"{name}: {path_text(loc)} cannot be set without changing something else", hint="it is written in a form for hands: edit it there"
    )  # fmt: skip


def _wanted(value: Any, loc: Loc, new: Scalar) -> Any:
    """The whole value with the one set."""
    value = _unshared(value)
    at: Any = value
    for part, inner in pairwise(loc):
        if not isinstance(at, list):
            at.setdefault(part, None)
        if at[part] is None:
            at[part] = [] if inner == 0 and isinstance(inner, int) else {}
        at = at[part]
    if isinstance(at, list) and loc[-1] == len(at):
        at.append(new)
    else:
        at[loc[-1]] = new
    return value


def _unshared(value: Any) -> Any:
    """A copy in which what an alias names is a value of its own."""
    if isinstance(value, dict):
        return {key: _unshared(inner) for key, inner in value.items()}
    return [_unshared(inner) for inner in value] if isinstance(value, list) else value


def _set(text: str, name: str, loc: Loc, value: Scalar) -> str:
    node: Node | None = yaml.compose(text, _LOADER)
    for number, part in enumerate(loc):
        if isinstance(node, ScalarNode) and node.tag.endswith(":null"):
            return _replaced(text, node, _flow(loc[number:], value))
        inner = _inner(node, part)
        if inner is None:
            if not isinstance(node, MappingNode):
                raise _refused(name, loc)
            return _added(text, node, loc[number:], value)
        if node is not None and not node.start_mark.index <= inner.start_mark.index <= node.end_mark.index:
            raise _refused(name, loc)  # an alias: the value stands elsewhere, and others share it
        node = inner
    if not isinstance(node, ScalarNode) or text[node.start_mark.index : node.start_mark.index + 1] in ("&", "!"):
        raise _refused(name, loc)
    return _replaced(text, node, _scalar(value))


def _inner(node: Node | None, part: str | int) -> Node | None:
    if isinstance(node, SequenceNode) and isinstance(part, int) and 0 <= part < len(node.value):
        item: Node = node.value[part]
        return item
    if isinstance(node, MappingNode):
        return next(
            (value for key, value in node.value if isinstance(key, ScalarNode) and key.value == str(part)), None
        )
    return None


def _replaced(text: str, node: Node, new: str) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    lead = " " if start == end and text[start - 1 : start] == ":" else ""
    return text[:start] + lead + new + text[end:]


def _added(text: str, node: MappingNode, loc: Loc, value: Scalar) -> str:
    """The entry after the last one of its mapping."""
    if node.flow_style:
        at = _end(node.value[-1][1]) if node.value else node.start_mark.index + 1
        return f"{text[:at]}{', ' if node.value else ''}{_flow(loc, value)[1:-1]}{text[at:]}"
    feed = "\r\n" if "\r\n" in text else "\n"
    at = _end(node.value[-1][1])
    if text[at - 1 : at] != "\n":  # a block scalar ends where the next line begins, all else in its line
        line = text.find("\n", at)
        at = len(text) if line < 0 else line + 1
    lead = "" if text[at - 1 : at] == "\n" else feed
    indent = node.value[0][0].start_mark.column
    keys = [part for part in loc if isinstance(part, str)]  # a list can only be the last of those that are missing
    lines = [f"{' ' * (indent + 2 * depth)}{_key(part)}:" for depth, part in enumerate(keys)]
    return f"{text[:at]}{lead}{feed.join(lines)} {_flow(loc[len(keys) :], value)}{feed}{text[at:]}"


def _end(node: Node) -> int:
    """Where a node's own text ends; a block's mark lies beyond the comments after it."""
    if isinstance(node, MappingNode | SequenceNode) and node.value and not node.flow_style:
        last = node.value[-1]
        return _end(last[1] if isinstance(node, MappingNode) else last)
    end: int = node.end_mark.index
    return end


def _flow(loc: Loc, value: Scalar) -> str:
    """`{a: {b: 1}}`, `{a: [1]}`."""
    text = _scalar(value)
    for part in reversed(loc):
        text = f"{{{_key(part)}: {text}}}" if isinstance(part, str) else f"[{text}]"
    return text


def _key(part: str) -> str:
    return _scalar(part)


def _scalar(value: Scalar) -> str:
    """Plain where YAML reads it back as the same, else in quotes."""
    if isinstance(value, str):
        plain = _PLAIN.match(value) and yaml.safe_load(value) == value
        return value if plain else json.dumps(value)
    return json.dumps(value)
