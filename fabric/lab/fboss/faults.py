"""Faults of a box, for tests of what manages it: NODE_DIR/faults.json, looked at on every command.

{"refuse_reload": true}  the agent refuses every reload;
{"keep": ["sw.ports[0].description", ...]}  the agent takes a reload, but these places keep their old values (true: all of them do);
{"agent_down": true}, {"qsfp_down": true}  nobody answers at that daemon's port;
{"garbage": true}, {"hang": true}, {"flood_mb": 100}  what fboss2 prints instead of an answer; "only": REGEX limits these to commands
whose words match.
"""

from __future__ import annotations

import copy
import os
import re
import select
import sys
from collections.abc import Sequence
from typing import Any

from fabric.lab.fboss.node import Node

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_HANG_MS = 3_600_000
_MB = 1 << 20


def keep_old(new: dict[str, Any], old: dict[str, Any], keep: object) -> dict[str, Any]:
    """`new`, with the values of `old` at the places that `keep` names."""
    if not keep:
        return new
    if keep is True:
        return old
    made = copy.deepcopy(new)
    for path in keep if isinstance(keep, list) else [keep]:
        steps: list[str | int] = [word if word else int(index) for word, index in _STEP.findall(str(path))]
        try:
            value, place = _at(old, steps), _at(made, steps[:-1])
            place[steps[-1]] = copy.deepcopy(value)
        except (KeyError, IndexError, TypeError):
            continue  # one of the two has no such place
    return made


def _at(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        value = value[step]
    return value


def spoil_output(node: Node, words: Sequence[str]) -> bool:
    """Act on faults of the command line for the command of these `words`; True when it has had its (bad) answer."""
    found = node.faults()
    if not re.search(str(found.get("only") or ""), " ".join(words)):
        return False
    if found.get("hang"):
        watch = select.poll()
        watch.register(sys.stdout.fileno(), 0)  # only errors: the reader has gone
        watch.poll(_HANG_MS)
        return True
    if found.get("garbage"):
        sys.stdout.buffer.write(b"\x00\xff{]not json\x1b[2J" + os.urandom(64) + b"\n")
        return True
    if found.get("flood_mb"):
        for _ in range(int(found["flood_mb"])):
            sys.stdout.buffer.write(b"x" * _MB)
        return True
    return False
