"""A flight-recorder pickle, read without trusting it.

Every opcode is looked at before anything is built: only those that PyTorch writes for plain data are allowed, in the shapes in which it
writes them. So nothing can be imported or called, nothing can contain itself, and the memory it would need is known beforehand.
The check is one regular expression over all that holds no new text, most entries that is; it costs about as much as the reading itself.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import re
from typing import Any, Final

from fabric.errors import FabricError
from fabric.words import counted

LARGEST: Final = 64 << 20
"""Bytes of a file that is read at all: a dump of 2,000 entries takes 0.3 MB (reference: estimated), so this is 200 times as much."""

MEMORY: Final = 512 << 20
"""Bytes that one dump may need once it is built; two are built at a time."""

DEEPEST: Final = 32
"""How deep lists and dicts may stand in each other: those of a dump stand four deep, frames five."""

_TUPLES: Final = 10_000  # pairs made right after a text; bounds how deep they can stand in each other
_MEMO: Final = rb"(?:q.|r..[\x00-\x07]\x00)?"
_PAIR: Final = rb"\x86" + _MEMO
_FIXED: Final = rb"K.|M..|J.{4}|[N\x88\x89]|\x8a\x08.{8}|G.{8}"
# Most often a key from the memo and its value stand together, so they are matched together; two from the memo can make a pair.
_ATOM: Final = (
    rb"h.(?:h.(?:h." + _PAIR + rb"|" + _PAIR + rb")?+|" + _FIXED + rb")?+"
    rb"|j.{4}(?:(?:h.|j.{4})" + _PAIR + rb")?+|h.j.{4}" + _PAIR + rb"|" + _FIXED
)


def _whole(inside: bytes) -> bytes:
    """A list or dict from its first byte to its last; it is not remembered before it is complete, so none contains itself."""
    return rb"[\]}](?![qr])(?:\((?:" + inside + rb")*+[ue]" + _MEMO + rb")?"


_RUN: Final = re.compile(
    rb"(?:" + _ATOM + rb"|" + _whole(_ATOM + rb"|" + _whole(_ATOM + rb"|" + _whole(_ATOM))) + rb"(?!\())*+", re.DOTALL
)
_AFTER_TEXT: Final = re.compile(_MEMO + rb"(?:(?:h.|j.{4})?+\x86" + _MEMO + rb")?+", re.DOTALL)
_CLOSE: Final = re.compile(rb"[ue]" + _MEMO, re.DOTALL)
_NAMES: Final = {op.code.encode("latin-1"): op.name for op in pickletools.opcodes}
_ARGUMENTS: Final = {b"h": 1, b"j": 4, b"q": 1, b"r": 4, b"K": 1, b"M": 2, b"J": 4, b"\x8a": 9, b"G": 8, b"X": 4}


def load_pickle(data: bytes) -> Any:
    """The plain data in `data`: dicts, lists, pairs, texts, numbers, booleans, None.

    Raises FabricError, with the place, for anything else, for what is cut off, and for what would need more than MEMORY.
    """
    _fits(data)
    _check(data)
    try:
        return _Plain(io.BufferedReader(io.BytesIO(data), len(data) + 1)).load()  # buffered: else it reads byte by byte
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise FabricError(f"is no pickle that PyTorch wrote: {error}") from error


class _Plain(pickle.Unpickler):
    """Refuses every name, should one come past the check."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        raise FabricError(f"asks for {module_name}.{global_name}: only plain data is read")


def _fits(data: bytes) -> None:
    """Refuses what would need too much memory: a container takes one byte here and 64 to 88 bytes when built."""
    need = 16 * len(data) + 88 * (data.count(b"]") + data.count(b"}"))
    if need > MEMORY:
        raise FabricError(f"could need {need >> 20:,} MiB of memory, more than the {MEMORY >> 20} MiB that a dump may")


def _check(data: bytes) -> None:
    if data[:2] != b"\x80\x02":
        raise FabricError("is no pickle of protocol 2, which PyTorch writes")
    place, tuples, depth, run = 2, 0, 0, _RUN.match
    while True:
        place = _end(run(data, place))
        code = data[place : place + 1]
        if code == b"X":
            place += 5 + int.from_bytes(data[place + 1 : place + 5], "little")
            end = _end(_AFTER_TEXT.match(data, place))
            tuples += end - place > 2 and b"\x86" in data[place:end]
            place = end
        elif code and code in b"]}" and data[place + 1 : place + 2] == b"(":
            place, depth = place + 2, depth + 1
            if depth > DEEPEST:
                raise FabricError(f"is nested more than {DEEPEST} deep at byte {place:,}")
        elif code and code in b"ue":
            place, depth = _end(_CLOSE.match(data, place)), depth - 1
        else:
            break
    if tuples > _TUPLES:
        raise FabricError(f"holds {counted(tuples, 'pair')} of new texts: more than any dump has")
    if code != b"." or place + 1 != len(data):
        raise _refusal(data, place)


def _end(found: re.Match[bytes] | None) -> int:
    return 0 if found is None else found.end()  # never None: both patterns match nothing, too


def _refusal(data: bytes, place: int) -> FabricError:
    """Why reading stopped at `place`."""
    code = data[place : place + 1]
    if place >= len(data) or place + _ARGUMENTS.get(code, -1) >= len(data):
        return FabricError(f"is cut off after {counted(len(data), 'byte')}")
    if code == b".":
        return FabricError(f"goes on after its end at byte {place:,}")
    known = _NAMES.get(code)
    if known is None:
        return FabricError(f"has no known opcode at byte {place:,}")
    if code == b"c":
        module, name = (part.decode("utf-8", "replace")[:40] for part in [*data[place + 1 :].split(b"\n", 2), b""][:2])
        return FabricError(f"asks for code, {f'{module}.{name}'!r}, at byte {place:,}: only plain data is read")
    if code in b"qr" or (code in b"]}" and data[place + 1 : place + 2] in (b"q", b"r")):
        return FabricError(f"holds a list or dict that can contain itself at byte {place:,}")
    return FabricError(f"uses {known} at byte {place:,}, which PyTorch does not write for plain data")
