"""Which files of an SM host are in force: what the running opensm is known to have read, against what lies on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fabric.targets.device import DeviceError
from fabric.targets.opensm.device_scripts import CONF
from fabric.targets.swap import sha256

NOTE = "# not in force: "
"""Begins the line that stands for "this file is on disk, and opensm runs something else" where files are compared."""
_SLACK_S = 1
"""The start of a process is known to the second."""


@dataclass(frozen=True, slots=True)
class State:
    """What `device_scripts.state_script` prints.

    `now`: the identity of the running opensm ("" when none runs); `started`: its start in epoch seconds; `loaded` and `sums`: the opensm
    that fabric last saw reading files, and the sums of these by path; `noted`: when that was; `written`: when each file came to be (ctime)
    and was written (mtime).
    """

    now: str
    started: int
    loaded: str
    sums: Mapping[str, str]
    noted: int
    written: Mapping[str, tuple[int, int]]


def read_state(answer: str, name: str) -> State:
    """Reads the answer; DeviceError when it is none."""
    lines = answer.splitlines()
    if not lines or lines[-1] != "@end":
        raise DeviceError(f"{name}: it does not tell which opensm runs")
    section, now, started, noted, loaded = "", "", 0, 0, ""
    sums: dict[str, str] = {}
    written: dict[str, tuple[int, int]] = {}
    for line in lines[:-1]:
        if line.startswith("@"):
            section, _, rest = line.partition(" ")
            now = rest.strip() if section == "@now" else now
            started = max(started, int(rest)) if section == "@started" and rest.isdigit() else started
            noted = int(rest) if section == "@noted" and rest.isdigit() else noted
            continue
        first, _, second = line[1:].partition(" ")
        if section == "@written":
            modified, _, path = second.partition(" ")
            if first.isdigit() and modified.isdigit():
                written[path] = (int(first), int(modified))
        elif section == "@loaded" and second.startswith((" /", "*/")):
            sums[second[1:]] = first
        elif section == "@loaded" and not loaded:
            loaded = line.strip()
    return State(now, started, loaded, sums, noted, written)


def not_in_force(etc: str, path: str, content: bytes | None, state: State) -> str:
    """Why a file on disk is not what opensm runs; "" when it is, or when it does not lie in opensm's folder `etc`."""
    if content is None or not path.startswith(f"{etc}/"):
        return ""
    written = state.written.get(path, (0, 0))
    if not state.now:
        return "opensm does not run" if path == f"{etc}/{CONF}" else ""
    if state.loaded == state.now and path in state.sums:
        if state.sums[path] != sha256(content):
            return "it was changed after opensm read it"
        return "" if written[1] <= state.noted else "it was written again after opensm read it"
    if written[0] <= state.started + _SLACK_S:
        return ""
    return "it was written after opensm started"


def in_force(etc: str, path: str, content: bytes | None, state: State) -> bytes | None:
    """The file as far as opensm runs it: its content, after a line that says why when it is not in force."""
    why = not_in_force(etc, path, content, state)
    return f"{NOTE}{why}\n".encode() + (content or b"") if why else content
