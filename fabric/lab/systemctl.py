"""systemctl of a virtual box. What its units are, and what starts and stops them, is for each kind of box to say (`Box`).

Words and exit codes are systemd's: is-active 0 only for active (else 3), 5 for a unit that is not there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from fabric.errors import FabricError
from fabric.lab.fboss import timers
from fabric.lab.fboss.node import Node

_NOT_ACTIVE, _NO_UNIT, _UNKNOWN = 3, 5, 4


class Box(Protocol):
    """One box, with the timers of its node."""

    node: Node

    @property
    def units(self) -> Sequence[str]:
        """The names of its own units, the main one first."""

    @property
    def changes(self) -> Sequence[str]:
        """The verbs that change a unit."""

    def own_state(self, unit: str) -> str:
        """active, inactive or failed, of one of its own units."""

    def pid(self, unit: str) -> int:
        """The main process of one of its own units; 0 when there is none."""

    def change(self, verb: str, unit: str) -> None:
        """Do what the verb says; FabricError when the unit did not take it."""

    def more(self, unit: str) -> dict[str, str]:
        """Further properties that `show` has of a unit."""


def plain(unit: str) -> str:
    """`bgpd.service` -> `bgpd`; a timer keeps its suffix."""
    return unit.removesuffix(".service")


def _error(text: str) -> None:
    print(text, file=sys.stderr)


def _state(box: Box, unit: str) -> str:
    """active, inactive or failed; inactive for a unit that is not there, as systemd says."""
    name, _, kind = plain(unit).rpartition(".")
    if kind == "timer":
        return "active" if name in timers.timers(box.node) else "inactive"
    if plain(unit) in box.units:
        return box.own_state(plain(unit))
    return "active" if timers.running(box.node, plain(unit)) else "inactive"


def _change(box: Box, verb: str, names: Sequence[str]) -> int:
    for name in map(plain, names):
        if name.endswith(".timer"):
            if verb != "stop" or not timers.stop(box.node, name.removesuffix(".timer")):
                _error(f"Failed to {verb} {name}: Unit {name} not loaded.")
                return _NO_UNIT
            continue
        if name not in box.units:
            missing = "not loaded" if verb == "stop" else "not found"
            _error(f"Failed to {verb} {name}.service: Unit {name}.service {missing}.")
            return _NO_UNIT
        try:
            box.change(verb, name)
        except FabricError as error:
            _error(f"Job for {name}.service failed: {error.message}")
            return 1
    return 0


def _is_active(box: Box, names: Sequence[str], *, quiet: bool) -> int:
    states = [_state(box, name) for name in names]
    if not quiet:
        print("\n".join(states))
    return 0 if "active" in states else _NOT_ACTIVE


def _properties(box: Box, name: str) -> dict[str, str]:
    unit, state = plain(name), _state(box, name)
    timer = unit.endswith(".timer")
    full = unit if timer else f"{unit}.service"
    running = {"active": "waiting" if timer else "running", "failed": "failed"}
    return {
        "Id": full,
        "Names": full,
        "LoadState": "loaded" if unit in box.units or state == "active" else "not-found",
        "ActiveState": state,
        "SubState": running.get(state, "dead"),
        "MainPID": str(box.pid(unit)) if unit in box.units else "0",
        **box.more(unit),
        "Result": "exit-code" if state == "failed" else "success",
    }


def _show(box: Box, names: Sequence[str], wanted: Sequence[str], *, value: bool) -> int:
    blocks = []
    for name in names:
        found = _properties(box, name)
        rows = [(key, found[key]) for key in (wanted or found) if key in found]
        blocks.append("\n".join(text if value else f"{key}={text}" for key, text in rows))
    print("\n\n".join(blocks))
    return 0


def _status(box: Box, names: Sequence[str]) -> int:
    worst = 0
    for name in names:
        found = _properties(box, name)
        if found["LoadState"] == "not-found":
            _error(f"Unit {found['Id']} could not be found.")
            worst = max(worst, _UNKNOWN)
            continue
        print(f"{found['Id']}\n     Loaded: loaded\n     Active: {found['ActiveState']} ({found['SubState']})")
        print(f"   Main PID: {found['MainPID']}")
        worst = max(worst, 0 if found["ActiveState"] == "active" else _NOT_ACTIVE)
    return worst


def _list_timers(box: Box, *, legend: bool) -> int:
    now, wall = time.monotonic(), time.time()
    rows = timers.timers(box.node)
    if legend:
        print("NEXT                        LEFT       LAST PASSED UNIT ACTIVATES")
    for name, row in sorted(rows.items(), key=lambda item: float(item[1]["deadline"])):
        left = max(0.0, row["deadline"] - now)
        next_at = time.strftime("%a %Y-%m-%d %H:%M:%S UTC", time.gmtime(wall + left))
        print(f"{next_at} {left:.0f}s left -    -      {name}.timer {name}.service")
    if legend:
        print(f"\n{len(rows)} timers listed.")
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


def run(box: Box, argv: Sequence[str]) -> int:
    """`systemctl ARGV` on a box: prints what systemd would, returns its exit code."""
    words = _Words(argv)
    verb, names = (words.plain or [""])[0], words.plain[1:]
    quiet = bool(words.flags & {"-q", "--quiet"})
    verbs: dict[str, Callable[[], int]] = {
        "is-active": lambda: _is_active(box, names, quiet=quiet),
        "is-failed": lambda: int("failed" not in [_state(box, name) for name in names]),
        "show": lambda: _show(box, names, words.properties, value="--value" in words.flags),
        "status": lambda: _status(box, names or box.units[:1]),
        "list-timers": lambda: _list_timers(box, legend="--no-legend" not in words.flags),
        **dict.fromkeys(("daemon-reload", "reset-failed", "enable"), lambda: 0),
        **dict.fromkeys(box.changes, lambda: _change(box, verb, names)),
    }
    if verb not in verbs:
        _error(f"Unknown command verb '{verb}'.")
        return 1
    if not names and verb in (*box.changes, "is-active"):
        _error("Too few arguments.")
        return 1
    try:
        return verbs[verb]()
    except FabricError as error:
        _error(error.message)
        return 1
