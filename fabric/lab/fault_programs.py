"""Faults of programs on hosts: a process of a parallel program that stops."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from fabric.errors import FabricError
from fabric.lab.fault_book import Book, Fault, Kinds

LOOK_S = 0.1
"""How often a host is looked at for new processes, in seconds."""

LAUNCHER = "orted"
"""The daemon of Open MPI on a host: its children are ranks."""


class ProgramFaults:
    """What can be done to the ranks of a parallel program."""

    def __init__(self, book: Book) -> None:
        self._book, self._plant = book, book.plant

    def kinds(self) -> Kinds:
        """By name, how each is made and undone."""
        return {"stop-ranks": (self._stop, self._go_on)}

    def _stop(self, name: str) -> Fault:
        if self._plant.spec(name)["kind"] != "host":
            raise FabricError(f"{name} is no host")
        number = self._book.next

        def look() -> float | None:
            if not self._book.is_on(number):
                return None
            self._signal(name, signal.SIGSTOP)
            return LOOK_S

        self._book.later(0, look)
        return {"said": f"ranks on {name} stop soon after they have started", "node": name}

    def _go_on(self, fault: Fault) -> None:
        self._signal(fault["node"], signal.SIGCONT)

    def _signal(self, name: str, number: signal.Signals) -> None:
        processes = self._plant.processes(name)
        launchers = {pid for pid, comm in processes.items() if comm == LAUNCHER}
        for pid in processes:
            if launchers and _parent(pid) in launchers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)


def _parent(pid: int) -> int:
    """Process id of the parent, 0 when the process is gone."""
    try:
        return int(
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[1]
        )
    except (OSError, ValueError, IndexError):
        return 0
