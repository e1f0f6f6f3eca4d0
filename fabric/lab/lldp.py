"""lldpd of a node: one daemon with its own socket, which announces the port names of the network operating system."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab.names import MANAGEMENT
from fabric.lab.proc import run

CONFIG = "/etc/lldpd.conf"
"""Where a node has it. Not in the lab's folder: Debian's lldpcli gives up root's rights, and that folder is root's alone."""

TX_INTERVAL_S = 2
"""Seconds between announcements: a new cable is heard soon, and dozens of daemons still idle. One heard is kept for ten of them."""


def config_text(name: str, kind: str, ports: Mapping[str, str], description: str) -> str:
    """What lldpcli reads when lldpd starts. `ports`: NOS port name -> Linux name."""
    lines = [
        f"configure system hostname {name}",
        f'configure system description "{description}"',
        f"configure lldp tx-interval {TX_INTERVAL_S}",
        "configure lldp tx-hold 10",
    ]
    if kind == "host":
        lines.append("configure lldp portidsubtype ifname")
    else:
        lines += [line for port, linux in ports.items() for line in port_lines(port, linux)]
    return "\n".join([*lines, "resume", ""])


def port_lines(port: str, linux: str, description: str = "") -> list[str]:
    """The commands that make an interface announce itself under its NOS name; the description is the same name when none is given."""
    return [
        f'configure ports {linux} lldp portidsubtype local "{port}"',
        f'configure ports {linux} lldp portdescription "{description or port}"',
    ]


def argv(socket: str, config: str = CONFIG, management: str = MANAGEMENT) -> list[str]:
    """The command that runs lldpd in the foreground, on data ports only."""
    return [
        "/usr/sbin/lldpd", "-d", "-u", socket, "-O", config,
        "-I", f"*,!{management},!lo", "-C", "!*", "-k", "-M", "4",
    ]  # fmt: skip


def announced(socket: str, linux: str) -> tuple[str, str] | None:
    """Port id and description that an interface announces; None when lldpd does not know the interface, or does not answer."""
    try:
        text = run(
            ["/usr/sbin/lldpcli", "-u", socket, "-f", "json0", "show", "interfaces", "ports", linux], timeout_s=10
        )
        port = json.loads(text)["lldp"][0]["interface"][0]["port"][0]
    except (FabricError, LookupError, ValueError):
        return None
    return _value(port.get("id")) or "", _value(port.get("descr")) or ""


def configure_port(socket: str, port: str, linux: str, description: str, timeout_s: float = 60.0) -> None:
    """Name a port again, after its interface went and came back: as soon as lldpd has seen the new one, some second later.

    FabricError when it does not take the name; nothing is done when no lldpd runs, which learns it as it starts.
    """
    end = time.monotonic() + timeout_s
    while Path(socket).exists() and (announced(socket, linux) or ("", ""))[0] != port:
        if time.monotonic() > end:
            raise FabricError(f"lldpd does not name {linux} {port}")
        time.sleep(0.2)
        if announced(socket, linux) is not None:
            for line in port_lines(port, linux, description):
                run(["/usr/sbin/lldpcli", "-u", socket, *shlex.split(line)], timeout_s=10)


def neighbors(socket: str, timeout_s: float = 10) -> dict[str, list[dict[str, Any]]]:
    """Neighbours by Linux interface name: each with `system`, `port_id`, `port_description`, `chassis_id` (None when not sent).

    Raises FabricError when lldpd does not answer.
    """
    answer = json.loads(
        run(["/usr/sbin/lldpcli", "-u", socket, "-f", "json0", "show", "neighbors"], timeout_s=timeout_s)
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for block in answer.get("lldp", []):
        for interface in block.get("interface", []):
            chassis = (interface.get("chassis") or [{}])[0]
            port = (interface.get("port") or [{}])[0]
            found.setdefault(interface["name"], []).append(
                {
                    "system": _value(chassis.get("name")),
                    "chassis_id": _value(chassis.get("id")),
                    "port_id": _value(port.get("id")),
                    "port_description": _value(port.get("descr")),
                }
            )
    return found


def _value(items: Any) -> str | None:
    if isinstance(items, list) and items and isinstance(items[0], dict):
        value = items[0].get("value")
        return None if value is None else str(value)
    return None
