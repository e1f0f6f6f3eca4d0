"""Devices for tests of plan and apply: the whole `Device` interface over plain data, in memory or in files, with scripted faults."""

from __future__ import annotations

import copy
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric.change.clock import Clock
from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.device import DeviceError, DeviceRefusedError, Login, Pending, Staged
from fabric.targets.ends import FarEnds
from fabric.targets.facts import BgpSession, InterfaceState, LldpNeighbor, NextHop, Route, Version

PEERS = ("10.0.0.1", "2001:db8::1")
LINKS = ("Ethernet1/1", "Ethernet2/1")


class FakeClock:
    """Sleeping takes no time."""

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._now = start
        self._lock = threading.Lock()

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self._now += seconds


@dataclass
class Fleet:
    """All devices. `hook(device, point)` is called at each point of each action and may raise, kill, or wait.

    `cables`: a session over one is up while both ends have the same MTU. `faults`: device -> words: keeps (a difference),
    never-agrees (with far ends after the change), breaks-bgp, breaks-link, breaks-back (BGP, in the first state),
    no-difference. `folder`: states in files, else in memory.
    """

    clock: Clock
    folder: Path | None = None
    faults: dict[str, set[str]] = field(default_factory=dict)
    hook: Callable[[str, str], None] = lambda _device, _point: None
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    cables: Mapping[str, FarEnds] = field(default_factory=dict)
    logins: dict[str, Login] = field(default_factory=dict)

    def install(self, name: str, files: Mapping[str, str]) -> None:
        self.save(
            name,
            {"running": dict(files), "first": dict(files), "staged": {}, "armed": None, "old": {}, "foreign": [], "saved": dict(files)},
        )  # fmt: skip

    def load(self, name: str) -> dict[str, Any]:
        state = self.states[name] if self.folder is None else json.loads((self.folder / f"{name}.json").read_text())
        armed = state["armed"]
        if armed and self.clock.now() >= armed["until"]:
            state["running"], state["armed"] = copy.deepcopy(armed["old"]), None
            self.save(name, state)
        return state

    def save(self, name: str, state: dict[str, Any]) -> None:
        if self.folder is None:
            self.states[name] = state
            return
        temporary = self.folder / f"{name}.tmp"
        temporary.write_text(json.dumps(state))
        temporary.rename(self.folder / f"{name}.json")

    def running(self, name: str) -> dict[str, str]:
        running: dict[str, str] = self.load(name)["running"]
        return running

    def edit(self, name: str, path: str, text: str) -> None:
        """By hand, behind our back."""
        state = self.load(name)
        state["running"][path] = text
        self.save(name, state)

    def open(self, ref: DeviceRef) -> FakeDevice:
        return FakeDevice(self, ref)

    def driver(self, ref: DeviceRef, _model: str, login: Login, fill: Callable[[bytes], bytes]) -> FakeDevice:
        """In place of `fabric.targets.open.open_device`."""
        self.logins[ref.name] = login
        return FakeDevice(self, ref, fill)


