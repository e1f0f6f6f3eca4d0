"""JSON in and out, as FBOSS reads it: strict on the way in, deterministic and fit for a diff on the way out.

`dumps` breaks only the top of the tree over lines (objects to depth 2, lists of objects to depth 3, one element a
line); all below is one compact run of json's C encoder, so a change of one port is a change of one line and 100 KB
take about a millisecond.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from fabric.errors import FabricError

MAX_BYTES = 64 * 1024 * 1024
"""Largest file that `loads` reads (our bound; a 128-port agent.conf is under 1 MiB)."""

_OBJECT_DEPTH = 2
_LIST_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Raw:
    """A sub-tree that is JSON text already, put into `dumps` as it stands (made by `fragment`).

    It may stand where `dumps` breaks lines: a value of the top object or of an object in it, or an element of a
    broken list. `struct` names the IDL struct that it was checked as; the strict check takes a Raw only where that
    struct is expected.
    """

    text: str
    struct: str = ""


def _refuse(value: object) -> NoReturn:
    raise TypeError(f"{type(value).__name__} cannot stand in compact JSON")


def _make_encoder() -> Callable[[object], str]:
    """JSONEncoder.encode, less its set-up of the C encoder on each call (which is half the time of a short line)."""
    plain = json.JSONEncoder(
        ensure_ascii=False, check_circular=False, allow_nan=False, separators=(", ", ": "), default=_refuse
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # another Python than CPython
        return plain.encode
    chunks = make(None, _refuse, json.encoder.encode_basestring, None, ": ", ", ", False, False, False)

    def encode(value: object) -> str:
        return "".join(chunks(value, 0))

    return encode


_encode = _make_encoder()


def _emit(value: Any, depth: int) -> str:
    """`value`, which stands at nesting `depth` (the top is 1), as text."""
    kind = type(value)
    if kind is dict:
        if depth > _OBJECT_DEPTH or not value:
            return _encode(value)
        rows = [f"{_encode(_key(key))}: {_emit(member, depth + 1)}" for key, member in value.items()]
        return _broken("{", rows, "}", depth)
    if (
        kind is list
        and value
        and depth <= _LIST_DEPTH
        and all(type(item) is dict or type(item) is Raw for item in value)
    ):
        return _broken("[", [item.text if type(item) is Raw else _encode(item) for item in value], "]", depth)
    return str(value.text) if kind is Raw else _encode(value)


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"JSON keys are strings, not {type(key).__name__}")
    return key


def _broken(opening: str, rows: list[str], closing: str, depth: int) -> str:
    indent = "\n" + "  " * depth
    return f"{opening}{indent}{(',' + indent).join(rows)}\n{'  ' * (depth - 1)}{closing}"


def dumps(value: object) -> bytes:
    """`value` as UTF-8 JSON with a newline at the end; the same value gives the same bytes (keys keep their order).

    Raises TypeError or ValueError (NaN, a lone surrogate) for what is not JSON: run the strict check first.
    """
    return (_emit(value, 1) + "\n").encode()


def fragment(value: object, *, depth: int = 2, struct: str = "") -> Raw:
    """`value` dumped once, for nesting `depth` (2 = a member of the top object, 3 = of an object in it): same bytes."""
    return Raw(_emit(value, depth), struct)


def loads(text: str | bytes, *, source: str = "JSON", limit: int = MAX_BYTES, raw_newlines: bool = False) -> Any:
    """The value of a JSON text, read strictly.

    Refused: a duplicate key, NaN, Infinity, a number out of range, a lone surrogate, more than `limit` bytes.
    `raw_newlines` takes line ends inside strings, which some published FBOSS samples hold.
    Raises FabricError with `source` (a file's name) in the message.
    """
    if len(text) > limit:
        raise FabricError(f"{source}: {len(text)} bytes, more than the {limit} that are read")
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        value = json.loads(
            text, strict=not raw_newlines, object_pairs_hook=_object, parse_constant=_constant, parse_float=_float
        )
        if "\\u" in text or not text.isascii():
            _encode(value).encode()  # a lone surrogate cannot be written again
        return value
    except json.JSONDecodeError as error:
        raise FabricError(f"{source}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except UnicodeError:
        raise FabricError(f"{source}: not UTF-8 text") from None
    except RecursionError:
        raise FabricError(f"{source}: nested too deeply") from None
    except ValueError as error:
        raise FabricError(f"{source}: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {json.dumps(twice[:80])} stands twice in one object")
    return made


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]} is out of range")
    return number
