"""Faults of a lab, made for real and undone: cables, MTU, daemons, SSH, disks, whole switches. What is on is recorded in faults.json."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab import cables, frr, node, nodekinds, proc
from fabric.lab.cables import Socket
from fabric.lab.plant import Plant

FILLER = ".filled-by-a-fault"
GAP_S = 1.5
"""How long a socket stays empty when its cable changes, in seconds: lldpd looks at its interfaces a second after a change, and must see it."""

POLL_S = 0.01
"""How often the bytes of a management interface are looked at while `drop-ssh --after` waits, in seconds."""


class Faults:
    """The faults of one lab. `make` and `restore` raise FabricError for what cannot be done."""

    def __init__(self, plant: Plant) -> None:
        self.plant = plant
        self._next = 1
        self._active: dict[int, dict[str, Any]] = {}
        self._due: list[tuple[float, Callable[[], float | None]]] = []
        self._kinds: dict[str, tuple[Callable[..., dict[str, Any]], Callable[[dict[str, Any]], None]]] = {
            "cut": (self._cut, self._mend),
            "swap": (self._swap, self._swap_back),
            "slow": (self._slow, self._speed_up),
            "mtu": (self._mtu, self._mtu_back),
            "kill-daemon": (self._kill_daemon, self._revive),
            "drop-ssh": (self._drop_ssh, self._allow_ssh),
            "reboot": (self._reboot, lambda _fault: None),
            "fill-disk": (self._fill_disk, self._empty_disk),
        }

    # --- book-keeping -------------------------------------------------------------------------------------------------
    def make(self, kind: str, arguments: dict[str, Any]) -> str:
        """Make a fault; returns the sentence that says what was done. A fault that can be undone gets a number."""
        if kind not in self._kinds:
            raise FabricError(f"there is no fault {kind!r}", hint="one of " + ", ".join(self._kinds))
        fault = self._kinds[kind][0](**arguments)
        if fault.get("over"):
            return str(fault["said"])
        number, self._next = self._next, self._next + 1
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

    # --- cables -------------------------------------------------------------------------------------------------------
    def _link(self, a: str, b: str | None) -> tuple[Socket, Socket]:
        """The two sockets of a cable named by its one end, or by the two devices when only one cable joins them."""
        if ":" in a:
            here = self.plant.socket(a)
            there = self.plant.far(here)
            if there is None:
                raise FabricError(f"{a} has no cable now")
            if b is not None and b not in (there[0], self.plant.port_name(there)):
                raise FabricError(f"{a} is cabled to {self.plant.port_name(there)}, not to {b}")
            return here, there
        self.plant.spec(a)
        if b is None:
            raise FabricError(f"which cable of {a}?", hint=f"{a}:PORT, or {a} and the device at the other end")
        found = [
            (here, there)
            for here in self.plant.ends
            if here[0] == a and (there := self.plant.far(here)) and self._is(there, b)
        ]
        if len(found) != 1:
            raise FabricError(f"{len(found)} cables join {a} and {b}", hint=f"name one by its port: {a}:PORT")
        return found[0]

    def _is(self, socket: Socket, name: str) -> bool:
        return name in (socket[0], self.plant.port_name(socket))

    def _cut(self, a: str, b: str | None = None) -> dict[str, Any]:
        here, there = self._link(a, b)
        end = self.plant.ends[there]
        stub = f"s{self._next}"
        self.plant.before_unplugging(there)
        state = cables.unplug(there, end)
        time.sleep(GAP_S)
        cables.stub(stub)
        cables.plug(there, stub, state)
        self.plant.ends[there] = stub + "a"
        self.plant.replugged(there)
        said = f"cable {self.plant.port_name(here)} - {self.plant.port_name(there)} is cut"
        return {"said": said, "end": end, "stub": stub}

    def _mend(self, fault: dict[str, Any]) -> None:
        there = next(place for place, end in self.plant.ends.items() if end == fault["stub"] + "a")
        state = cables.unplug(there, fault["stub"])
        time.sleep(GAP_S)
        cables.drop(fault["stub"])
        cables.plug(there, fault["end"], state)
        self.plant.ends[there] = fault["end"]
        self.plant.replugged(there)

    def _swap(self, a: str, b: str) -> dict[str, Any]:
        (here, first), (other, second) = self._link(a, None), self._link(b, None)
        if second in (here, first):  # both name the same end, or each another one
            raise FabricError(f"{a} and {b} are on one cable: there is nothing to exchange")
        self._exchange(first, second)
        name = self.plant.port_name
        return {
            "said": f"cables swapped: {name(here)} - {name(second)}, {name(other)} - {name(first)}",
            "sockets": [list(first), list(second)],
        }

    def _swap_back(self, fault: dict[str, Any]) -> None:
        first, second = ((place[0], place[1]) for place in fault["sockets"])
        self._exchange(first, second)

    def _exchange(self, first: Socket, second: Socket) -> None:
        ends = self.plant.ends
        for socket in (first, second):
            self.plant.before_unplugging(socket)
        one, two = cables.unplug(first, "swap1"), cables.unplug(second, "swap2")
        time.sleep(GAP_S)
        cables.plug(first, "swap2", one)
        cables.plug(second, "swap1", two)
        ends[first], ends[second] = ends[second], ends[first]
        self.plant.replugged(first)
        self.plant.replugged(second)

    def _slow(self, a: str, rate: str) -> dict[str, Any]:
        here, there = self._link(a, None)
        for place in (here, there):
            proc.run(["tc", "-n", place[0], "qdisc", "replace", "dev", place[1], "root", "tbf",
                      "rate", rate, "burst", "256k", "latency", "50ms"])  # fmt: skip
        said = f"cable {self.plant.port_name(here)} - {self.plant.port_name(there)} carries {rate} only"
        return {"said": said, "sockets": [list(here), list(there)]}

    def _speed_up(self, fault: dict[str, Any]) -> None:
        for name, linux in fault["sockets"]:
            # A reboot or another cable may have taken the limit away already.
            if "tbf" in proc.run(["tc", "-n", name, "qdisc", "show", "dev", linux]):
                proc.run(["tc", "-n", name, "qdisc", "del", "dev", linux, "root"])

    def _mtu(self, a: str, size: int) -> dict[str, Any]:
        name, linux = socket = self.plant.socket(a)
        old = cables.snapshot(socket)["mtu"]
        proc.run(["ip", "-n", name, "link", "set", linux, "mtu", str(size)])
        return {
            "said": f"{self.plant.port_name(socket)} has MTU {size} instead of {old}",
            "socket": [name, linux],
            "old": old,
        }

    def _mtu_back(self, fault: dict[str, Any]) -> None:
        name, linux = fault["socket"]
        proc.run(["ip", "-n", name, "link", "set", linux, "mtu", str(fault["old"])])

    # --- nodes --------------------------------------------------------------------------------------------------------
    def _kill_daemon(self, name: str, daemon: str) -> dict[str, Any]:
        lines = self.plant.kill_daemon(name, daemon)
        known = daemon in self.plant.running[name].daemons
        return {"said": f"{daemon} of {name} is killed", "node": name, "daemon": daemon, "argv": [] if known else lines}

    def _revive(self, fault: dict[str, Any]) -> None:
        name, daemon = fault["node"], fault["daemon"]
        if daemon in self.plant.running[name].daemons:
            if not self.plant.daemon_runs(name, daemon):
                self.plant.start_daemon(name, daemon)
            return
        if daemon in self.plant.processes(name).values():
            return  # something in the node has started it again
        # A new zebra learns nothing from a bgpd that runs: both begin anew, as watchfrr has it.
        after = self._kill_if_there(name, "bgpd") if daemon == "zebra" else []
        self._spawn(name, daemon, fault["argv"])
        self._spawn(name, "bgpd", after)

    def _spawn(self, name: str, daemon: str, lines: list[list[str]]) -> None:
        """Start an FRR daemon and wait until it serves: a bgpd without a zebra takes no IPv6 route, for it knows no interface."""
        for argv in lines:
            (frr.run_dir(name) / f"{daemon}.vty").unlink(missing_ok=True)
            node.spawn(self.plant.pid(name), argv, self.plant.log(name, daemon), nodekinds.environment(name))
            if daemon in frr.DAEMONS:
                frr.wait(name, [daemon])

    def _kill_if_there(self, name: str, daemon: str) -> list[list[str]]:
        """Kill a daemon when it runs; its command lines."""
        return self.plant.kill_daemon(name, daemon) if daemon in self.plant.processes(name).values() else []

    def _reboot(self, name: str) -> dict[str, Any]:
        self.plant.reboot(name)
        self._forget_waiting(name)
        return {"said": f"{name} boots", "over": True}

    def _disk(self, name: str) -> Path:
        self.plant.spec(name)
        return self.plant.node_folder(name) / node.DISK

    def _fill_disk(self, name: str) -> dict[str, Any]:
        path = self._disk(name) / FILLER
        with path.open("ab", buffering=0) as out:
            for size in (1 << 20, 4096, 1):
                _write_until_full(out.fileno(), size)
        return {"said": f"the disk of {name} is full", "node": name}

    def _empty_disk(self, fault: dict[str, Any]) -> None:
        (self._disk(fault["node"]) / FILLER).unlink(missing_ok=True)

    # --- SSH ----------------------------------------------------------------------------------------------------------
    def _drop_ssh(self, name: str, seconds: float | None = None, after: int | None = None) -> dict[str, Any]:
        if "sshd" not in self.plant.running[self.plant.spec(name)["name"]].daemons:
            raise FabricError(f"{name} has no sshd")
        number = self._next
        if after is None:
            self._silence(name, number, seconds)
            said = f"SSH of {name} is dropped"
        else:
            limit = self._received(name) + after
            self._due.append((time.monotonic(), lambda: self._watch(name, number, limit, seconds)))
            said = f"SSH of {name} is dropped after {after} more bytes"
        return {"said": said + (f", for {seconds:g} s" if seconds else ""), "node": name}

    def _watch(self, name: str, number: int, limit: int, seconds: float | None) -> float | None:
        if number not in self._active:
            return None
        if self._received(name) < limit:
            return POLL_S
        self._silence(name, number, seconds)
        return None

    def _received(self, name: str) -> int:
        """Bytes that came in on the management interface."""
        for line in Path(f"/proc/{self.plant.pid(name)}/net/dev").read_text(encoding="ascii").splitlines():
            device, _, counters = line.partition(":")
            if device.strip() == "ma0":
                return int(counters.split()[0])
        return 0

    def _silence(self, name: str, number: int, seconds: float | None) -> None:
        """Kill sshd and all its sessions: the kernel resets the connections and refuses new ones."""
        sessions = [pid for pid, comm in self.plant.processes(name).items() if comm.startswith("sshd")]
        for pid in sessions:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if seconds is not None:
            self._due.append((time.monotonic() + seconds, lambda: self._end_silence(number)))

    def _end_silence(self, number: int) -> None:
        if number in self._active:
            self.restore(number)

    def _allow_ssh(self, fault: dict[str, Any]) -> None:
        if not self.plant.daemon_runs(fault["node"], "sshd"):
            self.plant.start_daemon(fault["node"], "sshd")

    def _forget_waiting(self, name: str) -> None:
        """A reboot ends what was wrong with daemons and SSH."""
        over = [
            n
            for n, fault in self._active.items()
            if fault["kind"] in ("kill-daemon", "drop-ssh") and fault["node"] == name
        ]
        for number in over:
            del self._active[number]
        self._write()


def _write_until_full(descriptor: int, size: int) -> None:
    block = b"\0" * size
    while True:
        try:
            os.write(descriptor, block)
        except OSError:
            return
