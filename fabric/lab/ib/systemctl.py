"""systemctl of an SM host: the one unit `opensm`, which the lab's supervisor starts and stops, and the timers of our systemd-run.

Words and exit codes are systemd's: is-active 0 only for active (else 3), 5 for a unit that is not there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab import control
from fabric.lab.fboss import timers
from fabric.lab.fboss.node import Node

UNIT = "opensm"
_NOT_ACTIVE, _NO_UNIT = 3, 5


class Host:
    """One SM host: its folder, and the supervisor behind it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.timers = Node(folder)

    def ask(self, action: str) -> dict[str, Any]:
        """Have the supervisor do something to opensm; FabricError in its words."""
        lab = self.folder.parent.parent
        return control.ask(lab, "daemon", node=self.folder.name, daemon=UNIT, action=action, timeout_s=90)

    def state(self, unit: str) -> str:
        """active, inactive or failed; inactive for what is not there, as systemd says."""
        name, _, kind = unit.rpartition(".")
        if kind == "timer":
            return "active" if name in timers.timers(self.timers) else "inactive"
        if plain(unit) != UNIT:
            return "active" if timers.running(self.timers, plain(unit)) else "inactive"
        answer = self.ask("query")
        return "active" if answer["pid"] else ("failed" if answer["failed"] else "inactive")


def plain(unit: str) -> str:
    """`opensm.service` -> `opensm`."""
    return unit.removesuffix(".service")


def _error(text: str) -> None:
    print(text, file=sys.stderr)


def _change(host: Host, verb: str, names: Sequence[str]) -> int:
    for name in names:
        if name.endswith(".timer"):
            if verb != "stop" or not timers.stop(host.timers, name.removesuffix(".timer")):
                _error(f"Failed to {verb} {name}: Unit {name} not loaded.")
                return _NO_UNIT
            continue
        if plain(name) != UNIT:
            _error(f"Failed to {verb} {plain(name)}.service: Unit {plain(name)}.service not found.")
            return _NO_UNIT
        try:
            host.ask(verb)
        except FabricError as error:
            _error(f"Job for {UNIT}.service failed: {error.message}")
            return 1
    return 0


def _is_active(host: Host, names: Sequence[str], *, quiet: bool) -> int:
    states = [host.state(name) for name in names]
    if not quiet:
        print("\n".join(states))
    return 0 if "active" in states else _NOT_ACTIVE


def _properties(host: Host, unit: str) -> dict[str, str]:
    state = host.state(unit)
    timer = unit.endswith(".timer")
    loaded = plain(unit) == UNIT or state == "active"
    running = {"active": "waiting" if timer else "running", "failed": "failed"}
    return {
        "Id": unit if timer else f"{plain(unit)}.service",
        "LoadState": "loaded" if loaded else "not-found",
        "ActiveState": state,
        "SubState": running.get(state, "dead"),
        "MainPID": str(host.ask("query")["pid"]) if plain(unit) == UNIT else "0",
        "Result": "exit-code" if state == "failed" else "success",
    }


def _show(host: Host, names: Sequence[str], wanted: list[str], *, value: bool) -> int:
    blocks = []
    for name in names:
        found = _properties(host, name)
        rows = [(key, found[key]) for key in (wanted or found) if key in found]
        blocks.append("\n".join(text if value else f"{key}={text}" for key, text in rows))
    print("\n\n".join(blocks))
    return 0


def _status(host: Host, names: Sequence[str]) -> int:
    worst = 0
    for name in names or [UNIT]:
        found = _properties(host, name)
        if found["LoadState"] == "not-found":
            _error(f"Unit {found['Id']} could not be found.")
            worst = 4
            continue
        print(f"{found['Id']}\n     Loaded: loaded\n     Active: {found['ActiveState']} ({found['SubState']})")
        print(f"   Main PID: {found['MainPID']}")
        worst = worst or (0 if found["ActiveState"] == "active" else _NOT_ACTIVE)
    return worst


def _words(argv: Sequence[str]) -> tuple[list[str], list[str], set[str]]:
    """Verb and units, properties asked for, flags."""
    names: list[str] = []
    properties: list[str] = []
    flags: set[str] = set()
    rest = iter(argv)
    for word in rest:
        key, equals, text = word.partition("=")
        if key in ("-p", "--property"):
            properties += (text if equals else next(rest, "")).split(",")
        elif word.startswith("-"):
            flags.add(word)
        else:
            names.append(word)
    return names, properties, flags


def main(argv: list[str]) -> int:
    """`systemctl` of the host whose folder is the first argument."""
    host = Host(Path(argv[1]))
    words, properties, flags = _words(argv[2:])
    verb, names = (words or [""])[0], words[1:]
    quiet = bool(flags & {"-q", "--quiet"})
    changes = {one: (lambda one=one: _change(host, one, names)) for one in ("start", "stop", "restart", "reload")}
    verbs: dict[str, Callable[[], int]] = {
        "is-active": lambda: _is_active(host, names, quiet=quiet),
        "is-failed": lambda: int("failed" not in [host.state(name) for name in names]),
        "show": lambda: _show(host, names, properties, value="--value" in flags),
        "status": lambda: _status(host, names),
        "daemon-reload": lambda: 0,
        "reset-failed": lambda: 0,
        "enable": lambda: 0,
        **changes,
    }
    if verb not in verbs:
        _error(f"Unknown command verb '{verb}'.")
        return 1
    if not names and verb in (*changes, "is-active"):
        _error("Too few arguments.")
        return 1
    try:
        return verbs[verb]()
    except FabricError as error:
        _error(error.message)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
