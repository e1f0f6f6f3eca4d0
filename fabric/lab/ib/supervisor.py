"""The process that holds an InfiniBand lab: starts ibsim and the SMs, makes faults, and does what the command line asks.

Started by `fabric lab up` as `python -m fabric.lab.ib.supervisor STATE_FOLDER`. With root rights it is process 1 of namespaces of its own,
as in the Ethernet lab; without, the kernel kills its children when it dies.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab import birth
from fabric.lab.ib import box, client
from fabric.lab.ib.faults import Faults
from fabric.lab.ib.managers import Managers
from fabric.lab.ib.places import SmPlace
from fabric.lab.ib.simulator import Simulator
from fabric.lab.ib.status import status
from fabric.lab.ib.wiring import Wiring
from fabric.lab.service import Say, Service

_LOOK_S = 1.0
_TIDY_S = 3.0


class Supervisor(Service):
    """The operations on the simulated fabric and its subnet managers."""

    def __init__(self, folder: Path, lab: dict[str, Any]) -> None:
        super().__init__(folder)
        self.lab = lab
        self.simulator = Simulator(folder, lab)
        self.managers = Managers(folder, lab)
        self.faults = Faults(folder, self.simulator, self.managers, Wiring.read(folder))
        self.boxes: dict[str, subprocess.Popen[bytes]] = {}
        self._tidy_at = self.started
        self.operations |= {
            "boot": self._boot,
            "converged": lambda request, _say: {"missing": self.managers.missing(request["nodes"])},
            "sweeps": self._sweeps,
            "status": self._status,
            "daemon": self._daemon,
            "fault": lambda request, _say: {"fault": self.faults.make(request["kind"], request["arguments"])},
            "restore": lambda request, _say: {"faults": self.faults.restore(request.get("id"))},
            "faults": lambda _request, _say: {"faults": self.faults.listed()},
            "clear": self._clear,
            "tidy": lambda _request, _say: {"clients": self.simulator.forget_dead_clients()},
        }

    def patience(self) -> float | None:
        """The logs of the SMs are read this often."""
        return _LOOK_S

    def turn(self) -> None:
        """Read on in the logs, forget dead clients of the simulator, bury strays."""
        self.managers.look()
        if self.simulator.runs() and time.monotonic() > self._tidy_at:
            self._tidy()
        own = [life.process.pid for life in self.managers.lives.values()]
        _reap_strays([self.simulator.pid, *own, *(each.pid for each in self.boxes.values())])

    def _tidy(self) -> None:
        """Ten clients is all that ibsim takes, and it keeps the places of killed ones."""
        self._tidy_at = time.monotonic() + _TIDY_S
        try:
            self.simulator.forget_dead_clients()
        except FabricError as error:
            print(f"ibsim: {error.message}", flush=True)

    def _boot(self, _request: dict[str, Any], say: Say) -> dict[str, Any]:
        self.simulator.start(say)
        if self.lab["namespaces"]:
            box.give_addresses(self.lab["managers"])
            for item in self.lab["managers"]:
                if item["address"]:
                    self.boxes[item["host"]] = box.start(SmPlace.of(self.folder, item["host"]), item["host"])
        return {}

    def _daemon(self, request: dict[str, Any], _say: Say) -> dict[str, Any]:
        host, daemon, action = request["node"], request["daemon"], request["action"]
        self.managers.spec(host)
        if daemon == "sshd" and action == "query":
            return {"pid": self._box(host).pid}
        if daemon != "opensm":
            raise FabricError(f"{host} has no daemon {daemon!r}", hint="there is opensm")
        if action in ("stop", "restart"):
            self.managers.stop(host)
        if action in ("start", "restart"):
            self.managers.start(host)
        if action == "reload":
            self.managers.reload(host)
        return {"pid": self.managers.pid(host), "failed": self.managers.failed(host)}

    def _box(self, host: str) -> subprocess.Popen[bytes]:
        if host not in self.boxes:
            raise FabricError(f"{host} has no SSH box in this lab", hint="it needs root, and an address in the spec")
        if self.boxes[host].poll() is not None:
            raise FabricError(f"{host}: sshd has ended", hint=f"fabric lab logs SPEC {host} sshd")
        return self.boxes[host]

    def _sweeps(self, _request: dict[str, Any], _say: Say) -> dict[str, Any]:
        """Without asking over the fabric: how many good sweeps there were, and the state of each SM that runs."""
        sweeps = self.managers.sweeps()
        return {"sweeps": sweeps, "states": {host: life.state for host, life in self.managers.lives.items()}}

    def _status(self, _request: dict[str, Any], _say: Say) -> dict[str, Any]:
        found = status(self.folder, self.simulator, self.managers)
        return {"uptime_s": round(time.monotonic() - self.started, 1), **found, "faults": self.faults.listed()}

    def _clear(self, request: dict[str, Any], _say: Say) -> dict[str, Any]:
        """Set all error counters back: a fault that is undone leaves discarded packets behind."""
        env = client.environment(self.lab["socket"], self.lab["seat"])
        argv = ["ibqueryerrors", "--clear-errors", "--clear-counts"]
        return {"said": client.run_tool(argv, env, self.folder / "work", request["limit_s"])}


def _reap_strays(ours: list[int]) -> None:
    """Process 1 inherits what others leave behind; the ends of its own children are waited for where they were started."""
    if os.getpid() != 1:
        return
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid in ours:
            return
        os.waitpid(found.si_pid, 0)


def main() -> None:
    """Run the supervisor of the lab whose state folder is the argument."""
    folder = Path(sys.argv[1])
    lab = json.loads((folder / "lab.json").read_text(encoding="utf-8"))
    birth.leave(folder, namespaces=lab["namespaces"])
    if lab["namespaces"]:
        birth.private_run(folder)
    supervisor = Supervisor(folder, lab)
    supervisor.loop()


if __name__ == "__main__":
    main()
