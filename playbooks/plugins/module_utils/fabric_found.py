"""A file of a host as it is, or as it shall be, and what diff mode shows of the two. Standard library, Python 3.9."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from ansible.module_utils.fabric_host import Failed

DIFF_BYTES = 1 << 16
"""Larger files are shown as changed, without their content."""


class Found(NamedTuple):
    """A file as it is, or as it shall be. `foreign`: it is a link, or another user's."""

    content: bytes
    mode: int
    foreign: bool = False


def read(path: Path) -> Found | None:
    """A file as it is; None where none is."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise Failed(f"{path} is a folder; a file belongs there")
    if stat.S_ISLNK(found.st_mode):
        return Found(b"", 0, foreign=True)
    foreign = (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid())
    return Found(path.read_bytes(), stat.S_IMODE(found.st_mode), foreign)


def difference(name: str, before: Found | None, after: Found | None, *, secret: bool) -> dict[str, str]:
    """What diff mode shows of one file; the content of a secret is never a part of it."""
    old, new = (_content(side, secret=secret) for side in (before, after))
    if before and after and old == new:
        other = "another secret" if before.content != after.content else "another owner, or a link"
        old, new = (
            f"mode {before.mode:04o}\n",
            f"mode {after.mode:04o}{'' if before.mode != after.mode else f', {other}'}\n",
        )
    return {"before_header": name, "after_header": name, "before": old, "after": new}


def _content(side: Found | None, *, secret: bool) -> str:
    """What diff mode shows of a file."""
    if side is None:
        return ""
    if secret:
        return "(holds a secret)\n"
    if len(side.content) > DIFF_BYTES or b"\0" in side.content:
        return f"({len(side.content):,} bytes)\n"
    return side.content.decode("utf-8", "replace")
