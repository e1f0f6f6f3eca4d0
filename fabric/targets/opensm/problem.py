"""What the readers of subnet-manager files report: one `Problem` a finding, with its file and line."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SHOWN = 60
_KEY = r"(\b(?:m|sm|sa|cc)_?key)"
_KEY_SAID = re.compile(
    rf"(?i){_KEY}(\s*=\s*)[^\s:]+|{_KEY}(\s*:\s*|\s+)(?:0x[0-9a-f]+|[0-9]+)\b|(\bfield ){_KEY}(, .*received: ).*"
)
"""How opensm 3.3.23 says a key of the subnet: `m_key = V`, `sm_key V that doesn't match`, `SM_Key: V != SM_Key: V`, and
`field m_key, ... received: V`.
"""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault in one file. `line` counts from 1; 0 means the whole file. `hint` says what to write instead."""

    file: str
    line: int
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.message}" + (f" (hint: {self.hint})" if self.hint else "")


class Collector:
    """Gathers the problems of one file while it is read."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Problem] = []

    def __call__(self, line: int, message: str, hint: str | None = None) -> None:
        """Notes one problem."""
        self.found.append(Problem(self.file, line, message, hint))


def shown(text: str) -> str:
    """Untrusted text as it stands in a message: quoted, control characters escaped, cut."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def hidden(line: str) -> str:
    """A line that opensm wrote, without the values of the subnet's keys: they are secrets, and it says them in errors."""
    return _KEY_SAID.sub(lambda found: "".join(part for part in found.groups() if part) + "<secret>", line)


def decoded(content: bytes, problem: Collector) -> list[str]:
    """The lines of a file. What is not ASCII, or a control character, is a problem of its line; opensm reads bytes."""
    lines = content.decode("ascii", "replace").split("\n")
    if lines[-1]:
        problem(len(lines), "the last line has no end", "the file was cut off, or an editor left the newline out")
    for number, line in enumerate(lines, 1):
        if not line.isprintable() and not line.replace("\t", "").isprintable():
            problem(number, "a character that is neither printable nor a blank", "write the file with Unix line ends")
        elif "\ufffd" in line:
            problem(number, "a character outside of ASCII")
    return lines
