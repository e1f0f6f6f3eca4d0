"""systemctl of the box: the agent and bgpd are real processes, the other daemons are only on record.

Words and exit codes are systemd's: is-active 0 only for active (else 3), 5 for a unit that is not there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from fabric.errors import FabricError
from fabric.lab import proc
from fabric.lab.fboss import client, frr, timers
from fabric.lab.fboss.node import Node

_PRETEND = (
    "qsfp_service", "fsdb", "led_service", "platform_manager", "sensor_service", "fan_service", "data_corral_service", "fboss_init",
)  # fmt: skip
_START_S = 20.0
_POLL_S = 0.05
_NOT_ACTIVE, _NO_UNIT = 3, 5


class Units:
    """The units of one box."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.agent = "fboss_sw_agent" if node.split else "wedge_agent"
        self.names = [self.agent, *(["fboss_hw_agent@0"] if node.split else []), "bgpd", *_PRETEND]

    def _record(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._node.state("units.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found

    def _note(self, unit: str, stopped: bool) -> None:
        found = {**self._record(), unit: {"stopped": stopped, "since": time.monotonic()}}
        self._node.state("units.json").write_text(json.dumps(found), encoding="utf-8")

    def pid(self, unit: str) -> int:
        """The main process; 0 when there is none, or the unit is only on record."""
        if unit == "bgpd":
            return frr.bgpd_pid(self._node) or 0
        if unit != self.agent:
            return 0
        try:
            pid = int(self._node.state("agent.pid").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0
        return pid if any("fabric.lab.fboss" in word for word in proc.cmdline(pid)) and proc.alive(pid) else 0

    def state(self, unit: str) -> str:
        """active, inactive or failed; inactive for a unit that is not there, as systemd says."""
        name, _, kind = unit.rpartition(".")
        if kind == "timer":
            return "active" if name in timers.timers(self._node) else "inactive"
        if unit not in self.names:
            return "active" if timers.running(self._node, unit) else "inactive"
        if self._record().get(unit, {}).get("stopped"):
            return "inactive"
        faults = self._node.faults()
        down = (unit in (self.agent, "fboss_hw_agent@0") and faults.get("agent_down")) or (
            unit == "qsfp_service" and faults.get("qsfp_down")
        )
        real = unit in (self.agent, "bgpd")
        return "failed" if down or (real and not self.pid(unit)) else "active"

    def since(self, unit: str) -> float:
        """Monotonic seconds of the last start by hand; 0 = since power-on."""
        return float(self._record().get(unit, {}).get("since", 0.0))

    def stop(self, unit: str) -> None:
        """End the unit's process."""
        pid = self.pid(unit)
        if pid:
            frr.end(pid)
        self._note(unit, stopped=True)

    def start(self, unit: str) -> None:
        """Start the unit unless it is active. As with a simple service, that it started does not say that it stayed."""
        self._note(unit, stopped=False)
        if unit == self.agent and not self.pid(unit):
            self._start_agent()
        elif unit == "bgpd" and not self.pid(unit):
            from fabric.lab.fboss import bgp

            try:
                bgp.restart(self._node)
            except FabricError:
                return  # it is in the journal, and the unit is failed

    def _start_agent(self) -> None:
        log = self._node.state("journal.log").open("ab")
        words = [sys.executable, "-S", "-P", "-m", "fabric.lab.fboss.agent", str(self._node.folder)]
        child = subprocess.Popen(  # noqa: S603 - ourselves
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
            env=dict(os.environ),
        )
        limit = time.monotonic() + _START_S
        while child.poll() is None and time.monotonic() < limit:
            if client.socket_path(self._node).exists() and self.pid(self.agent) == child.pid:
                try:
                    client.ask(self._node, {"op": "ping"})
                except client.ThriftError:
                    time.sleep(_POLL_S)
                    continue
                return
            time.sleep(_POLL_S)


def plain(unit: str) -> str:
    """`bgpd.service` -> `bgpd`; a timer keeps its suffix."""
    return unit.removesuffix(".service")


def _say(text: str, *, error: bool = False) -> None:
    print(text, file=sys.stderr if error else sys.stdout)


def _change(node: Node, verb: str, names: Sequence[str]) -> int:
    units = Units(node)
    for name in map(plain, names):
        if name.endswith(".timer"):
            if verb != "stop" or not timers.stop(node, name.removesuffix(".timer")):
                _say(f"Failed to {verb} {name}: Unit {name} not loaded.", error=True)
                return _NO_UNIT
            continue
        if name not in units.names:
            missing = f"Unit {name}.service not loaded." if verb == "stop" else f"Unit {name}.service not found."
            _say(f"Failed to {verb} {name}.service: {missing}", error=True)
            return _NO_UNIT
        if verb in ("stop", "restart"):
            units.stop(name)
        if verb in ("start", "restart"):
            units.start(name)
    return 0


def _is_active(node: Node, names: Sequence[str], *, quiet: bool) -> int:
    states = [Units(node).state(plain(name)) for name in names]
    if not quiet:
        _say("\n".join(states))
    return 0 if "active" in states else _NOT_ACTIVE


def _properties(node: Node, name: str) -> dict[str, str]:
    units, unit = Units(node), plain(name)
    state = units.state(unit)
    full = unit if unit.endswith(".timer") else f"{unit}.service"
    loaded = unit in units.names or state == "active"
    start = units.since(unit)
    return {
        "Id": full,
        "Names": full,
        "LoadState": "loaded" if loaded else "not-found",
        "ActiveState": state,
        "SubState": {"active": "waiting" if full.endswith(".timer") else "running", "failed": "failed"}.get(
            state, "dead"
        ),
        "MainPID": str(units.pid(unit)),
        "NRestarts": "0",
        "ExecMainStartTimestampMonotonic": str(int(start * 1_000_000)),
        "Result": "exit-code" if state == "failed" else "success",
    }


def _show(node: Node, names: Sequence[str], wanted: list[str], *, value: bool) -> int:
    blocks = []
    for name in names:
        found = _properties(node, name)
        rows = [(key, found[key]) for key in (wanted or found) if key in found]
        blocks.append("\n".join(text if value else f"{key}={text}" for key, text in rows))
    _say("\n\n".join(blocks))
    return 0


def _status(node: Node, names: Sequence[str]) -> int:
    worst = 0
    for name in names:
        found = _properties(node, name)
        if found["LoadState"] == "not-found":
            _say(f"Unit {found['Id']} could not be found.", error=True)
            worst = max(worst, 4)
            continue
        _say(f"{found['Id']}\n     Loaded: loaded\n     Active: {found['ActiveState']} ({found['SubState']})")
        _say(f"   Main PID: {found['MainPID']}")
        worst = max(worst, 0 if found["ActiveState"] == "active" else _NOT_ACTIVE)
    return worst


def _list_timers(node: Node, *, legend: bool) -> int:
    now, wall = time.monotonic(), time.time()
    rows = timers.timers(node)
    if legend:
        _say("NEXT                        LEFT       LAST PASSED UNIT ACTIVATES")
    for name, row in sorted(rows.items(), key=lambda item: float(item[1]["deadline"])):
        left = max(0.0, row["deadline"] - now)
        next_at = time.strftime("%a %Y-%m-%d %H:%M:%S UTC", time.gmtime(wall + left))
        _say(f"{next_at} {left:.0f}s left -    -      {name}.timer {name}.service")
    if legend:
        _say(f"\n{len(rows)} timers listed.")
    return 0


class _Words:
    """A command line of systemctl, taken apart."""

    def __init__(self, words: Sequence[str]) -> None:
        self.plain: list[str] = []
        self.properties: list[str] = []
        self.flags: set[str] = set()
        rest = iter(words)
        for word in rest:
            key, equals, text = word.partition("=")
            if key in ("-p", "--property"):
                self.properties += (text if equals else next(rest, "")).split(",")
            elif word.startswith("-p") and not word.startswith("--"):
                self.properties += word[2:].split(",")
            elif word.startswith("-"):
                self.flags.add(key)
            else:
                self.plain.append(word)


def main(argv: list[str]) -> int:
    """`systemctl` of the box whose folder is the first argument."""
    try:
        node = Node(argv[1])
    except (FabricError, IndexError) as error:
        _say(str(error), error=True)
        return 1
    words = _Words(argv[2:])
    verb, names = (words.plain or [""])[0], words.plain[1:]
    quiet = bool(words.flags & {"-q", "--quiet"})
    verbs: dict[str, Callable[[], int]] = {
        "is-active": lambda: _is_active(node, names, quiet=quiet),
        "is-failed": lambda: int("failed" not in [Units(node).state(plain(name)) for name in names]),
        "show": lambda: _show(node, names, words.properties, value="--value" in words.flags),
        "status": lambda: _status(node, names),
        "list-timers": lambda: _list_timers(node, legend="--no-legend" not in words.flags),
        "daemon-reload": lambda: 0,
        "reset-failed": lambda: 0,
        **{verb: (lambda verb=verb: _change(node, verb, names)) for verb in ("start", "stop", "restart")},  # type: ignore[misc]
    }
    if verb not in verbs:
        _say(f"Unknown command verb '{verb}'.", error=True)
        return 1
    if not names and verb in ("is-active", "start", "stop", "restart"):
        _say("Too few arguments.", error=True)
        return 1
    return verbs[verb]()


if __name__ == "__main__":
    sys.exit(main(sys.argv))
