"""A lab of an InfiniBand cluster that starts blank, for changes of its subnet managers with the real command line."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.lab import control
from fabric.lab.state import Lab
from tests.lab.survive_start import Started, Starter

ROOT = Path(__file__).resolve().parents[2]
MASTER, STANDBY = "gt0001", "gt0025"
APPLY = ("--auto-approve", "--commit-timer", "90", "--gate-timeout", "45")


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """All that it said."""
        return self.out + self.err


class IbScene:
    """The lab, its spec, and a starter of commands at its seat."""

    def __init__(self, spec: Path) -> None:
        self.spec = spec
        self._tool("lab", "up", "--blank", spec)
        lab = Lab.find(spec)
        assert lab is not None
        self.lab = lab
        text = self._tool("lab", "exec", spec, "--", "env", "-0")
        self.env = dict(item.split("=", 1) for item in text.split("\0") if "=" in item)
        into = ("nsenter", "-t", str(lab.first_process()), "-m", "-n", "-p", "-u", "-i", f"--wd={ROOT}", "--")
        self.env.pop("LD_PRELOAD", None)  # the commands speak SSH to the hosts; only tools are clients of the simulator
        self.starter = Starter(into, self.env, spec)

    def down(self) -> None:
        """End the lab."""
        self.starter.close()
        self._tool("lab", "down", self.spec)

    def _tool(self, *words: object) -> str:
        command = [sys.executable, "-m", "fabric", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    # --- the command line

    def start(self, *words: object, stop_at: tuple[str, str] = ("", "")) -> Started:
        """`fabric WORDS` at the seat; it stops itself when `stop_at` is in its journal."""
        return self.starter.start([*map(str, words)], self.env, stop_at)

    def run(self, *words: object) -> Done:
        """The same, to its end."""
        process = self.start(*words)
        out, err = process.stdout.read(), process.stderr.read()
        return Done(process.wait(300), out, err)

    def apply(self, *options: object) -> Done:
        """`fabric apply SPEC` with short timers."""
        return self.run("apply", self.spec, *APPLY, "--summary", *options)

    def killed_at(self, step: str, device: str) -> None:
        """An apply that is killed with -9 right after a step of a device is in the journal."""
        process = self.start("apply", self.spec, *APPLY, stop_at=(step, device))
        poll(lambda: _state(process.pid) in "T" or process.poll() is not None, f"{step} of {device}")
        assert process.poll() is None, process.stdout.read() + process.stderr.read()
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)

    def runs(self, verb: str, *options: object) -> Done:
        """`fabric runs VERB last`."""
        return self.run("runs", verb, "last", "-s", self.spec, "--auto-approve", "--gate-timeout", "45", *options)

    def declare(self, old: str, new: str) -> None:
        """Edit the spec."""
        text = self.spec.read_text()
        assert old in text
        self.spec.write_text(text.replace(old, new))

    # --- the subnet

    def etc(self, host: str) -> Path:
        """What a host has as /etc/opensm."""
        return self.lab.folder / "nodes" / host / "disk" / "opensm"

    def files(self, host: str) -> dict[str, str]:
        """All files of a host, folders of changes and notes left out."""
        return {path.name: path.read_text() for path in self.etc(host).iterdir() if not path.name.startswith(".")}

    def left(self) -> list[str]:
        """What changes have left on the hosts."""
        return [path.name for host in (MASTER, STANDBY) for path in self.etc(host).glob(".fabric-2*")]

    def pid(self, host: str) -> int:
        """Of opensm; 0 when none runs."""
        answer: dict[str, Any] = control.ask(self.lab.folder, "daemon", node=host, daemon="opensm", action="query")
        return int(answer["pid"])

    def states(self) -> dict[str, str]:
        """Host -> what its SM says that it is."""
        found = {}
        for host in (MASTER, STANDBY):
            said = self.tool("sminfo", "-D", "0", host=host)
            found[host] = next((word.lower() for word in ("MASTER", "STANDBY") if f"SMINFO_{word}" in said), "")
        return found

    def tool(self, *words: str, host: str = "") -> str:
        """A diagnostic tool at the seat, or in the box of a host."""
        where = (host,) if host else ()
        return self._tool("lab", "exec", self.spec, *where, "--", *words)

    def lids(self) -> dict[str, str]:
        """GUID -> LID, as the ports have them."""
        text = self.tool("ibnetdiscover", "-p")
        return {guid: lid for lid, guid in re.findall(r"^(?:CA|SW) +(\d+) +\d+ (0x[0-9a-f]{16})", text, re.MULTILINE)}

    def pkeys(self, guid: int) -> set[str]:
        """The P_Key table of a port, asked by the SM: only its own port has a path to every other one."""
        words = re.findall(r"0x[0-9a-f]{4}\b", self.tool("smpquery", "-G", "pkeys", f"0x{guid:016x}", host=MASTER))
        return set(words) - {"0x0000"}

    def log(self, host: str) -> str:
        """The log of a host's opensm."""
        return (self.lab.folder / "nodes" / host / "disk" / "log" / "opensm.log").read_text(errors="replace")


def poll(what: Any, words: str, timeout: float = 120) -> None:
    """Wait until it is so."""
    end = time.monotonic() + timeout
    while not what():
        assert time.monotonic() < end, f"not so after {timeout} s: {words}"
        time.sleep(0.2)


def _state(pid: int) -> str:
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    return "X"
