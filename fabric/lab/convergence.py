"""Is the lab up: daemons, BGP sessions, routes, LLDP; and what `fabric lab status` says of a node."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab import frr, lldp
from fabric.lab.plant import Plant
from fabric.lab.proc import run

OFF = "it is off"


def node_status(plant: Plant, name: str, now: float) -> dict[str, Any]:
    """One node: kind, management address, uptime in seconds, daemons that run, established and expected sessions, and in words what it
    lacks to be converged ("" when nothing).
    """
    item = plant.nodes[name]
    running = plant.running.get(name)
    if running is None:
        return {"name": name, "kind": item["kind"], "management": item["management"], "state": "off", "missing": OFF}
    mine = {daemon for daemon in running.daemons if plant.daemon_runs(name, daemon)}
    others = {comm for comm in plant.processes(name).values() if comm in frr.DAEMONS}
    return {
        "name": name, "kind": item["kind"], "role": item["role"], "management": item["management"].split("/")[0], "state": "on",
        "uptime_s": round(now - running.since, 1), "daemons": sorted(mine | others),
        "dead": sorted(set(running.daemons) - mine),
        "sessions": len(established(name) & set(item["sessions"])), "sessions_expected": len(item["sessions"]),
        "missing": _missing(plant, name, daemons_only=False),
    }  # fmt: skip


def established(name: str) -> set[str]:
    """Addresses of the BGP neighbours whose session is established; empty when bgpd does not answer."""
    try:
        answer = json.loads(frr.ask(name, "bgpd", "show bgp summary json") or "{}")
    except (FabricError, ValueError):
        return set()
    return {
        peer
        for family in answer.values()
        if isinstance(family, dict)
        for peer, state in family.get("peers", {}).items()
        if state.get("state") == "Established"
    }


def missing(plant: Plant, names: Sequence[str], *, daemons_only: bool) -> dict[str, str]:
    """What each of the nodes still lacks, in words; nodes that lack nothing are left out."""
    found = {name: _missing(plant, name, daemons_only=daemons_only) for name in names}
    return {name: words for name, words in found.items() if words}


def _missing(plant: Plant, name: str, *, daemons_only: bool) -> str:
    running = plant.running.get(name)
    if running is None:
        return OFF
    dead = [daemon for daemon in running.daemons if not plant.daemon_runs(name, daemon)]
    if dead:
        return f"{', '.join(dead)} ended: {_last_line(plant.log(name, dead[0]))}"
    waiting = plant.not_ready(name)
    if waiting or daemons_only:
        return waiting
    item = plant.nodes[name]
    away = set(item["sessions"]) - established(name) if item["sessions"] else set()
    if away:
        return f"BGP sessions to {_some(sorted(away))} are not established"
    without = _without_route(name, item["reach"])
    if without:
        return f"no routes to {_some(without)}"
    unheard = _unheard(plant, name) if item["kind"] != "host" else []
    return f"nothing heard by LLDP on {_some(unheard)}" if unheard else ""


def _unheard(plant: Plant, name: str) -> list[str]:
    """Ports with a carrier on which lldpd has not heard the name of the port at the other end of the cable."""
    up = {link["ifname"] for link in json.loads(run(["ip", "-n", name, "-j", "link"])) if "LOWER_UP" in link["flags"]}
    try:
        heard = lldp.neighbors(plant.settings(name)["lldp_socket"])
    except FabricError:
        heard = {}
    found = []
    for port, linux in plant.nodes[name]["ports"].items():
        far = plant.far((name, linux)) if linux in up else None
        wanted = far and plant.port_name(far).partition(":")[2]
        if wanted and wanted not in {entry["port_id"] for entry in heard.get(linux, [])}:
            found.append(port)
    return found


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "it said nothing"


def _without_route(name: str, addresses: Sequence[str]) -> list[str]:
    """Those of the addresses to which a node has no route. One process for all: a lab asks for thousands."""
    found = []
    for family in ("-4", "-6"):
        asked = [address for address in addresses if (":" in address) == (family == "-6")]
        if not asked:
            continue
        done = subprocess.run(  # noqa: S603 - our own argument lists
            ["ip", "-n", name, family, "-force", "-batch", "-"],  # noqa: S607
            input="".join(f"route get {address}\n" for address in asked), capture_output=True, text=True, check=False,
        )  # fmt: skip
        numbers = [line.rsplit(":", 1)[1] for line in done.stderr.splitlines() if line.startswith("Command failed")]
        found += [asked[int(number) - 1] for number in numbers]
    return found


def _some(items: Sequence[str]) -> str:
    return ", ".join(items[:3]) + (f" and {len(items) - 3} more" if len(items) > 3 else "")
