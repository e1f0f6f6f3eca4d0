"""What the switch's own kernel, FRR and lldpd say: the live half of every show command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from fabric.errors import FabricError
from fabric.lab import frr
from fabric.lab.eos.device import NodeFile


class Sources:
    """Live data of one switch. Everything is asked anew at each call; what does not answer gives an empty answer."""

    def __init__(self, node: NodeFile) -> None:
        self._node = node

    def links(self) -> dict[str, dict[str, Any]]:
        """`ip -s addr` by Linux interface name."""
        return {link["ifname"]: link for link in _json(["ip", "-j", "-s", "addr", "show"]) or [] if link.get("ifname")}

    def frr(self, command: str) -> dict[str, Any]:
        """`COMMAND json` of vtysh; {} when FRR does not answer or has no BGP."""
        try:
            answer = frr.show_json(self._node.frr, command)
        except (FabricError, OSError, subprocess.SubprocessError):
            return {}
        return answer if isinstance(answer, dict) else {}

    def neighbors(self) -> list[dict[str, Any]]:
        """LLDP neighbours as `lldpcli -f json0` gives them: one entry each, with `name` = Linux interface."""
        if not self._node.lldp_socket:
            return []
        answer = _json(["/usr/sbin/lldpcli", "-u", self._node.lldp_socket, "-f", "json0", "show", "neighbors"]) or {}
        return [one for block in answer.get("lldp", []) for one in block.get("interface", [])]


def _json(argv: Sequence[str]) -> Any:
    try:
        done = subprocess.run(list(argv), capture_output=True, text=True, timeout=20, check=False)  # noqa: S603
        return json.loads(done.stdout) if done.stdout.strip() else None
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
