"""The diff of JSON files: a keyed walk. Objects in a list are matched by what names them, not by their place.

Types count: FBOSS reads `true` and `1` differently, so they differ here too.
"""

from __future__ import annotations

import json
import marshal
from dataclasses import dataclass, field
from typing import Any

from fabric.change.diff_model import MAX_DEPTH, Change, UnreadableError, printable
from fabric.change.mask import MASK, equal_by_placeholder, is_secret_key, mask_json

Key = tuple[str, ...]

# What names an object, by the field that holds the list (FBOSS switch_config.thrift and bgp_config.thrift, see docs/).
_KEYS: dict[str, Key] = {
    "ports": ("logicalID",),
    "vlans": ("id",),
    "vlanPorts": ("vlanID", "logicalPort"),
    "interfaces": ("intfID",),
    "peers": ("peer_addr",),
    "networks4": ("prefix",),
    "networks6": ("prefix",),
    "dscpMaps": ("internalTrafficClass",),
    "rxReasonToQueueOrderedList": ("rxReason",),
    "matchToAction": ("matcher",),
    "prefixes": ("base_prefix",),
    "staticRoutesToNull": ("routerID", "prefix"),
    "staticRoutesToCPU": ("routerID", "prefix"),
    "staticRoutesWithNhops": ("routerID", "prefix"),
}
_FALLBACK: tuple[Key, ...] = (
    ("logicalID",), ("name",), ("id",), ("intfID",), ("vlanID", "logicalPort"), ("prefix",), ("peer_addr",), ("key",),
)  # fmt: skip
_UNORDERED = frozenset(
    {"ports", "vlans", "vlanPorts", "interfaces", "peers", "peer_groups", "networks4", "networks6", "dscpMaps", "cpuQueues",
     "staticRoutesToNull", "staticRoutesToCPU", "staticRoutesWithNhops", "trafficCounters", "mirrors", "qosPolicies",
     "loadBalancers", "prefix_lists", "bgp_policy_statements"}
)  # fmt: skip
"""Lists that the daemon reads into a map; in all others the order means something, or may."""


def parse_json(data: bytes) -> Any:
    """Bytes -> value. Raises UnreadableError with the reason and the place."""
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise UnreadableError(f"not JSON: byte {error.start} is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise UnreadableError(f"not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"not JSON: {str(error)[:80]}") from error


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def diff_json(running: Any, desired: Any) -> list[Change]:
    """Changes that make `running` into `desired` (both as `parse_json` gives them); none when they declare the same."""
    walk = _Walk()
    walk.value("", "", running, desired, "", 0)
    return walk.changes


