"""What tests/lab/test_drivers.py runs at the operator's seat of a lab: `python -m tests.lab.driver_seat SCENARIO SWITCH ADDRESS FOLDER`.

FOLDER is the switch's folder in the lab, where its faults are set. A scenario asserts; what it leaves is the switch as it was.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.device import Device, DeviceError, DeviceRefusedError, Login, Staged
from fabric.targets.open import open_device

EOS = ("/mnt/flash/startup-config",)
FBOSS = ("/etc/coop/agent.conf", "/etc/coop/bgpcpp/bgpcpp.conf")
Files = dict[str, bytes]


class Seat:
    """One switch, as a driver sees it, and what a change of it looks like."""

    def __init__(self, name: str, address: str, folder: Path) -> None:
        self.name, self._address, self.folder = name, address, folder
        self.target = json.loads((folder / "node.json").read_text())["kind"]
        self.paths = EOS if self.target == "eos" else FBOSS
        self.device = self.open()

    def open(self, **changes: Any) -> Device:
        """A driver with a connection of its own, as a later run has it."""
        user = os.environ["FABRIC_USER"] if self.target == "eos" else "root"
        values: dict[str, Any] = {"host": self._address, "username": user, "key_file": os.environ["FABRIC_KEY_FILE"]}
        values |= {"known_hosts": os.environ["FABRIC_STATE"] + "/known_hosts", "timeout_s": 60.0}
        return open_device(DeviceRef(self.name, "switch", self.target), "any", Login(**(values | changes)), bytes)

    def read(self) -> Files:
        """What is in force."""
        return {path: content for path, content in self.open().read(self.paths).items() if content is not None}

    def artifacts(self, files: Mapping[str, bytes]) -> list[Artifact]:
        return [Artifact(self.name, "switch", self.target, path, content) for path, content in files.items()]

    def changed(self, files: Files) -> Files:
        """The same configuration with another MTU on one port."""
        path = self.paths[0]
        old, new = (b"mtu 9000", b"mtu 8900") if self.target == "eos" else (b'"mtu": 9000', b'"mtu": 8900')
        assert old in files[path]
        return files | {path: files[path].replace(old, new, 1)}

    @contextlib.contextmanager
    def fault(self, **fault: Any) -> Iterator[None]:
        """A fault of the switch itself, while inside."""
        (self.folder / "faults.json").write_text(json.dumps(fault))
        try:
            yield
        finally:
            (self.folder / "faults.json").unlink()

    def leftovers(self) -> list[str]:
        """What a change of ours would leave: sessions, folders, timers."""
        return [it.token for it in self.open().pending() if it.ours]


def confirmed(seat: Seat) -> None:
    old = seat.read()
    staged = seat.device.stage(seat.artifacts(seat.changed(old)), "r1")
    assert "8900" in staged.diff
    assert seat.read() == old
    seat.device.commit(staged, 120)
    assert [it.armed for it in seat.device.pending()] == [True]
    seat.device.reconnect()
    seat.device.confirm(staged)
    assert seat.read() == seat.changed(old)
    again = seat.device.stage(seat.artifacts(seat.changed(old)), "r2")
    assert again.diff == "", "what was applied is what is in force"
    seat.device.discard(again)
    back = seat.device.stage(seat.artifacts(old), "r3")
    seat.device.commit(back, 120)
    seat.device.confirm(back)
    assert seat.read() == old


def expired(seat: Seat) -> None:
    old = seat.read()
    staged = seat.device.stage(seat.artifacts(seat.changed(old)), "r1")
    seat.device.commit(staged, 20)  # time enough to be read before it is over, on a busy machine
    assert seat.read() == seat.changed(old)
    limit = time.monotonic() + 120
    while seat.read() != old:
        assert time.monotonic() < limit
        time.sleep(0.5)
    _fails(lambda: seat.device.confirm(staged), "return")
    seat.open().rollback(Staged(seat.name, "r1", ""))
    assert seat.read() == old


def rolled_back(seat: Seat) -> None:
    old = seat.read()
    staged = seat.device.stage(seat.artifacts(seat.changed(old)), "r1")
    seat.device.commit(staged, 120)
    seat.open().rollback(Staged(seat.name, "r1", ""))
    assert seat.read() == old
    seat.device.rollback(staged)
    seat.device.rollback(seat.device.stage(seat.artifacts(seat.changed(old)), "r2"))
    assert seat.read() == old


def refused(seat: Seat) -> None:
    """EOS refuses at staging, FBOSS when its agent is asked to load: both are told in the device's words and leave the old state."""
    old = seat.read()
    with seat.fault(**({"refuse": "mtu 8900"} if seat.target == "eos" else {"refuse_reload": True})):
        try:
            seat.device.commit(seat.device.stage(seat.artifacts(seat.changed(old)), "r1"), 120)
        except DeviceError as error:
            said = [str(error), *getattr(error, "lines", ())]
        else:
            raise AssertionError("it was not refused")
        assert any(
            "mtu 8900% Invalid input" in line if seat.target == "eos" else "Thrift call failed" in line for line in said
        ), said
    seat.open().rollback(Staged(seat.name, "r1", ""))
    assert seat.read() == old


