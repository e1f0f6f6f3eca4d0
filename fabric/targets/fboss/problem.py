"""What the checks of FBOSS configurations report: one `Problem` a finding, with the path of the value."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "silent", "warning"]

_PLAIN = re.compile(r"[A-Za-z0-9_-]+").fullmatch
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault in one configuration file.

    `path` is the place, such as `sw.ports[3].speed` ("" = the whole file). `level`: "error" = the daemon refuses
    the file (or would misread it), "silent" = the daemon takes the file and does something else than it says,
    "warning" = the daemon only logs it.
    """

    path: str
    message: str
    level: Level = "error"

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def join(path: str, key: str) -> str:
    """`path` with the member `key` added: `a.b`, or `a["b c"]` for a key that is not a plain word."""
    if len(key) <= _LONGEST and _PLAIN(key):
        return f"{path}.{key}" if path else key
    return f"{path}[{json.dumps(key[:_LONGEST])}]"
