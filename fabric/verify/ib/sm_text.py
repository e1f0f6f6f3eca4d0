"""What an opensm wrote, read into values. It goes on after almost any mistake, and tells some only on its standard output.

The patterns are those of opensm 3.3.23, measured. Both texts may hold several starts, one after the other: only the last one counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fabric.targets.opensm.problem import hidden
from fabric.verify.lldp_names import printable

Topic = Literal["partitions", "engine", "guids", "other"]

_LONGEST = 300
_LONGEST_VALUE = 1022
"""Bytes that opensm reads of a line (reference, section 5.1)."""
_LOADED = re.compile(r"^\s*Loading Cached Option:\s*(\w+) = (.*?)\s*$")
_TOKEN = re.compile(r'^\s*Unrecognized token: "(.*)"\s*$')
_REJECTED = re.compile(r"^\s*(Invalid Cached Option Value:.*|-E- Parsing error in field.*|Warning: Cached Option.*)$")
_LINE = re.compile(r"^\w{3} +\d+ [\d:]+ \d+ \[\w+\] 0x(?P<level>[0-9a-fA-F]+) -> (?P<text>.*)$")
_ENGINE = re.compile(r"\b([\w-]+) tables configured on all switches")
_ROOTS = re.compile(r"Fabric has (\d+) switches at rank 0 \(roots\)")
_CNS = re.compile(r"CA ports \((\d+) of them CNs\)")
_STATE = re.compile(r"-> Entering [A-Z]+ state")
_HARMLESS = re.compile(
    r"Failed to setup routing engine 'no_fallback'|Received SMP on a \d+ hop path|Generic Notice type:\d+ num:(128|144) "
)
"""`no_fallback` is no engine, and does work (reference, section 4.1). A hop path only goes on about the line before. The notices tell that
a link changed its state, and that an SM or a node description did.
"""
_BAD = ("PARSE ", " not found", "Errors during initialization", "No routing engine able to success")
_TOLD = re.compile(
    r"PARSE (ERROR|WARN)|port 0x[0-9a-fA-F]+ not found|Errors during initialization|No routing engine able to success"
)
"""Bad lines that have not the level of an error (0x01)."""
_TOPICS: tuple[tuple[Topic, re.Pattern[str]], ...] = (
    ("partitions", re.compile(r"PARSE (ERROR|WARN)|prtn_|partition", re.IGNORECASE)),
    ("guids", re.compile(r"ERR AB2[0-9A]|guid[ _]file|root guids", re.IGNORECASE)),
    ("engine", re.compile(r"routing_engine|routing engine|ERR AB|ucast_mgr|ftree", re.IGNORECASE)),
)


@dataclass(frozen=True, slots=True)
class Stdout:
    """What the options became: `options` echoed (each differs from its default), `unknown` tokens, `rejected` values, in its own words.

    `unbound`: it could not bind to its port and went away (its exit code is 0 then).
    """

    options: Mapping[str, str]
    unknown: tuple[str, ...]
    rejected: tuple[str, ...]
    unbound: bool


@dataclass(frozen=True, slots=True)
class Complaint:
    """A bad line of the log, without its time; `count` of equal ones."""

    topic: Topic
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Log:
    """What the last start did: `engine` that made the tables last, `roots` and `compute` that ftree counted, bad lines, `verbose` bit seen.

    `up`: the subnet was up. `sweeping`: its last heavy sweep has not ended (told by the VERBOSE bit only).
    Bad lines of sweeps before the last one are history, and left out.
    """

    engine: str | None
    roots: int | None
    compute: int | None
    complaints: tuple[Complaint, ...]
    up: bool
    verbose: bool
    sweeping: bool


def read_stdout(text: str) -> Stdout:
    """Reads the standard output of the last start in `text`."""
    lines = text.splitlines()
    start = max((number for number, line in enumerate(lines) if line.startswith("Config file is")), default=0)
    lines = lines[start:]
    options: dict[str, str] = {}
    for line in lines:
        loaded = _LOADED.match(line)
        if loaded:
            options[loaded.group(1)] = printable(loaded.group(2), _LONGEST_VALUE)
    unknown = _each(match.group(1) for line in lines if (match := _TOKEN.match(line)))
    rejected = _each(match.group(1).strip() for line in lines if (match := _REJECTED.match(line)))
    unbound = any("Error from osm_opensm_bind" in line for line in lines)
    return Stdout(options, unknown, rejected, unbound)


def read_log(text: str) -> Log:
    """Reads the log of the last start in `text`."""
    lines = text.splitlines()
    start = max((number for number, line in enumerate(lines) if "0x80 -> OpenSM " in line), default=0)
    lines = lines[start:]
    engine, roots, cns = (
        _last(lines, "tables configured", _ENGINE),
        _last(lines, "at rank 0", _ROOTS),
        _last(lines, "of them CNs", _CNS),
    )
    if any("No routing engine able to success" in line for line in _last_sweep(lines)):
        engine = None
    verbose = any("0x04 -> " in line for line in lines)
    up = any("SUBNET UP" in line for line in lines)
    return Log(
        engine,
        None if roots is None else int(roots),
        None if cns is None else int(cns),
        _complaints(lines),
        up,
        verbose,
        _sweeping(lines),
    )


def _sweeping(lines: Sequence[str]) -> bool:
    """A heavy sweep that was begun ends with the subnet up, with errors, or with another SM as master."""
    for line in reversed(lines):
        if "INITIATING HEAVY SWEEP" in line:
            return True
        if any(word in line for word in ("SUBNET UP", "Errors during initialization", "-> Entering STANDBY")):
            return False
    return False


def _last(lines: Sequence[str], word: str, pattern: re.Pattern[str]) -> str | None:
    """What the pattern finds in the last line that has it; `word` is in each such line, and quicker to look for."""
    for line in reversed(lines):
        if word in line and (match := pattern.search(line)):
            return str(match.group(1))
    return None


def _complaints(lines: Sequence[str]) -> tuple[Complaint, ...]:
    """Bad lines of the start and of the last sweep; what a sweep between complained of is over."""
    first = next((n for n, line in enumerate(lines) if "Entering DISCOVERING" in line or "HEAVY SWEEP" in line), 0)
    begun = next((n for n, line in enumerate(lines) if "_bind: Setting IS_SM" in line), first)
    counted: dict[tuple[Topic, str], int] = {}
    for line in (*lines[:begun], *_last_sweep(lines[begun:])):
        match = _LINE.match(line) if "] 0x01 -> " in line or any(word in line for word in _BAD) else None
        if match is None:
            continue
        said = hidden(printable(match.group("text").strip(), _LONGEST))
        if not _HARMLESS.search(said) and (match.group("level") == "01" or _TOLD.search(said)):
            topic: Topic = next((name for name, pattern in _TOPICS if pattern.search(said)), "other")
            counted[topic, said] = counted.get((topic, said), 0) + 1
    return tuple(Complaint(topic, said, count) for (topic, said), count in counted.items())


def _last_sweep(lines: Sequence[str]) -> Sequence[str]:
    """The lines of the last heavy sweep and what came after it; without VERBOSE, of all after the last but one SUBNET UP.

    Of an SM that became a standby after that, only what came since: its sweep was as master, and is over.
    """
    states = [number for number, line in enumerate(lines) if "-> Entering " in line and _STATE.search(line)]
    if states and "STANDBY" in lines[states[-1]]:
        return lines[states[-1] + 1 :]
    begins = [number for number, line in enumerate(lines) if "INITIATING HEAVY SWEEP" in line]
    if begins:
        return lines[begins[-1] :]
    ups = [number for number, line in enumerate(lines) if line.endswith("-> SUBNET UP")]
    return lines[ups[-2] + 1 :] if len(ups) > 1 else lines


def _each(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(hidden(printable(item, _LONGEST)) for item in items))