class FakeDevice:
    def __init__(self, fleet: Fleet, ref: DeviceRef, fill: Callable[[bytes], bytes] = bytes) -> None:
        self.ref = ref
        self.fill = fill
        self.fleet = fleet
        self.name = ref.name

    def _do(self, point: str) -> dict[str, Any]:
        self.fleet.calls.append((self.name, point))
        self.fleet.hook(self.name, point)
        return self.fleet.load(self.name)

    def _has(self, fault: str) -> bool:
        return fault in self.fleet.faults.get(self.name, ())

    def read(self, paths: Sequence[str]) -> dict[str, bytes | None]:
        running = self._do("read")["running"]
        return {path: running[path].encode() if path in running else None for path in paths}

    def stage(self, artifacts: Sequence[Artifact], token: str, absent: Sequence[str] = ()) -> Staged:
        state = self._do("stage")
        files = {a.path: self.fill(a.content).decode() for a in artifacts}
        state["absent"] = list(absent)
        state["staged"][token] = files
        self.fleet.save(self.name, state)
        self.fleet.hook(self.name, "stage-done")
        changed = files != state["running"] and not self._has("no-difference")
        return Staged(self.name, token, "".join(f"+{text}\n" for text in files.values()) if changed else "")

    def commit(self, staged: Staged, timer_s: int) -> None:
        state = self._do("commit")
        files = state["staged"].pop(staged.token)
        old = copy.deepcopy(state["running"])
        state["old"][staged.token] = old
        state["armed"] = {"token": staged.token, "old": old, "until": self.fleet.clock.now() + timer_s}
        state["running"] = {p: t for p, t in {**state["running"], **files}.items() if p not in state["absent"]}
        if self._has("keeps"):
            path = next(iter(files))
            state["running"][path] = state["running"][path].replace("9100", "9099")
        self.fleet.save(self.name, state)
        self.fleet.hook(self.name, "commit-done")

    def confirm(self, staged: Staged) -> None:
        state = self._do("confirm")
        if not state["armed"] or state["armed"]["token"] != staged.token:
            raise DeviceError(f"{self.name}: no timer of {staged.token} is armed")
        state["armed"] = None
        self.fleet.save(self.name, state)
        self.fleet.hook(self.name, "confirm-half")
        state["saved"] = copy.deepcopy(state["running"])
        self.fleet.save(self.name, state)
        self.fleet.hook(self.name, "confirm-done")

    def finish(self, staged: Staged) -> None:
        state = self._do("finish")
        if state["armed"] or staged.token in state["staged"]:
            raise DeviceError(f"{self.name}: {staged.token} was not confirmed")
        state["saved"] = copy.deepcopy(state["running"])
        self.fleet.save(self.name, state)

    def rollback(self, staged: Staged) -> None:
        state = self._do("rollback")
        if staged.token in state["old"]:
            state["running"] = copy.deepcopy(state["old"][staged.token])
            state["saved"] = copy.deepcopy(state["running"])
            state["armed"] = None
            self.fleet.save(self.name, state)

    def run_files(self) -> None:
        self._do("run-files")

    def discard(self, staged: Staged) -> None:
        state = self._do("discard")
        state["staged"].pop(staged.token, None)
        self.fleet.save(self.name, state)

    def pending(self) -> list[Pending]:
        state = self._do("pending")
        found = [Pending(token, armed=False, ours=True, detail="staged") for token in state["staged"]]
        if state["armed"]:
            found.append(Pending(state["armed"]["token"], armed=True, ours=True, detail="timer armed"))
        return found + [
            Pending(token, armed=armed, ours=False, detail="session of bob") for token, armed in state["foreign"]
        ]

    def reconnect(self) -> None:
        self._do("reconnect")

    def close(self) -> None:
        self.fleet.calls.append((self.name, "close"))

    def version(self) -> Version:
        return Version(self.name, None, None, None)

    def lldp(self) -> list[LldpNeighbor]:
        return []

    def bgp(self) -> list[BgpSession]:
        state = self._do("bgp")
        is_first = state["running"] == state["first"]
        broken = self._has("breaks-back") if is_first else self._has("breaks-bgp")
        return [
            BgpSession(peer, 65000, "idle" if (broken and i == 0) or self._differs(i) else "established", 1, 1, None)
            for i, peer in enumerate(PEERS)
        ]

    def _differs(self, index: int) -> bool:
        """Whether the far end of a cable has another MTU: then its session is down."""
        far = self.fleet.cables.get(self.name, {}).get(LINKS[index], ("", ""))[0]
        if not far:
            return False
        both = {re.findall(r"mtu\W+(\d+)", str(self.fleet.running(name)))[0] for name in (self.name, far)}
        changed = "9100" in both and "never-agrees" in self.fleet.faults.get(far, set()) | self.fleet.faults.get(
            self.name, set()
        )
        return len(both) > 1 or changed

    def routes(self) -> list[Route]:
        rows = self._do("routes").get("routes", [])
        return [Route(p, tuple(NextHop(a, None) for a in hops), "bgp") for p, hops in rows]

    def interfaces(self) -> list[InterfaceState]:
        state = self._do("interfaces")
        broken = self._has("breaks-link") and state["running"] != state["first"]
        return [
            InterfaceState(
                name, admin_up=True, oper_up=not (broken and i == 0), mtu=9000, speed_gbps=400, description=None
            )
            for i, name in enumerate(LINKS)
        ]


def fails(device: str, point: str, error: Exception, times: int = 1_000_000) -> Callable[[str, str], None]:
    """A hook that raises `error` at a point of a device, the first `times` times."""
    left = [times]

    def hook(name: str, at: str) -> None:
        if (name, at) == (device, point) and left[0] > 0:
            left[0] -= 1
            raise error

    return hook


def lost(name: str = "it") -> DeviceError:
    return DeviceError(f"{name}: the connection was lost")


def refused(line: str = "% Invalid input at line 7") -> DeviceRefusedError:
    return DeviceRefusedError("the device refuses the configuration", [line])
