"""Is the subnet well after a change on one of its SM hosts? From what the host tells: SMs, log, standard output, P_Key tables.

Only what the change can have done counts. A host of a partition that is down is in the log as `not found`, a bad cable as `ERR`: neither
says anything against the files; `fabric validate` is there for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabric.targets.device import DeviceError
from fabric.targets.opensm.problem import hidden

_SM = re.compile(r"sm guid 0x([0-9a-fA-F]{1,16}), activity count \d+ priority (\d{1,2}) state (\d) ")
_ENGINE = re.compile(r"\b(\S+) tables configured on all switches")
_PKEYS = re.compile(r"^ *\d+:((?: 0x[0-9a-fA-F]{4})+)\s*$")
_STANDBY, _MASTER = 2, 3
_FATAL = (
    "Errors during initialization", "No routing engine able", "cannot find or setup routing engine",
    "artition configuration in error", "PARSE ERROR", "PARSE WARN", "ERR A", "ERR 2F18", "Failed to setup routing engine",
)  # fmt: skip
_HARMLESS = ("routing engine 'no_fallback'",)
"""opensm says this whenever the fallback to MinHop is forbidden, and forbids it."""
_TRANSIENT = ("Errors during initialization",)
"""No fault any more once a later sweep has brought the subnet up."""


@dataclass(frozen=True, slots=True)
class Sm:
    """One SM as `sminfo` tells it: its port GUID, priority, state (1 discovering, 2 standby, 3 master)."""

    guid: int
    priority: int
    state: int


@dataclass(frozen=True, slots=True)
class Look:
    """What `look_now` or `look_since` printed. `since`: log, standard output and P_Keys were looked at too."""

    runs: bool
    own: Sm | None
    master: Sm | None
    since: bool = False
    log: Sequence[str] = ()
    stdout: Sequence[str] = ()
    pkeys: Mapping[int, frozenset[int]] = field(default_factory=dict)

    def stopped(self) -> list[str]:
        """What is wrong on a host that is to run no opensm."""
        return ["opensm runs, and it has no opensm.conf"] if self.runs else []


def read_look(answer: str, name: str) -> Look:
    """Reads the answer; DeviceError when it is none."""
    lines = answer.splitlines()
    if not lines or lines[-1] != "@end":
        raise DeviceError(f"{name}: it does not tell how its subnet manager is")
    section, guid = "", 0
    values: dict[str, str] = {}
    log: list[str] = []
    stdout: list[str] = []
    pkeys: dict[int, set[int]] = {}
    for line in lines:
        if line.startswith("@"):
            section, _, rest = line.partition(" ")
            values[section] = rest.strip()
            guid = int(rest, 16) if section == "@pkeys" and re.fullmatch(r"[0-9a-f]{16}", rest) else 0
        elif section == "@log":
            log.append(line.strip())
        elif section == "@stdout":
            stdout.append(line.strip())
        elif section == "@pkeys" and (found := _PKEYS.match(line)):
            pkeys.setdefault(guid, set()).update(int(word, 16) for word in found[1].split())
    tables = {port: frozenset(found - {0}) for port, found in pkeys.items()}
    own, master = _sm(values.get("@own", "")), _sm(values.get("@master", ""))
    return Look(bool(values.get("@pids")), own, master, "@log" in values, log, stdout, tables)


def _sm(line: str) -> Sm | None:
    found = _SM.search(line)
    return Sm(int(found[1], 16), int(found[2]), int(found[3])) if found else None


def problems(look: Look, engine: str, tables: Mapping[int, frozenset[int]]) -> list[str]:
    """What is wrong, one sentence each. `engine` is the first one declared; `tables`: the P_Keys that ports of a sample must hold."""
    if not look.runs:
        return [*_said(look), "opensm does not run"]
    if look.own is None:
        return [*_said(look), "the subnet manager does not answer (sminfo)"]
    found = _place(look.own, look.master) + _said(look)
    if look.since and look.own.state == _MASTER:
        found += _subnet(look.log, engine) + _partitions(look.pkeys, tables)
    return found


def _place(own: Sm, master: Sm | None) -> list[str]:
    """The SM of the highest priority must be master (of equal ones that of the lowest GUID), every other one standby."""
    if own.state not in (_STANDBY, _MASTER):
        return ["the subnet manager is neither master nor standby yet"]
    if master is None or master.state != _MASTER:
        return ["the subnet has no master that answers"]
    first = (-own.priority, own.guid) <= (-master.priority, master.guid)
    if own.state == _STANDBY and first:
        return [
            f"it is standby of 0x{master.guid:016x}, whose priority {master.priority} is not above its own {own.priority}"
        ]
    if own.state == _MASTER and master.guid != own.guid:
        return [f"it says that it is master, and its port that 0x{master.guid:016x} is"]
    return []


def _said(look: Look) -> list[str]:
    """Lines of the log and of standard output that say that a file was not taken as it is."""
    up = max((at for at, line in enumerate(look.log) if "SUBNET UP" in line), default=-1)
    found = [
        line
        for at, line in enumerate(look.log)
        if any(word in line for word in _FATAL)
        and not any(word in line for word in _HARMLESS)
        and not (at < up and any(word in line for word in _TRANSIENT))
    ]
    return [f"opensm says: {_plain(line)}" for line in dict.fromkeys([*look.stdout, *found])]


def _subnet(log: Sequence[str], engine: str) -> list[str]:
    if not any("SUBNET UP" in line for line in log):
        return ["no SUBNET UP in its log since the change"]
    used = [found[1] for line in log if (found := _ENGINE.search(line))]
    if used and used[-1] != engine:
        return [f"the subnet is routed by {_plain(used[-1])}, and {engine} is declared"]
    return [] if used else [f"its log does not say that {engine} has routed the subnet"]


def _partitions(pkeys: Mapping[int, frozenset[int]], tables: Mapping[int, frozenset[int]]) -> list[str]:
    """Ports that hold other P_Keys than their partitions say. A port that did not answer (its host is down) is not judged."""
    wrong = {guid: (pkeys[guid], want) for guid, want in tables.items() if guid in pkeys and pkeys[guid] != want}
    return [
        f"port 0x{guid:016x} holds P_Keys {_hex(has)}, and {_hex(want)} are declared"
        for guid, (has, want) in wrong.items()
    ]


def _hex(pkeys: frozenset[int]) -> str:
    return " ".join(f"0x{pkey:04x}" for pkey in sorted(pkeys)) or "none"


def _plain(line: str) -> str:
    """A line of the host, without its time and control characters, cut."""
    text = "".join(c if c.isprintable() else "?" for c in line.partition("-> ")[2] or line)
    return hidden(text.strip())[:160]
