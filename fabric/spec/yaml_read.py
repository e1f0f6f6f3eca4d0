"""From a path to text: what is no regular file, too large, or not UTF-8 text is refused with one line."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from fabric.errors import FabricError
from fabric.spec.yaml_build import shown

#: Largest file in bytes. Our own bound: a thousand times what a cluster needs.
MAX_BYTES = 16 * 1024 * 1024

# What YAML 1.2 section 5.1 does not call printable
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file: the path as the user gave it, line and column counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


def read_bytes(path: Path) -> bytes:
    """The bytes of a regular file of at most MAX_BYTES; FabricError for anything else."""
    try:
        info = path.stat()
        if stat.S_ISDIR(info.st_mode):
            raise FabricError(f"{path}: is a directory, not a file", hint="name the YAML file in it")
        if not stat.S_ISREG(info.st_mode):
            raise FabricError(f"{path}: is not a regular file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise FabricError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise FabricError(f"{shown(str(path), 200)[1:-1]}: cannot read the file: {reason}") from None
    if len(data) > MAX_BYTES:
        raise FabricError(f"{path}: the file is larger than {MAX_BYTES // 2**20} MiB, the most that is read")
    return data


def decode(data: bytes, name: str) -> str:
    """UTF-8 text without a byte order mark; FabricError with the position of the first byte or character that is no text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        raise FabricError(f"{name}:1:1: the file is in UTF-16 or UTF-32", hint="save it as UTF-8")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        at = _position(name, data[: error.start].decode())
        byte = data[error.start]
        raise FabricError(f"{at}: the byte 0x{byte:02x} is not UTF-8 text", hint="save the file as UTF-8") from None
    if bad := _UNPRINTABLE.search(text):
        at = _position(name, text[: bad.start()])
        char = f"U+{ord(bad[0]):04X}"
        raise FabricError(f"{at}: the character {char} cannot stand in a YAML file", hint="is this a binary file?")
    return text


def _position(name: str, before: str) -> Position:
    return Position(name, before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
