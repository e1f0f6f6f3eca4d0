"""The control group of a lab's machines: systemd in a container needs a subtree of its own, and the kernel removes none by itself."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from fabric.errors import FabricError


def _mounts(kind: str) -> list[Path]:
    """Where control groups of a kind (`cgroup2`, `cgroup`) are mounted, in this process's sight."""
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    return [Path(fields[1]) for fields in (line.split(" ") for line in lines) if fields[2] == kind]


def name_of(folder: Path) -> str:
    """Name of the group of the lab whose state folder is `folder`."""
    return f"fabric-lab-{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"


def make(folder: Path, machine: str) -> Path:
    """A group for one machine of the lab; FabricError where the kernel has no cgroup2 mounted."""
    found = _mounts("cgroup2")
    if not found:
        raise FabricError(
            "booted hosts need cgroup2, and none is mounted", hint="mount -t cgroup2 none /sys/fs/cgroup/unified"
        )
    group = found[0] / name_of(folder) / machine
    group.mkdir(parents=True, exist_ok=True)
    return group


def remove(folder: Path) -> None:
    """Remove all groups of a lab that does not run; nspawn makes one in each hierarchy."""
    for mount in (*_mounts("cgroup2"), *_mounts("cgroup")):
        top = mount / name_of(folder)
        for place, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):  # a process that is just dying holds it: the next command removes it
                Path(place).rmdir()
