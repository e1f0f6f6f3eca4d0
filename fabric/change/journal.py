"""The journal of a run: one JSON line an event, on disk before the step that it announces.

A kill can leave a torn last line; it is left out when reading, and cut off before the next line is written.
"""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import Any

from fabric.change.clock import Clock, stamp
from fabric.change.events import Event, from_record, to_record
from fabric.change.files import cannot, read_regular
from fabric.errors import FabricError
from fabric.words import misread

NAME = "journal.jsonl"
LIMIT = 1 << 30
"""Bytes of a journal that is read; a run over 1,708 devices writes some 20 MB."""


_HEAD = 128
"""Bytes that hold the time of a line, which comes first in it."""


class Journal:
    """Appends to a journal; safe for threads. Raises FabricError when it cannot be opened."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            self._size = _whole(self._handle)
            os.ftruncate(self._handle, self._size)
        except OSError as error:
            raise cannot("open the journal", path, error) from error

    def append(self, event: Event) -> None:
        """The event is on disk when this returns. Raises FabricError, and then leaves no half line."""
        record = {"t": stamp(self._clock.now()), **to_record(event)}
        line = (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "replace")
        with self._lock:
            try:
                at = self._size
                while at < self._size + len(line):
                    at += os.pwrite(self._handle, line[at - self._size :], at)
                os.fsync(self._handle)
            except OSError as error:
                self._cut()
                raise cannot("write the journal", self._path, error) from error
            self._size += len(line)

    def _cut(self) -> None:
        try:
            os.ftruncate(self._handle, self._size)
        except OSError:  # the torn line is cut off when the journal is opened again
            return

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1


def read_journal(path: Path) -> list[tuple[str, Event]]:
    """(time, event) of every whole line. Raises FabricError when the file is missing or damaged before its last line."""
    try:
        data = read_regular(str(path), LIMIT)
    except OSError as error:
        raise cannot("read", path, error) from error
    if data is None:
        raise FabricError(f"there is no journal {path}")
    events: list[tuple[str, Event]] = []
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):
        try:
            record: dict[str, Any] = json.loads(line)
            events.append((str(record["t"]), from_record(record)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if number == len(lines) - 1:
                break
            hint = "fabric drift says how the devices stand; move the run's folder away to be done with it"
            raise FabricError(f"{path}:{number} is damaged: {misread(error)}", hint=hint) from error
    return events


def began_at(path: Path) -> str:
    """The time of the first line; "" for a journal that is empty, damaged or cannot be read."""
    try:
        head = read_regular(str(path), _HEAD) or b""
    except OSError:
        return ""
    found = re.match(rb'\{"t": "([^"]+)"', head)
    return found[1].decode("ascii", "replace") if found else ""


def _whole(handle: int) -> int:
    """Bytes up to the end of the last whole line."""
    size = os.fstat(handle).st_size
    while size:
        start = max(0, size - 65536)
        found = os.pread(handle, size - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        size = start
    return 0
