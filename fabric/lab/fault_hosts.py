"""Faults of booted hosts (`fabric.lab.machines`): GPUs, NICs, the clock, daemons that hang. The stand-ins of the hardware show them."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab import node
from fabric.lab.fault_book import Book, Fault, Kinds

GPU_FAULTS = {
    "ecc": "has uncorrected ECC errors",
    "missing": "is gone from the bus",
    "nvlink": "has an NVLink down",
    "pcie-width": "has half its PCIe width",
    "throttle": "is slowed down by heat",
    "xid": "has fallen off the bus (Xid 79)",
}
"""Kind -> what is then so of a GPU."""

_ENV = {"PATH": "/usr/sbin:/usr/bin", "LC_ALL": "C"}
_FORGETFUL = ("trust", "pfc", "cable_len")


class HostFaults:
    """What can be done to a machine beside what can be done to every node."""

    def __init__(self, book: Book) -> None:
        self._book, self._plant = book, book.plant

    def kinds(self) -> Kinds:
        """By name, how each is made and undone."""
        return {
            "gpu": (self._gpu, self._gpu_well),
            "platform": (self._platform, self._kept_gone),
            "clock": (self._clock, self._kept_gone),
            "forget-qos": (self._forget_qos, lambda _fault: None),
            "freeze": (self._freeze, self._thaw),
        }

    def _root(self, name: str) -> Path:
        """The root folder of a machine, as the lab sees it."""
        if not self._plant.is_machine(name):
            raise FabricError(f"{name} is not booted as a machine", hint="fabric lab up SPEC --boot GLOB")
        return Path(f"/proc/{self._plant.pid(name)}/root")

    def _keep(self, name: str, kind: str, text: str) -> None:
        folder = self._root(name) / "var/lib/standin/faults"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / kind).write_text(f"{text}\n", encoding="utf-8")

    def _kept_gone(self, fault: Fault) -> None:
        (self._root(fault["node"]) / "var/lib/standin/faults" / fault["file"]).unlink(missing_ok=True)

    def _hardware(self, name: str) -> dict[str, Any]:
        path = self._root(name) / "var/lib/standin/hardware.json"
        if not path.exists():
            raise FabricError(f"{name} has no GPUs: its spec has no hosts.software")
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return data

    def _gpu(self, name: str, what: str, gpu: int) -> Fault:
        gpus = self._hardware(name)["gpus"]
        if what not in GPU_FAULTS:
            raise FabricError(f"there is no fault {what!r} of a GPU", hint="one of " + ", ".join(GPU_FAULTS))
        if not 0 <= gpu < len(gpus):
            raise FabricError(f"{name} has no GPU {gpu}", hint=f"it has GPUs 0 to {len(gpus) - 1}")
        if what == "xid":
            text = f"NVRM: Xid (PCI:{gpus[gpu]['pci'].removesuffix('.0')}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
            self._run(name, ["/usr/bin/logger", "-t", "kernel", "-p", "kern.err", text])
        else:
            self._keep(name, what, str(gpu))
        return {"said": f"GPU {gpu} of {name} {GPU_FAULTS[what]}", "node": name, "file": what}

    def _gpu_well(self, fault: Fault) -> None:
        if fault["file"] == "xid":  # what was logged is forgotten, as after two hours
            self._run(fault["node"], ["/usr/bin/sh", "-c", "journalctl --rotate && journalctl --vacuum-time=1s"])
        else:
            self._kept_gone(fault)

    def _platform(self, name: str, gpu_name: str) -> Fault:
        self._keep(name, "platform", gpu_name)
        return {"said": f"the GPUs of {name} are {gpu_name}", "node": name, "file": "platform"}

    def _clock(self, name: str, seconds: float) -> Fault:
        self._keep(name, "clock", f"{seconds:g}")
        return {"said": f"the clock of {name} is {seconds:g} s off", "node": name, "file": "clock"}

    def _forget_qos(self, name: str, nic: str) -> Fault:
        folder = self._root(name) / "run/standin/qos" / nic
        if "/" in nic or not folder.is_dir():
            raise FabricError(f"{name} has no NIC {nic!r}")
        for path in [folder / entry for entry in _FORGETFUL] + sorted((folder / "dscp2prio").glob("*")):
            path.unlink(missing_ok=True)
        return {
            "said": f"{nic} of {name} has forgotten its QoS settings, as after a reload of its driver",
            "over": True,
        }

    def _freeze(self, name: str, daemon: str) -> Fault:
        self._root(name)
        if not self._signal(name, daemon, signal.SIGSTOP):
            raise FabricError(f"{name}: no {daemon} runs there")
        return {"said": f"{daemon} of {name} hangs", "node": name, "daemon": daemon}

    def _thaw(self, fault: Fault) -> None:
        self._signal(fault["node"], fault["daemon"], signal.SIGCONT)

    def _signal(self, name: str, daemon: str, number: signal.Signals) -> int:
        found = [pid for pid, comm in self._plant.processes(name).items() if comm == daemon]
        for pid in found:
            os.kill(pid, number)
        return len(found)

    def _run(self, name: str, argv: list[str]) -> None:
        """Run a short command in a machine, to its end."""
        self._plant.gone([node.spawn(self._plant.pid(name), argv, self._plant.log(name, "fault"), _ENV)])
