"""Process 1 of a lab: builds it, starts the daemons of its nodes, and does what the command line asks (`fabric.lab.control`).

Started by `fabric lab up` as `python -m fabric.lab.supervisor STATE_FOLDER` in new namespaces. It restarts nothing by itself.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from fabric.lab import agent, birth, cables, convergence, frr, node, shape, syscalls
from fabric.lab.faults import Faults
from fabric.lab.plant import Plant
from fabric.lab.service import Say, Service
from fabric.words import counted


class Supervisor(Service):
    """The operations on switches, hosts and cables."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.plant = Plant(folder)
        self.faults = Faults(self.plant)
        self.operations |= {
            "boot": self._boot,
            "status": self._status,
            "converged": self._converged,
            "daemon": self._daemon,
            "fault": self._fault,
            "restore": self._restore,
            "shape": self._shape,
            "faults": lambda _request, _say: {"faults": self.faults.listed()},
            "pid": lambda request, _say: {"pid": self.plant.pid(request["node"])},
        }

    def patience(self) -> float | None:
        """Until the next step of a fault is due."""
        return self.faults.next_due()

    def turn(self) -> None:
        """Bury dead daemons, go on with faults."""
        self.plant.reap()
        self.plant.boot_again()
        self.faults.run_due()

    # --- operations ---------------------------------------------------------------------------------------------------
    def _boot(self, _request: dict[str, Any], say: Say) -> dict[str, Any]:
        """Build everything. `say` fails when the asking command is gone: so does the boot."""
        plant = self.plant
        birth.private_run(self.folder)
        _private_frr()
        syscalls.bind(str(self.folder / "hosts"), "/etc/hosts")  # the seat knows nodes by their names
        agent.write(self.folder)
        plant.make_disks()
        _make_limbo()
        for name in plant.nodes:
            plant.power_on(name)
        say(f"{counted(len(plant.nodes), 'node')} with namespaces")
        plant.plug_all()
        say(f"{counted(len(plant.lab['cables']), 'cable')} plugged")
        for number, name in enumerate(plant.nodes, start=1):
            plant.boot(name)
            if number % 8 == 0 or number == len(plant.nodes):
                say(f"{number} of {counted(len(plant.nodes), 'node')}: daemons started")
        return {}

    def _status(self, _request: dict[str, Any], _say: Say) -> dict[str, Any]:
        now = time.monotonic()
        nodes = [convergence.node_status(self.plant, name, now) for name in self.plant.nodes]
        return {
            "uptime_s": round(now - self.started, 1), "nodes": nodes, "converged": not any(node["missing"] for node in nodes),
            "faults": self.faults.listed(), "exits": self.plant.exits[-20:],
        }  # fmt: skip

    def _converged(self, request: dict[str, Any], _say: Say) -> dict[str, Any]:
        return {"missing": convergence.missing(self.plant, request["nodes"], daemons_only=request["daemons_only"])}

    def _daemon(self, request: dict[str, Any], _say: Say) -> dict[str, Any]:
        name, daemon, action = request["node"], request["daemon"], request["action"]
        if action in ("stop", "restart"):
            self.plant.kill_daemon(name, daemon)
        if action in ("start", "restart"):
            self.plant.start_daemon(name, daemon)
        return {}

    def _shape(self, request: dict[str, Any], _say: Say) -> dict[str, Any]:
        plant = self.plant
        if plant.rates:
            shape.free(plant.rates)
        plant.rates = shape.rates(plant.lab["cables"], plant.nodes, request["bps_per_gbps"])
        plant.shape(list(plant.rates))
        for name in plant.nodes:
            plant.align(name)
        return {"ends": len(plant.rates)}

    def _fault(self, request: dict[str, Any], _say: Say) -> dict[str, Any]:
        return {"said": self.faults.make(request["kind"], request["arguments"])}

    def _restore(self, request: dict[str, Any], _say: Say) -> dict[str, Any]:
        return {"said": self.faults.restore(request.get("id"))}

    def clean(self) -> None:
        """Nothing of a lab that never came up stays, its folder neither."""
        for place in self.plant.mounts():
            if os.path.ismount(place):
                syscalls.umount(str(place))
        shutil.rmtree(self.folder, ignore_errors=True)


def _private_frr() -> None:
    """An /etc/frr of the lab's own."""
    shutil.chown("/run/frr", frr.USER, frr.USER)
    syscalls.mount("lab", "/etc/frr", "tmpfs", options="mode=755")
    shutil.chown("/etc/frr", frr.USER, frr.USER)


def _make_limbo() -> None:
    """The namespace of unplugged cables, which no process lives in."""
    node.make_empty_netns(cables.LIMBO)


def main() -> None:
    """Run the supervisor of the lab whose state folder is the argument."""
    folder = Path(sys.argv[1])
    birth.leave(folder)
    supervisor = Supervisor(folder)
    gc.collect()
    gc.freeze()  # children share the pages of what is loaded
    supervisor.loop()
    if not supervisor.came_up:
        supervisor.clean()


if __name__ == "__main__":
    main()
