"""Faults of nodes: a daemon killed, a reboot, a full disk."""

from __future__ import annotations

import os
from pathlib import Path

from fabric.lab import frr, node, nodekinds
from fabric.lab.fault_book import Book, Fault, Kinds

FILLER = ".filled-by-a-fault"


class NodeFaults:
    """What can be done to a switch or host."""

    def __init__(self, book: Book) -> None:
        self._book, self._plant = book, book.plant

    def kinds(self) -> Kinds:
        """By name, how each is made and undone."""
        return {
            "kill-daemon": (self._kill_daemon, self._revive),
            "reboot": (self._reboot, lambda _fault: None),
            "fill-disk": (self._fill_disk, self._empty_disk),
        }

    def _kill_daemon(self, name: str, daemon: str) -> Fault:
        lines = self._plant.kill_daemon(name, daemon)
        known = daemon in self._plant.running[name].daemons
        return {"said": f"{daemon} of {name} is killed", "node": name, "daemon": daemon, "argv": [] if known else lines}

    def _revive(self, fault: Fault) -> None:
        name, daemon = fault["node"], fault["daemon"]
        if daemon in self._plant.running[name].daemons:
            if not self._plant.daemon_runs(name, daemon):
                self._plant.start_daemon(name, daemon)
            return
        if daemon in self._plant.processes(name).values():
            return  # something in the node has started it again
        # A new zebra learns nothing from a bgpd that runs: both begin anew, as watchfrr has it.
        after = self._kill_if_there(name, "bgpd") if daemon == "zebra" else []
        self._spawn(name, daemon, fault["argv"])
        self._spawn(name, "bgpd", after)

    def _spawn(self, name: str, daemon: str, lines: list[list[str]]) -> None:
        """Start an FRR daemon and wait until it serves: a bgpd without a zebra takes no IPv6 route, for it knows no interface."""
        for argv in lines:
            (frr.run_dir(name) / f"{daemon}.vty").unlink(missing_ok=True)
            node.spawn(self._plant.pid(name), argv, self._plant.log(name, daemon), nodekinds.environment(name))
            if daemon in frr.DAEMONS:
                frr.wait(name, [daemon])

    def _kill_if_there(self, name: str, daemon: str) -> list[list[str]]:
        """Kill a daemon when it runs; its command lines."""
        return self._plant.kill_daemon(name, daemon) if daemon in self._plant.processes(name).values() else []

    def _reboot(self, name: str) -> Fault:
        self._plant.reboot(name)
        self._book.forget(("kill-daemon", "drop-ssh"), name)  # a reboot ends what was wrong with daemons and SSH
        if self._plant.is_machine(name):
            return {"said": f"{name} boots", "over": True}  # in its own time, a minute or more
        lacks = self._plant.wait_ready(name)
        return {"said": f"{name} has booted" + (f": {lacks}" if lacks else ""), "over": True}

    def _disk(self, name: str) -> Path:
        self._plant.spec(name)
        return self._plant.node_folder(name) / node.DISK

    def _fill_disk(self, name: str) -> Fault:
        path = self._disk(name) / FILLER
        with path.open("ab", buffering=0) as out:
            for size in (1 << 20, 4096, 1):
                _write_until_full(out.fileno(), size)
        return {"said": f"the disk of {name} is full", "node": name}

    def _empty_disk(self, fault: Fault) -> None:
        (self._disk(fault["node"]) / FILLER).unlink(missing_ok=True)


def _write_until_full(descriptor: int, size: int) -> None:
    block = b"\0" * size
    while True:
        try:
            os.write(descriptor, block)
        except OSError:
            return