@dataclass(slots=True)
class _Walk:
    changes: list[Change] = field(default_factory=list)

    def value(self, path: str, key: str, old: Any, new: Any, subject: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise UnreadableError(f"not a configuration: nested more than {MAX_DEPTH} levels deep")
        if isinstance(old, dict) and isinstance(new, dict):
            self.mapping(path, old, new, subject, depth)
        elif isinstance(old, list) and isinstance(new, list) and _objects(old) and _objects(new):
            self.listing(path, key, old, new, subject, depth)
        elif not _same(old, new) and not equal_by_placeholder(old, new):
            self.add("~", path, _members(key, old, new) or f"{_show(key, old)} -> {_show(key, new)}", subject)

    def mapping(self, path: str, old: dict[str, Any], new: dict[str, Any], subject: str, depth: int) -> None:
        for key, value in old.items():
            if key not in new:
                self.add("-", _join(path, key), _show(key, value), subject)
        for key, value in new.items():
            if key not in old:
                self.add("+", _join(path, key), _show(key, value), subject)
                continue
            before, kind = old[key], type(value)
            if before is value or (
                kind is type(before) and before == value and (kind in _SCALARS or _identical(before, value))
            ):
                continue
            self.value(_join(path, key), key, before, value, subject, depth + 1)

    def listing(self, path: str, key: str, old: list[Any], new: list[Any], subject: str, depth: int) -> None:
        names = _key(key, old, new)
        left, right = _indexed(old, names), _indexed(new, names)
        for name, item in left.items():
            if name not in right:
                label = _label(name, item)
                about = label if names and not subject else subject
                self.add("-", f"{path}[{label}]", _show(key, item), about)
        for name, item in right.items():
            label = _label(name, item)
            about = label if names and not subject else subject
            if name not in left:
                self.add("+", f"{path}[{label}]", _show(key, item), about)
            elif left[name] != item or not _identical(left[name], item):
                self.value(f"{path}[{label}]", key, left[name], item, about, depth + 1)
        if names and key not in _UNORDERED and [n for n in left if n in right] != [n for n in right if n in left]:
            order = ", ".join(_label(n, i) for n, i in right.items())
            self.add("~", path, f"order is now {order}", subject)

    def add(self, sign: str, path: str, text: str, subject: str) -> None:
        self.changes.append(Change((printable(f"{sign} {path or '(the whole file)'}: {text}"),), printable(subject)))


_SHORT_LIST = 8
_SCALARS = frozenset({str, int, float, bool, type(None)})


def _identical(old: Any, new: Any) -> bool:
    """Of two values that are == : whether their types agree too. Fast for the usual case; unequal key order takes the slow way.

    (marshal.dumps only serialises, in C; nothing is ever loaded with it. Version 2 writes no references.)
    """
    return marshal.dumps(old, 2) == marshal.dumps(new, 2) or _same(old, new)


def _same(old: Any, new: Any) -> bool:
    if type(old) is not type(new):
        return False
    if isinstance(old, dict):
        return old.keys() == new.keys() and all(_same(value, new[key]) for key, value in old.items())
    if isinstance(old, list):
        return len(old) == len(new) and all(map(_same, old, new))
    return bool(old == new)


def _members(key: str, old: Any, new: Any) -> str:
    """What left and what joined a list of plain values, when the lists are long; "" when that says less than both lists."""
    if not (isinstance(old, list) and isinstance(new, list) and max(len(old), len(new)) > _SHORT_LIST):
        return ""
    if any(isinstance(item, dict | list) for item in [*old, *new]):
        return ""
    gone = [item for item in old if not any(_same(item, other) for other in new)]
    come = [item for item in new if not any(_same(item, other) for other in old)]
    said = [f"{word} {_show(key, items)}" for word, items in (("without", gone), ("with", come)) if items]
    return " and ".join(said)


def _join(path: str, key: str) -> str:
    part = key if key and not set(key) & set(".[]: ") else json.dumps(key)
    return f"{path}.{part}" if path else part


def _objects(items: list[Any]) -> bool:
    return all(isinstance(item, dict) for item in items)


def _key(holder: str, old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Key:
    """The fields that name the objects of both lists; () when only their place does."""
    if not old and not new:
        return ()
    for names in (_KEYS.get(holder), *_FALLBACK):
        if names and _unique(old, names) and _unique(new, names):
            return names
    return ()


def _unique(items: list[dict[str, Any]], names: Key) -> bool:
    seen = {tuple(item.get(name) for name in names) for item in items if _named(item, names)}
    return len(seen) == len(items)


def _named(item: dict[str, Any], names: Key) -> bool:
    return all(type(item.get(name)) in (str, int) for name in names)


def _indexed(items: list[dict[str, Any]], names: Key) -> dict[Any, dict[str, Any]]:
    if not names:
        return dict(enumerate(items))
    return {tuple(item[name] for name in names): item for item in items}


def _label(name: Any, item: dict[str, Any]) -> str:
    """How a reader knows the object: its name if it has one, else its key."""
    if not isinstance(name, tuple):
        return str(name)
    readable = item.get("name")
    return readable if isinstance(readable, str) and readable else "/".join(map(str, name))


def _show(key: str, value: Any) -> str:
    if type(value) is int and not is_secret_key(key):
        return str(value)
    masked = mask_json(key, value)
    return MASK if masked == MASK else json.dumps(masked, ensure_ascii=False)
