"""The faults that are on, as faults.json has them, and the work on them that is still to be done."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from fabric.errors import FabricError
from fabric.lab.plant import Plant

Fault = dict[str, Any]
Kinds = Mapping[str, tuple[Callable[..., Fault], Callable[[Fault], None]]]
"""By name: what makes a fault, and what undoes it. The first returns the record, with the sentence `said`; what is `over` is not kept."""


class Book:
    """The record of one lab. `next` is the number of the next fault. `make` and `restore` raise FabricError for what cannot be done."""

    def __init__(self, plant: Plant) -> None:
        self.plant = plant
        self.next = 1
        self._active: dict[int, Fault] = {}
        self._due: list[tuple[float, Callable[[], float | None]]] = []
        self._kinds: dict[str, tuple[Callable[..., Fault], Callable[[Fault], None]]] = {}

    def knows(self, kinds: Kinds) -> None:
        """Add kinds of faults."""
        self._kinds.update(kinds)

    def make(self, kind: str, arguments: dict[str, Any]) -> str:
        """Make a fault; returns the sentence that says what was done. A fault that can be undone gets a number."""
        if kind not in self._kinds:
            raise FabricError(f"there is no fault {kind!r}", hint="one of " + ", ".join(self._kinds))
        fault = self._kinds[kind][0](**arguments)
        if fault.get("over"):
            return str(fault["said"])
        number, self.next = self.next, self.next + 1
        self._active[number] = {"id": number, "kind": kind, **fault}
        self._write()
        return f"{number}: {fault['said']}"

    def restore(self, number: int | None) -> list[str]:
        """Undo one fault, or all of them, the last first; returns what was undone."""
        if number is not None and number not in self._active:
            raise FabricError(f"there is no fault {number}", hint="fabric lab fault SPEC list")
        said = []
        for each in sorted(self._active, reverse=True) if number is None else [number]:
            fault = self._active[each]
            self._kinds[fault["kind"]][1](fault)
            self._active.pop(each, None)
            self._write()
            said.append(f"{each}: {fault['said']}: undone")
        return said

    def listed(self) -> list[dict[str, Any]]:
        """The faults that are on."""
        return [{"id": fault["id"], "kind": fault["kind"], "said": fault["said"]} for fault in self._active.values()]

    def _write(self) -> None:
        path = self.plant.folder / "faults.json"
        part = path.with_suffix(".part")
        part.write_text(json.dumps({"faults": list(self._active.values())}, indent=1), encoding="utf-8")
        part.replace(path)

    def next_due(self) -> float | None:
        """Seconds until something is to be done, None when nothing is."""
        return max(0.0, min(due for due, _ in self._due) - time.monotonic()) if self._due else None

    def run_due(self) -> None:
        """Do what is due; work that returns seconds is done again after them."""
        now = time.monotonic()
        ready = [item for item in self._due if item[0] <= now]
        self._due = [item for item in self._due if item[0] > now]
        for _, work in ready:
            try:
                again = work()
            except (FabricError, OSError) as error:  # nobody waits for an answer here, and the lab goes on
                print(f"fault: {error}", flush=True)
                continue
            if again is not None:
                self._due.append((time.monotonic() + again, work))

    def later(self, seconds: float, work: Callable[[], float | None]) -> None:
        """Have `work` done after so many seconds, and again after those that it returns."""
        self._due.append((time.monotonic() + seconds, work))

    def is_on(self, number: int) -> bool:
        """Whether the fault of that number is still on."""
        return number in self._active

    def forget(self, kinds: Collection[str], name: str) -> None:
        """Faults of these kinds on a node are over by themselves."""
        over = [n for n, fault in self._active.items() if fault["kind"] in kinds and fault["node"] == name]
        for number in over:
            del self._active[number]
        self._write()
