"""What the kernel of the box has now, read with `ip -j`; and how commands are run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

MANAGEMENT = "ma0"
_TIMEOUT_S = 20


class LinkState(NamedTuple):
    """One interface of the kernel: administratively up, carrier, MTU, alias, addresses (link-local ones apart), counters."""

    up: bool
    carrier: bool
    mtu: int
    alias: str
    mac: str
    addresses: frozenset[str]
    link_local: tuple[str, ...]
    rx: Mapping[str, int]
    tx: Mapping[str, int]


def run(command: Sequence[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command of the system to its end; its output as text. Raises OSError or subprocess.TimeoutExpired."""
    return subprocess.run(  # noqa: S603 - fixed names of system commands, no shell
        list(command), input=stdin, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, errors="replace"
    )


def ip_json(*words: str) -> list[dict[str, Any]]:
    """The answer of `ip -j WORDS`; [] when it has none."""
    found = json.loads(run(("ip", "-j", *words)).stdout or "[]")
    return [row for row in found if row]


def links() -> dict[str, LinkState]:
    """All interfaces by Linux name."""
    return {row["ifname"]: _link(row) for row in ip_json("-s", "addr", "show")}


def _link(row: dict[str, Any]) -> LinkState:
    found = [(one["local"], one["prefixlen"], one.get("scope")) for one in row.get("addr_info", []) if "local" in one]
    flags = row.get("flags", [])
    stats = row.get("stats64", {})
    return LinkState(
        up="UP" in flags,
        carrier="LOWER_UP" in flags and "UP" in flags,
        mtu=row.get("mtu", 0),
        alias=row.get("ifalias", ""),
        mac=row.get("address", ""),
        addresses=frozenset(f"{text}/{length}" for text, length, scope in found if scope not in ("link", "host")),
        link_local=tuple(text for text, _, scope in found if scope == "link"),
        rx=stats.get("rx", {}),
        tx=stats.get("tx", {}),
    )


def static_routes() -> dict[str, frozenset[str]]:
    """Routes that the agent made (protocol static, not over the management interface): prefix -> next hops, none = discard."""
    made: dict[str, frozenset[str]] = {}
    for family in ("-4", "-6"):
        for row in ip_json(family, "route", "show", "proto", "static"):
            if row.get("dev") != MANAGEMENT:
                made[full_prefix(row["dst"], family)] = frozenset(hop["gateway"] for hop in hops_of(row))
    return made


def hops_of(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The next hops of a route of `ip -j route` that have a gateway: gateway, dev, weight."""
    found = row.get("nexthops") or [row]
    made = []
    for hop in found:
        via = hop.get("via") or {}
        gateway = hop.get("gateway") or via.get("host")
        if gateway:
            made.append({"gateway": gateway, "dev": hop.get("dev", ""), "weight": hop.get("weight", 1)})
    return made


def full_prefix(dst: str, family: str) -> str:
    """`ip` leaves out the length of host routes, and says "default"."""
    if dst == "default":
        return "0.0.0.0/0" if family == "-4" else "::/0"
    return dst if "/" in dst else f"{dst}/{32 if family == '-4' else 128}"
