"""How the process of a lab begins: in namespaces of its own, with a /run that nobody else sees."""

from __future__ import annotations

import os
from pathlib import Path

from fabric.lab import proc, syscalls


def leave(folder: Path, *, namespaces: bool = True) -> None:
    """Go on as process 1 of new namespaces, or without them; the process that was started writes down who that is, and ends."""
    if namespaces:
        syscalls.unshare(syscalls.NEWNS | syscalls.NEWNET | syscalls.NEWUTS | syscalls.NEWIPC | syscalls.NEWPID)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        part = folder / "pid.part"
        part.write_text(f"{pid} {proc.start_time(pid)}", encoding="ascii")
        part.replace(folder / "pid")  # whole at any moment: who finds no living pid there takes the lab for dead
        os._exit(0)
    os.close(writer)
    # Its end of file says that we are written down: the mount below hides the /proc in which our starter looks us up.
    os.read(reader, 1)
    os.close(reader)
    os.setsid()
    if not namespaces:
        return
    syscalls.mount("none", "/", flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount("proc", "/proc", "proc")
    syscalls.sethostname("seat")


def private_run(folder: Path) -> None:
    """A /run of the lab's own. The state folder shows through where it was."""
    if folder.is_relative_to("/run"):
        keep = folder / "run"  # only a foothold: what is mounted there moves on at once
        keep.mkdir()
        syscalls.mount("lab", str(keep), "tmpfs", options="mode=755")
        place = keep / folder.relative_to("/run")
        place.mkdir(parents=True)
        syscalls.bind(str(folder), str(place))
        syscalls.mount(str(keep), "/run", flags=syscalls.MS_MOVE)
    else:
        syscalls.mount("lab", "/run", "tmpfs", options="mode=755")
    for name in ("netns", "frr", "sshd", "lldpd", "lock"):
        Path("/run", name).mkdir(exist_ok=True)
