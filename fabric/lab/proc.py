"""Looking at processes through /proc, and running short commands; for code inside the lab."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from fabric.errors import FabricError


def run(argv: Sequence[str], *, text: str | None = None, timeout_s: float = 60.0) -> str:
    """Standard output of a command; raises FabricError with its first words when it fails."""
    done = subprocess.run(  # noqa: S603 - our own argument lists, no shell
        list(argv), input=text, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise FabricError(f"{' '.join(argv[:6])}: {said[0] if said else f'exit code {done.returncode}'}")
    return done.stdout


def ip_batch(lines: Sequence[str], *, netns: str = "", tool: str = "ip") -> None:
    """Run many `ip` (or `tc`) commands in one process; raises FabricError that names the command which failed.

    Lines that begin with `-6 ` come last, in a process of their own: inside a batch `ip` takes no option.
    """
    six = [line[3:] for line in lines if line.startswith("-6 ")]
    _batch([line for line in lines if not line.startswith("-6 ")], netns, [tool])
    _batch(six, netns, [tool, "-6"])


def _batch(lines: Sequence[str], netns: str, tool: Sequence[str]) -> None:
    if not lines:
        return
    where = ["-n", netns] if netns else []
    done = subprocess.run(  # noqa: S603
        [*tool, *where, "-batch", "-"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return
    said = done.stderr.strip().splitlines()
    place = next((line.rsplit(":", 1)[1] for line in said if line.startswith("Command failed")), "")
    bad = lines[int(place) - 1] if place.isdigit() and int(place) <= len(lines) else lines[0]
    raise FabricError(f"{' '.join(tool)} {bad}: {said[0] if said else 'failed'}")


def start_time(pid: int) -> str:
    """Start time of a process in clock ticks since boot, as text: with the pid it names one process for ever. "" = no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[19]


def alive(pid: int) -> bool:
    """Is there a process of this pid that is no zombie?"""
    return bool(start_time(pid))


def comm(pid: int) -> str:
    """Name of a process, "" when it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def cmdline(pid: int) -> list[str]:
    """Arguments of a process, [] when it is gone."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return []
    return [part.decode(errors="replace") for part in raw.split(b"\0") if part]


def pids() -> Iterator[int]:
    """All process ids in sight."""
    return (int(name) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208 - a path object each is slow


def namespace(pid: int, kind: str) -> str:
    """Identity of a namespace of a process ("pid:[4026531836]"), "" when it is gone."""
    try:
        return str(Path(f"/proc/{pid}/ns/{kind}").readlink())
    except OSError:
        return ""


def members(pid: int) -> list[int]:
    """All processes in the pid namespace of `pid`, without itself and zombies."""
    wanted = namespace(pid, "pid")
    return [other for other in pids() if other != pid and wanted and namespace(other, "pid") == wanted and alive(other)]
