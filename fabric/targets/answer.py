"""Reading what a device answered, as far as it can be trusted: containers must have their shape, single values may be missing.

A wrong container, or a missing name without which a row means nothing, is a DeviceError; any other value of a wrong type is
None (unknown). Nothing here raises anything else, whatever the text.
"""

from __future__ import annotations

import ipaddress
import json
from typing import Any

from fabric.targets.device import DeviceError

Json = dict[str, Any]


def parse_object(text: str, what: str) -> Json:
    """The JSON object in `text`, which may be preceded by echo and log lines. `what` names the answer in the DeviceError."""
    start = text.find("{")
    if start < 0:
        raise DeviceError(f"{what}: the answer is not JSON: {_begin(text)!r}")
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise DeviceError(f"{what}: the answer is broken JSON: {_begin(str(error))}") from error
    return mapping(value, what)


def mapping(value: object, what: str) -> Json:
    """`value` as a JSON object."""
    if isinstance(value, dict):
        return value
    raise DeviceError(f"{what}: an object was expected, not {_begin(repr(value))}")


def child(parent: Json, key: str, what: str) -> Json:
    """The object under `key`."""
    return mapping(parent.get(key), f"{what}: {key}")


def rows(parent: Json, key: str, what: str) -> list[Json]:
    """The list of objects under `key`."""
    value = parent.get(key)
    if not isinstance(value, list):
        raise DeviceError(f"{what}: {key}: a list was expected, not {_begin(repr(value))}")
    return [mapping(item, f"{what}: {key}") for item in value]


def name(row: Json, key: str, what: str) -> str:
    """A text that must be there."""
    value = text(row, key)
    if value is None:
        raise DeviceError(f"{what}: a row without {key}: {_begin(repr(row))}")
    return value


def text(row: Json, key: str) -> str | None:
    """A text, None when absent, empty or something else."""
    value = row.get(key)
    return value if isinstance(value, str) and value else None


def integer(row: Json, key: str) -> int | None:
    """A whole number, None when absent or something else."""
    value = row.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count(row: Json, *keys: str) -> int | None:
    """The first count under these keys; a negative number means that the device did not read it."""
    for key in keys:
        value = integer(row, key)
        if value is not None and value >= 0:
            return value
    return None


def seconds(row: Json, key: str) -> float | None:
    """A duration."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e12 else None


def prefix(value: str, what: str) -> str:
    """A prefix in canonical text form."""
    try:
        return str(ipaddress.ip_network(value, strict=False))
    except ValueError:
        raise DeviceError(f"{what}: {_begin(value)!r} is not a prefix") from None


def _begin(value: str) -> str:
    line = " ".join(value.split())
    return line if len(line) <= 80 else line[:77] + "..."
