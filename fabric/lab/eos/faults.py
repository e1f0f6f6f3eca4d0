"""Misbehaviour on demand: NODE_DIR/faults.json, read anew for each command, so that a test can switch it on and off.

{"refuse": REGEX} refuses configuration lines that match, {"keep": REGEX} takes them without storing them, {"garbage": true} answers
every show with bytes that mean nothing, {"flood_mb": N} with N megabytes, {"hang": true} never, {"foreign_session": NAME} lets
another operator's session lie pending. "only" limits garbage, flood and hang to commands that match.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any


class Faults:
    """The faults file; without one, nothing is wrong."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._data: dict[str, Any] = {}

    def _now(self) -> dict[str, Any]:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            self._stamp, self._data = None, {}
            return self._data
        stamp = (status.st_mtime_ns, status.st_size)
        if stamp != self._stamp:
            try:
                self._data = dict(json.loads(self._path.read_text(encoding="utf-8")))
            except ValueError:
                return self._data  # half-written: as before, until it is whole
            self._stamp = stamp
        return self._data

    def refuses(self, line: str) -> bool:
        """Whether a configuration line is to be refused."""
        return self._matches("refuse", line)

    def keeps(self, line: str) -> bool:
        """Whether a configuration line is to be taken, but not stored."""
        return self._matches("keep", line)

    def answer(self, command: str) -> str | int | None:
        """What to do instead of answering: "garbage", "hang", the megabytes of a flood; None = answer as usual."""
        data = self._now()
        if not data or not re.search(data.get("only") or "", command):
            return None
        if data.get("flood_mb"):
            return int(data["flood_mb"])
        return next((kind for kind in ("hang", "garbage") if data.get(kind)), None)

    def foreign_session(self) -> str | None:
        """The name of a session that another operator has left."""
        name = self._now().get("foreign_session")
        return str(name) if name else None

    def _matches(self, key: str, line: str) -> bool:
        pattern = self._now().get(key)
        return bool(pattern) and re.search(str(pattern), line) is not None
