"""Plain data as PyTorch pickles it: protocol 2, each text once and then from the memo, pairs as TUPLE2, whole lists and dicts by one MARK.

Written from the opcodes and shapes of real dumps (flight-recorder.md, section 1), so that tests and benchmarks read what PyTorch writes.
"""

from __future__ import annotations

import struct
from typing import Any


class TorchPickler:
    """One pickle. `text(value)` may be given placeholders that are replaced in the bytes later."""

    def __init__(self) -> None:
        self.out = bytearray(b"\x80\x02")
        self._memo: dict[str, int] = {}

    def dump(self, value: Any) -> bytes:
        """The whole pickle."""
        self._put(value)
        self.out += self._remembered(len(self._memo)) + b"."
        return bytes(self.out)

    def _remembered(self, place: int) -> bytes:
        return b"q" + bytes([place]) if place < 256 else b"r" + struct.pack("<I", place)

    def _put(self, value: Any) -> None:
        if isinstance(value, str):
            self._text(value)
        elif value is None or isinstance(value, bool):
            self.out += {None: b"N", True: b"\x88", False: b"\x89"}[value]
        elif isinstance(value, int):
            self._int(value)
        elif isinstance(value, float):
            self.out += b"G" + struct.pack(">d", value)
        elif isinstance(value, tuple):
            for item in value:
                self._put(item)
            self.out += b"\x86"
        elif isinstance(value, list):
            self.out += b"]("
            for item in value:
                self._put(item)
            self.out += b"e"
        else:
            self.out += b"}("
            for key, item in value.items():
                self._put(key)
                self._put(item)
            self.out += b"u"

    def _text(self, value: str) -> None:
        place = self._memo.get(value)
        if place is not None:
            self.out += b"h" + bytes([place]) if place < 256 else b"j" + struct.pack("<I", place)
            return
        data = value.encode()
        place = self._memo[value] = len(self._memo)
        self.out += b"X" + struct.pack("<I", len(data)) + data + self._remembered(place)

    def _int(self, value: int) -> None:
        if 0 <= value < 1 << 8:
            self.out += b"K" + bytes([value])
        elif 0 <= value < 1 << 16:
            self.out += b"M" + struct.pack("<H", value)
        elif -(1 << 31) <= value < 1 << 31:
            self.out += b"J" + struct.pack("<i", value)
        else:
            self.out += b"\x8a\x08" + struct.pack("<q", value)
