"""Faults of an InfiniBand lab, made for real in the simulator or by a signal, and undone. What is on is recorded in faults.json."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab.ib import client
from fabric.lab.ib.managers import Managers
from fabric.lab.ib.simulator import Simulator
from fabric.lab.ib.wiring import Socket, Wiring, words

COUNTERS = {"SymbolErrorCounter": 1000, "LinkErrorRecoveryCounter": 20}
"""What `degrade` sets when nothing is said: far above the thresholds of ibqueryerrors (10), within 16 and 8 bits."""

WIDTHS = {"1x": 1, "4x": 2}
"""Link width -> the bit that PortInfo has for it."""


class Faults:
    """The faults of one lab. `make` and `restore` raise FabricError for what cannot be done."""

    def __init__(self, folder: Path, simulator: Simulator, managers: Managers, wiring: Wiring) -> None:
        self._folder, self._simulator, self._managers, self.wiring = folder, simulator, managers, wiring
        self._next = 1
        self._active: dict[int, dict[str, Any]] = {}
        self._kinds: dict[str, tuple[Callable[..., dict[str, Any]], Callable[[dict[str, Any]], None]]] = {
            "cut": (self._cut, self._mend),
            "swap": (self._swap, self._swap_back),
            "degrade": (self._degrade, self._recover),
            "kill-sm": (self._kill, self._revive),
            "remove": (self._remove, self._mend),
        }

    # --- book-keeping -------------------------------------------------------------------------------------------------
    def make(self, kind: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Make a fault; returns its record, with the sentence that says what was done as `said`."""
        if kind not in self._kinds:
            raise FabricError(
                f"there is no fault {kind!r} in an InfiniBand lab", hint="one of " + ", ".join(self._kinds)
            )
        fault = self._kinds[kind][0](**arguments)
        number, self._next = self._next, self._next + 1
        self._active[number] = {"id": number, "kind": kind, **fault}
        self._write()
        return self._active[number]

    def restore(self, number: int | None) -> list[dict[str, Any]]:
        """Undo one fault, or all of them, the last first; returns the records of what was undone."""
        if number is not None and number not in self._active:
            raise FabricError(f"there is no fault {number}", hint="fabric lab fault SPEC list")
        undone = []
        for each in sorted(self._active, reverse=True) if number is None else [number]:
            fault = self._active[each]
            self._kinds[fault["kind"]][1](fault)
            undone.append(self._active.pop(each))
            self._write()
        return undone

    def listed(self) -> list[dict[str, Any]]:
        """The faults that are on."""
        return [{"id": fault["id"], "kind": fault["kind"], "said": fault["said"]} for fault in self._active.values()]

    def _write(self) -> None:
        part = self._folder / "faults.part"
        part.write_text(json.dumps({"faults": list(self._active.values())}, indent=1), encoding="utf-8")
        part.replace(self._folder / "faults.json")

    # --- cables -------------------------------------------------------------------------------------------------------
    def _pull(self, socket: Socket) -> Socket:
        far = self.wiring.far(socket)
        self._simulator.command(f"Unlink {self.wiring.console(socket)}")
        self.wiring.pull(socket)
        return far

    def _plug(self, a: Socket, b: Socket) -> None:
        self.wiring.plug(a, b)
        try:
            self._simulator.command(f"Link {self.wiring.console(a)} {self.wiring.console(b)}")
        except FabricError:
            self.wiring.pull(a)
            raise

    def _cut(self, a: str) -> dict[str, Any]:
        socket = self.wiring.socket(a)
        far = self._pull(socket)
        return {"cables": [(socket, far)], "said": f"cut {words(socket)} - {words(far)}"}

    def _mend(self, fault: dict[str, Any]) -> None:
        for a, b in list(fault["cables"]):
            self._plug(a, b)
            fault["cables"].remove((a, b))

    def _swap(self, a: str, b: str) -> dict[str, Any]:
        one, two = self.wiring.socket(a), self.wiring.socket(b)
        far_one, far_two = self.wiring.far(one), self.wiring.far(two)
        if len({one, two, far_one, far_two}) != 4:
            raise FabricError(f"{words(one)} and {words(two)} are the ends of one cable")
        self._cross(one, two)
        said = f"swapped the far ends of {words(one)} (was {words(far_one)}) and {words(two)} (was {words(far_two)})"
        return {"ends": (one, two), "said": said}

    def _swap_back(self, fault: dict[str, Any]) -> None:
        self._cross(*fault["ends"])

    def _cross(self, one: Socket, two: Socket) -> None:
        self.wiring.far(two)
        far_one, far_two = self._pull(one), self._pull(two)
        self._plug(one, far_two)
        self._plug(two, far_one)

    def _remove(self, name: str) -> dict[str, Any]:
        node = self.wiring.node(name)
        cables = self.wiring.cables_of(node)
        if not cables:
            raise FabricError(f"{node} has no cable any more")
        self._simulator.command(f'Unlink "{self.wiring.ids[node]}"')
        for a, _ in cables:
            self.wiring.pull(a)
        return {"cables": cables, "said": f"removed {node} with {len(cables)} cables"}

    # --- links that work badly ----------------------------------------------------------------------------------------
    def _degrade(self, port: str, counters: dict[str, int], width: str | None) -> dict[str, Any]:
        socket = self.wiring.socket(port)
        far = self.wiring.far(socket)
        said = []
        if width is not None:
            self._set_width(socket, WIDTHS[width])
            said.append(f"width {width}")
        counters = counters or ({} if width else COUNTERS)
        for name, value in counters.items():
            self._counter(socket, name, value)
            said.append(f"{name} {value}")
        record = {"socket": socket, "counters": list(counters), "width": width}
        return {**record, "said": f"degraded {words(socket)} - {words(far)}: {', '.join(said)}"}

    def _recover(self, fault: dict[str, Any]) -> None:
        socket = fault["socket"]
        for name in fault["counters"]:
            self._counter(socket, name, 0)
        if fault["width"]:
            self._set_width(socket, WIDTHS["4x"])

    def _counter(self, socket: Socket, name: str, value: int) -> None:
        if not name.isalnum():
            raise FabricError(f"{name!r} is no counter of a port")
        said = self._simulator.command(f"PerformanceSet {self.wiring.console(socket)} PortCounters.{name}={value}")
        if "has been set" not in said:
            raise FabricError(f"ibsim knows no counter {name!r}: {said or 'it said nothing'}")

    def _set_width(self, socket: Socket, value: int) -> None:
        """At both ends, else the simulator trains it back; but not at an HCA, whose LID the tool would change as well."""
        env = client.environment(self._managers.lab["socket"], self._managers.lab["seat"])
        for end in (socket, self.wiring.far(socket)):
            if self.wiring.is_switch(end[0]):
                route = self.wiring.route(self._managers.lab["seat"], end[0])
                argv = ["ibportstate", "-D", route, str(end[1]), "width", str(value)]
                if not client.run_tool(argv, env, self._folder / "work"):
                    raise FabricError(f"the width of {words(end)} could not be changed: it does not answer")

    # --- subnet managers ----------------------------------------------------------------------------------------------
    def _kill(self, host: str | None) -> dict[str, Any]:
        victim = host or self._managers.master()
        if victim is None:
            raise FabricError("no SM is master now", hint="fabric lab status SPEC")
        if not self._managers.runs(victim):
            raise FabricError(f"{victim}: opensm does not run")
        self._managers.stop(victim, signal.SIGKILL)
        return {"host": victim, "said": f"killed opensm on {victim}"}

    def _revive(self, fault: dict[str, Any]) -> None:
        self._managers.start(fault["host"])
        self._managers.wait(fault["host"])
