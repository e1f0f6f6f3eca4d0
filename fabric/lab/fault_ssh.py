"""SSH of a switch that breaks off: at once, or in the middle of what somebody sends it."""

from __future__ import annotations

from pathlib import Path

from fabric.errors import FabricError
from fabric.lab.fault_book import Book, Fault, Kinds

POLL_S = 0.01
"""How often the bytes of a management interface are looked at while `drop-ssh --after` waits, in seconds."""


class SshFaults:
    """sshd and all its sessions are killed, until the fault is undone or its time is over."""

    def __init__(self, book: Book) -> None:
        self._book, self._plant = book, book.plant

    def kinds(self) -> Kinds:
        """By name, how each is made and undone."""
        return {"drop-ssh": (self._drop_ssh, self._allow_ssh)}

    def _drop_ssh(self, name: str, seconds: float | None = None, after: int | None = None) -> Fault:
        if "sshd" not in self._plant.running[self._plant.spec(name)["name"]].daemons:
            raise FabricError(f"{name} has no sshd")
        number = self._book.next
        if after is None:
            self._silence(name, number, seconds)
            said = f"SSH of {name} is dropped"
        else:
            limit = self._received(name) + after
            self._book.later(0, lambda: self._watch(name, number, limit, seconds))
            said = f"SSH of {name} is dropped after {after} more bytes"
        return {"said": said + (f", for {seconds:g} s" if seconds else ""), "node": name}

    def _watch(self, name: str, number: int, limit: int, seconds: float | None) -> float | None:
        if not self._book.is_on(number):
            return None
        if self._received(name) < limit:
            return POLL_S
        self._silence(name, number, seconds)
        return None

    def _received(self, name: str) -> int:
        """Bytes that came in on the management interface."""
        for line in Path(f"/proc/{self._plant.pid(name)}/net/dev").read_text(encoding="ascii").splitlines():
            device, _, counters = line.partition(":")
            if device.strip() == "ma0":
                return int(counters.split()[0])
        return 0

    def _silence(self, name: str, number: int, seconds: float | None) -> None:
        """Kill sshd and all its sessions: the kernel resets the connections and refuses new ones."""
        while sessions := [pid for pid, comm in self._plant.processes(name).items() if comm.startswith("sshd")]:
            self._plant.kill(sessions)  # and again: one that was just being born is not in the list
        if seconds is not None:
            self._book.later(seconds, lambda: self._end_silence(number))

    def _end_silence(self, number: int) -> None:
        if self._book.is_on(number):
            self._book.restore(number)

    def _allow_ssh(self, fault: Fault) -> None:
        if not self._plant.daemon_runs(fault["node"], "sshd"):
            self._plant.start_daemon(fault["node"], "sshd")
