"""Running one command and measuring it: wall and CPU time, memory of its processes, and how busy the machine was otherwise."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SAMPLE = 0.25  # seconds between two looks at the memory of the process tree


class CommandFailedError(Exception):
    """A measured command did not do what it should; the message is one line."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one run took. `cpu` is user + system of the process and all its children, in seconds, as `wall`.

    `largest` is the peak resident size of its largest process, `together` the highest sum over its processes with shared pages
    counted once (sampled, so it may miss a short peak), both in bytes. `others` is how many cores the rest of the machine used.
    """

    wall: float
    cpu: float
    largest: int
    together: int
    others: float


def run(command: Sequence[str], *, exit_code: int = 0) -> tuple[Figures, str]:
    """Runs `command`; its figures and what it printed. Raises CommandFailedError when it ends with another exit code."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        busy, start = _machine_cpu(), time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        memory = _Memory(process.pid)
        memory.start()
        try:
            _, status, usage = os.wait4(
                process.pid, 0
            )  # the usage of this one command and its children, unlike getrusage
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            memory.stop()
        wall = time.monotonic() - start
        busy = _machine_cpu() - busy
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, complained = out.read().decode(), err.read().decode("utf-8", "replace").strip()
    if process.returncode != exit_code:
        line = complained.splitlines()[-1] if complained else "nothing on stderr"
        raise CommandFailedError(f"{_shown(command)}: exit code {process.returncode}, not {exit_code}: {line}")
    cpu = usage.ru_utime + usage.ru_stime
    largest = usage.ru_maxrss * 1024
    return Figures(wall, cpu, largest, max(memory.peak, largest), max(0.0, (busy - cpu) / wall)), said


def _shown(command: Sequence[str]) -> str:
    return " ".join([Path(command[0]).name, *command[1:]])


def _machine_cpu() -> float:
    """CPU seconds that everybody on the machine has used since it started (Linux: idle, waiting and stolen time left out)."""
    fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq = map(int, fields[:7])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


class _Memory(threading.Thread):
    """Samples the memory of a process and its descendants until stopped; `peak` in bytes."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._pid = pid
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(_SAMPLE):
            self.peak = max(self.peak, sum(map(_proportional, _tree(self._pid))))

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def _tree(pid: int) -> list[int]:
    """The process and its descendants."""
    found = [pid]
    for parent in found:
        try:
            found += map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split())
        except OSError:  # it ended meanwhile
            continue
    return found


def _proportional(pid: int) -> int:
    """Resident bytes of a process, each shared page divided by the number of its users."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:  # it ended meanwhile
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
