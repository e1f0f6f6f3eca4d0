"""What a diff is made of, whatever the format."""

from __future__ import annotations

from dataclasses import dataclass

LIMIT = 32 << 20
"""Bytes; a file of a device larger than this is not read as text or JSON (the largest configuration we render has about 1 MB)."""
MAX_LINES = 20_000
"""Lines of one file's diff; beyond that a diff tells a reader no more than "replaced"."""
MAX_DEPTH = 64
"""Levels of sections or of JSON; configurations have less than 20."""


class UnreadableError(Exception):
    """The bytes are not what they should be; the text says why, in one line, in the form `not JSON: ...`."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change, the unit that is grouped and counted.

    `lines` begin with "+ ", "- ", "~ " (JSON: `path: old -> new`) or two spaces (a section header given as context); `context` are the
    headers above. `subject` is the port, peer, VLAN or name that the change is about ("" when it is about none): the same change
    over many subjects is shown once.
    """

    lines: tuple[str, ...]
    subject: str = ""
    context: tuple[str, ...] = ()


def printable(text: str) -> str:
    """`text` without anything that a terminal would obey or that reads as something else: control and format characters as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
