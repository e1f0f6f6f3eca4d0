"""The `ibsim` of a lab: its process and its console.

It runs with a console whose input we hold open: at the end of its input ibsim spins (infiniband.md 1.3), and so it dies with us.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab import proc
from fabric.lab.ib import child, client

PROMPT = "sim> "
READY = "Network simulator ready."
_REFUSALS = ("# can't", "# nodeid", "# bad", "unknown - skipped", "not found", "can't parse")
_CLIENT = re.compile(r"Client (\d+): pid (\d+) connected")
_LOG_LIMIT = 20_000_000
_POLL_S = 0.02


class Simulator:
    """One ibsim; `lab` is lab.json. FabricError when it does not start or refuses a command."""

    def __init__(self, folder: Path, lab: dict[str, Any]) -> None:
        self.folder = folder
        self._lab = lab
        self.log = folder / "logs" / "ibsim" / "ibsim.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, say: Callable[[str], None], timeout_s: float = 580.0) -> None:
        """Start it and wait until the net is parsed. `say` is called now and then, and fails when nobody listens any more."""
        size = self._lab["size"]
        argv = [
            "ibsim",
            "-s",
            "-N",
            size["nodes"],
            "-S",
            size["switches"],
            "-P",
            size["ports"],
            "-L",
            self._lab["table"],
        ]
        env = {**client.without_preload(), "IBSIM_SOCKNAME": self._lab["socket"]}
        self.process = child.start(
            [*map(str, argv), str(self.folder / "fabric.net")],
            env=env, cwd=self.folder / "work", log=self.log, stdin=subprocess.PIPE,
        )  # fmt: skip
        began, told = time.monotonic(), 0.0
        while READY not in self._tail():
            took = time.monotonic() - began
            if self.process.poll() is not None:
                raise FabricError(f"ibsim ended ({self.process.returncode}): {self._last_words()}")
            if took > timeout_s:
                raise FabricError(f"ibsim has not read the net in {took:.0f} s")
            if took - told > 2:
                told = took
                say("ibsim reads the net")
            time.sleep(_POLL_S)

    @property
    def pid(self) -> int:
        """Its pid; 0 when it was not started."""
        return self.process.pid if self.process is not None else 0

    def runs(self) -> bool:
        """Does it run?"""
        return self.process is not None and self.process.poll() is None

    def command(self, line: str, timeout_s: float = 20.0) -> str:
        """Give one console command and return what was said before the next prompt."""
        if self.process is None or self.process.stdin is None or not self.runs():
            raise FabricError("ibsim does not run", hint="fabric lab logs SPEC ibsim")
        at = self.log.stat().st_size
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        end = time.monotonic() + timeout_s
        while PROMPT not in (said := self._since(at)):
            if time.monotonic() > end:
                raise FabricError(f"ibsim did not answer {line!r} in {timeout_s:g} s")
            time.sleep(_POLL_S)
        said = said.partition(PROMPT)[0].strip()
        for word in said.splitlines():
            if any(refusal in word for refusal in _REFUSALS):
                raise FabricError(f"ibsim refused {line!r}: {word.lstrip('# ')}")
        return said

    def clients(self) -> dict[int, int]:
        """The clients that it knows: number -> pid."""
        return {int(number): int(pid) for number, pid in _CLIENT.findall(self.command("Attached"))}

    def forget_dead_clients(self) -> int:
        """Take the places of clients that are gone, which ibsim keeps for ever when they were killed; returns how many are left."""
        found = self.clients()
        gone = [number for number, pid in found.items() if not proc.alive(pid)]
        for number in gone:
            self.command(f"X {number}")
        if self.log.stat().st_size > _LOG_LIMIT:
            os.truncate(self.log, 0)
        return len(found) - len(gone)

    def _since(self, at: int) -> str:
        with self.log.open("rb") as log:
            log.seek(at)
            return log.read().decode(errors="replace")

    def _tail(self) -> str:
        return self._since(max(0, self.log.stat().st_size - 2000))

    def _last_words(self) -> str:
        lines = [line for line in self._tail().splitlines() if line.strip()]
        return lines[-1] if lines else "it said nothing"
