"""A dump without the entries that the analysis would not look at: nearly all of its 2,000 have ended, and of each group three are enough.

They are left out of the bytes, before anything is checked or built, which is most of the work. Left out is only a whole entry that
holds no new text and is not remembered, so nothing that stays refers to it; what stays is checked as every dump is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

LEAST: Final = 64
"""Entries that must go for a dump to be made anew."""
LARGEST: Final = 8 << 20
"""Bytes of a dump that is made anew; it needs up to 20 times as much memory on the way. One with stack traces takes some 2 MiB."""
_SAMPLES: Final = 64  # entries looked at for one that has ended and holds no new text

_REF: Final = rb"(?>h.|j....)"
_NUMBER: Final = rb"(?>K.|M..|J....)"
_PLAIN: Final = rb"K.|M..|J....|[N\x88\x89]"
_LONG: Final = rb"\x8a\x08........"
_PAIR: Final = _REF + _REF + rb"\x86"


def _whole(inside: bytes) -> bytes:
    return rb"[\]}](?:\((?:" + inside + rb")*+[ue])?+(?![qr])"


_ATOM: Final = _PLAIN + rb"|" + _LONG + rb"|G.{8}|" + _REF + rb"(?:" + _REF + rb"\x86)?+"
_VALUE: Final = rb"(?:" + _ATOM + rb"|" + _whole(_ATOM + rb"|" + _whole(_ATOM + rb"|" + _whole(_ATOM))) + rb")"
_FIELD: Final = re.compile(rb"(" + _REF + rb")(" + _VALUE + rb")", re.DOTALL)
_ENTRY: Final = re.compile(rb"\}\(((?:" + _REF + _VALUE + rb")++)u(?![qr])", re.DOTALL)
# What a field holds, by its first value; the quick ones first. A value of another kind only means that its entry stays.
_KINDS: Final = (
    _REF,
    rb"(?>" + _LONG + rb"|" + _PLAIN + rb")",
    rb"(?>" + _PLAIN + rb"|" + _LONG + rb")",
    rb"\](?>\(\]\("
    + _NUMBER
    + rb"{1,4}+ee|\((?:\](?>\("
    + _NUMBER
    + rb"*+e|))*+e|)",  # sizes; most often of one tensor
    rb"\](?>\(h.e|\(" + _REF + rb"*+e|)",  # types
    _VALUE,
)
_ENTRIES, _GROUP, _RETIRED, _P2P = (
    b"X" + len(name).to_bytes(4, "little") + name for name in (b"entries", b"process_group", b"retired", b"is_p2p")
)


def thinned(data: bytes) -> tuple[bytes, int]:
    """The pickle without what is not needed, and how many entries were left out; `data` itself and 0 where that cannot be told.

    Of what has ended the first entry and the last two of each group stay, collectives and transfers apart, as `summary_of` looks at them.
    """
    start = data.find(_ENTRIES) if len(data) <= LARGEST else -1
    refs = [_ref(data, name, start) for name in (_GROUP, _RETIRED, _P2P)] if start >= 0 else [b""]
    shape = _shape(data, start, *refs) if all(refs) else b""
    if not shape:
        return data, 0
    parts = _compiled(shape).split(data[start:])  # what is between, an entry, its group, whether a transfer; and so on
    between, entries, keys = parts[::4], parts[1::4], list(zip(parts[2::4], parts[3::4], strict=True))
    stay = _staying(keys)
    if len(entries) - len(stay) < LEAST:
        return data, 0
    pieces, behind = [data[:start]], 0
    for place in stay:
        pieces += [*between[behind : place + 1], entries[place]]
        behind = place + 1
    return b"".join(pieces + between[behind:]), len(entries) - len(stay)


def _staying(keys: list[tuple[bytes, bytes]]) -> list[int]:
    """Places of the first and the last two of each key, ascending."""
    count = len(keys)
    first = dict(zip(reversed(keys), range(count - 1, -1, -1), strict=True))
    last = dict(zip(keys, range(count), strict=True))
    rest: list[tuple[bytes, bytes] | None] = [*keys]
    for place in last.values():
        rest[place] = None
    before = dict(zip(rest, range(count), strict=True))
    before.pop(None, None)
    return sorted({*first.values(), *before.values(), *last.values()})


def _ref(data: bytes, text: bytes, start: int) -> bytes:
    """How the text is referred to after its first use; empty when it is not there or not remembered."""
    place = data.find(text, start)
    code = data[place + len(text) : place + len(text) + 5]
    if place >= 0 and code[:1] == b"q":
        return b"h" + code[1:2]
    return b"j" + code[1:] if place >= 0 and code[:1] == b"r" else b""


def _shape(data: bytes, start: int, group: bytes, retired: bytes, p2p: bytes) -> bytes:
    """The pattern of entries like the first that has ended and holds no new text; empty without one."""
    for _, found in zip(range(_SAMPLES), _ENTRY.finditer(data, start), strict=False):
        fields = {field[1]: field[2] for field in _FIELD.finditer(found[1])}
        if fields.get(retired) == b"\x88" and fields.get(group, b"").endswith(b"\x86") and p2p in fields:
            own = {group: rb"(" + _PAIR + rb")", retired: rb"\x88", p2p: rb"([\x88\x89])"}
            inside = (re.escape(key) + (own.get(key) or _kind(value)) for key, value in fields.items())
            return rb"(\}\(" + b"".join(inside) + rb"u(?![qr]))"
    return b""


def _kind(value: bytes) -> bytes:
    return next((kind for kind in _KINDS if _compiled(kind).fullmatch(value)), _VALUE)


@lru_cache(maxsize=32)
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.DOTALL)