def moved(seat: Seat) -> None:
    """Somebody else changes the device between staging and commit."""
    old = seat.read()
    staged = seat.device.stage(seat.artifacts(seat.changed(old)), "r1")
    other = seat.open()
    if seat.target == "eos":
        theirs = {EOS[0]: old[EOS[0]].replace(b"mtu 9000", b"mtu 8800", 1)}
        _apply_by_hand(other, theirs[EOS[0]])
    else:
        theirs = old | {FBOSS[1]: old[FBOSS[1]].replace(b'"hold_time"', b'"hold_time" ', 1)}
        _files(other).put(FBOSS[1], theirs[FBOSS[1]], 0o644)
    _refuses(lambda: seat.device.commit(staged, 120), "changed since")
    assert seat.read() == theirs
    seat.device.discard(staged)
    back = seat.device.stage(seat.artifacts(old), "r2")
    seat.device.commit(back, 120)
    seat.device.confirm(back)
    assert seat.read() == old


def foreign(seat: Seat) -> None:
    """Another operator waits for the confirmation of a change (EOS); their session that only lies there is left alone."""
    old = seat.read()
    other: Any = seat.open()
    for command in (
        "configure session joe",
        "end",
        "configure session joe commit timer 00:01:00",
        "configure session lying",
        "end",
    ):
        other._connection.cli(command)
    _refuses(lambda: seat.device.stage(seat.artifacts(seat.changed(old)), "r1"), "someone else's change")
    other._connection.cli("configure session joe abort")
    seat.device.discard(seat.device.stage(seat.artifacts(seat.changed(old)), "r1"))
    assert [it.token for it in seat.device.pending()] == ["lying"]
    other._connection.cli("configure session lying abort")
    assert seat.read() == old


def full(seat: Seat) -> None:
    """The disk is full (a fault of the lab, set by the test)."""
    old = seat.read()
    _fails(lambda: seat.device.stage(seat.artifacts(seat.changed(old)), "r1"), "full")
    assert seat.leftovers() == []
    assert seat.read() == old


def renamed(seat: Seat) -> None:
    """A new host name changes the prompt under the driver's feet (EOS)."""
    old = seat.read()
    line = f"hostname {seat.name}".encode()
    staged = seat.device.stage(seat.artifacts({EOS[0]: old[EOS[0]].replace(line, b"hostname other.7")}), "r1")
    seat.device.commit(staged, 120)
    seat.device.confirm(staged)
    back = seat.device.stage(seat.artifacts(old), "r2")
    seat.device.commit(back, 120)
    seat.device.confirm(back)
    assert seat.read() == old


def spoilt(seat: Seat) -> None:
    """Garbage, 100 MB and silence: one clear line each, in bounded time and memory, and the switch is usable after it."""
    import resource

    with seat.fault(garbage=True, only="lldp"):
        _fails(seat.device.lldp, "")
    with seat.fault(flood_mb=100, only="lldp"):
        _fails(seat.device.lldp, "")  # too long, or on a busy machine too late: whichever comes first
    with seat.fault(hang=True, only="lldp"):
        start = time.monotonic()
        _fails(seat.open(timeout_s=3.0).lldp, "in time")
        assert time.monotonic() - start < 60
    assert seat.device.lldp()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 400 * 1024, "KiB"


def facts(seat: Seat) -> None:
    assert seat.device.version().hostname == seat.name
    assert any(it.state == "established" and it.received for it in seat.device.bgp())
    widest = max(len(route.next_hops) for route in seat.device.routes())
    assert widest > 1 if seat.target == "fboss" else widest, "the rack switch has several ways up"
    heard = {it.port for it in seat.device.lldp()}
    up = {it.name for it in seat.device.interfaces() if it.oper_up}
    assert heard
    assert heard <= up


def _apply_by_hand(other: Any, text: bytes) -> None:
    other._connection.put("/mnt/flash/by-hand", text, 0o600)
    for command in (
        "configure session hand",
        "rollback clean-config",
        "copy file:/mnt/flash/by-hand session-config",
        "commit",
    ):
        other._connection.cli(command)
    other._connection.remove("/mnt/flash/by-hand")


def _files(device: Any) -> Any:
    return device._connection


def _fails(call: Callable[[], object], words: str) -> None:
    try:
        call()
    except DeviceError as error:
        assert words in str(error), error
        assert "\n" not in str(error)
    else:
        raise AssertionError("it did not fail")


def _refuses(call: Callable[[], object], words: str) -> None:
    try:
        call()
    except DeviceRefusedError as error:
        assert words in str(error), error
    else:
        raise AssertionError("it was not refused")


SCENARIOS = {
    it.__name__: it for it in (confirmed, expired, rolled_back, refused, moved, foreign, full, renamed, spoilt, facts)
}


def main(name: str, switch: str, address: str, folder: str) -> None:
    """Run one scenario; nothing of ours may be left on the switch after it."""
    seat = Seat(switch, address, Path(folder))
    SCENARIOS[name](seat)
    assert seat.leftovers() == []
    seat.device.close()


if __name__ == "__main__":
    main(*sys.argv[1:5])
