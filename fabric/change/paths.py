"""Names that become paths: checked before a byte is written, wherever they come from (a spec, a manifest, a folder)."""

from __future__ import annotations

import re
from functools import lru_cache

from fabric.errors import FabricError

TMP_PREFIX = ".fabric-tmp-"
"""Files of a run in progress; left over only when it was killed, and removed by the next run."""
MANIFEST = "manifest.json"

_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}", re.ASCII)
_PART = re.compile(r"[A-Za-z0-9._@+-][A-Za-z0-9._@+ \\-]{0,254}", re.ASCII)  # systemd escapes: mnt-a\x2db.mount


def device_problem(name: str) -> str | None:
    """Why `name` cannot be the folder of a device, or None."""
    if not _DEVICE.fullmatch(name) or ".." in name:
        return f"the device name {name!r} cannot be a folder name"
    if name == MANIFEST:
        return f"the device name {name!r} is the name of the tree's own manifest"
    return None


@lru_cache(maxsize=4096)  # thousands of devices have the same few paths
def path_problem(path: str) -> str | None:
    """Why `path` cannot be a file's path on a device, or None. It is absolute, without `.`, `..`, `//` or control characters."""
    parts = path.split("/")
    if len(parts) < 2 or parts[0] != "":
        return f"the path {path!r} on the device is not absolute"
    for part in parts[1:]:
        if part in ("", ".", "..") or part.startswith(TMP_PREFIX) or not _PART.fullmatch(part):
            return f"the path {path!r} on the device is not a plain file path"
    return None


def tree_path(device: str, path: str) -> str:
    """Where a device's file stands in a tree, relative to its top: `device/path/on/the/device`. Raises FabricError."""
    problem = device_problem(device) or path_problem(path)
    if problem:
        raise FabricError(problem)
    return device + path


def split_tree_path(relative: str) -> tuple[str, str] | None:
    """The inverse of `tree_path`; None when `relative` is no such path (it came from a file that someone edited)."""
    device, slash, rest = relative.partition("/")
    path = slash + rest
    return None if device_problem(device) or path_problem(path) else (device, path)
