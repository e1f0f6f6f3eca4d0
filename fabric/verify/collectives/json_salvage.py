"""JSON of programs that crash, wrap it in text, or write `nan` and `inf` bare: what is whole of it, and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

from fabric.errors import FabricError

MAX_JSON = 64 << 20
MAX_DEPTH = 60
"""Far deeper than any of these documents (nccl-tests nests 5 levels, DCGM 6)."""

_WORD = re.compile(r'\s*("(?:[^"\\\x00-\x1f]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+)')
_NOT_FINITE = re.compile(r"-?(?:nan|inf|infinity)(?:\([^)]*\))?\Z", re.IGNORECASE)
_CLOSER = {"{": "}", "[": "]"}


def read_json(text: str, *, source: str) -> tuple[Any, bool]:
    """The document in a text, and whether it is whole; text before its first brace is passed over.

    Of a document without its end, every value that is whole is kept. FabricError when there is none, or one too large or deep.
    """
    if len(text) > MAX_JSON:
        raise FabricError(f"{source}: {len(text):,} characters of JSON, more than the {MAX_JSON:,} that are read")
    start = _start(text)
    try:
        return json.JSONDecoder(parse_constant=str).raw_decode(text, start)[0], True
    except (ValueError, RecursionError):
        cleaned, whole = _clean(text, start, source)
    if not cleaned:
        raise FabricError(f"{source}: no JSON document in it")
    try:
        return json.loads(cleaned, parse_constant=str), whole
    except (ValueError, RecursionError):
        raise FabricError(f"{source}: not JSON") from None


def _start(text: str) -> int:
    """Where the document begins: the first brace at the start of a line, else the first of all."""
    found = re.search(r"^[ \t]*\{", text, re.MULTILINE)
    return found.end() - 1 if found else max(text.find("{"), 0)


def _clean(text: str, start: int, source: str) -> tuple[str, bool]:
    """The text up to the last place where every open object or list can be closed, closed there; and whether it was whole."""
    out: list[str] = []
    stack: list[str] = []
    safe: tuple[int, tuple[str, ...]] | None = None
    while (found := _WORD.match(text, start)) is not None:
        word, start = found[1], found.end()
        if not _nest(word, stack, source):
            break
        if word == "," and out and out[-1] not in "{[:,":
            safe = (len(out), tuple(stack))
        out.append(f'"{word}"' if _NOT_FINITE.match(word) else word)
        if word in "{[}]":
            safe = (len(out), tuple(stack))
        if not stack:
            return "".join(out), True
    if safe is None:
        return "", False
    return "".join(out[: safe[0]]) + "".join(_CLOSER[opener] for opener in reversed(safe[1])), False


def _nest(word: str, stack: list[str], source: str) -> bool:
    """Keeps the stack of open objects and lists; False for a bracket that closes nothing."""
    if word in "{[":
        if len(stack) >= MAX_DEPTH:
            raise FabricError(f"{source}: nested deeper than {MAX_DEPTH} levels")
        stack.append(word)
    elif word in "}]":
        return bool(stack) and _CLOSER[stack.pop()] == word
    return True
