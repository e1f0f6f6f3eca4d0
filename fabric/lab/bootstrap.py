"""What a switch has before the tool ever touched it (`fabric lab up --blank`): reachable by SSH, and nothing else.

Made from the rendered files, so that names and addresses are those of the spec.
"""

from __future__ import annotations

import json
import re

from fabric.lab.fboss.install import blank_agent

_KEPT = re.compile(
    r"(hostname |username |vrf instance |interface Management\d|ip route vrf |management ssh$|no aaa root$)"
)


def reduced(kind: str, path: str, content: bytes) -> bytes | None:
    """The part of a rendered file that a new switch already has; None = no such file."""
    if kind == "eos":
        return _eos(content.decode()).encode()
    return _fboss(content) if path == "/etc/coop/agent.conf" else None


def _eos(text: str) -> str:
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        if not line.startswith((" ", "!")):
            inside = _KEPT.match(line) is not None
        if inside and not line.startswith("!"):
            kept.append(line)
    return "\n".join([*kept, "end", ""])


def _fboss(content: bytes) -> bytes:
    """An agent.conf without a port: the platform's settings stay, since they belong to the box."""
    return json.dumps(blank_agent(json.loads(content)), indent=2).encode()
