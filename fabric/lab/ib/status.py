"""What `fabric lab status` tells of an InfiniBand lab: the logs of the SMs, and what they answer over the simulated fabric."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from fabric.lab.ib import client, form
from fabric.lab.ib.managers import Managers
from fabric.lab.ib.places import SmPlace
from fabric.lab.ib.simulator import Simulator

_LID = re.compile(r"^Lid:\.+(\d+)$", re.MULTILINE)
_SMINFO = re.compile(r"priority (\d+) state \d+ SMINFO_([A-Z]+)")


def status(folder: Path, simulator: Simulator, managers: Managers) -> dict[str, Any]:
    """The simulator's state and each SM host's."""
    managers.look()
    hosts = [_manager(folder, managers, item) for item in managers.lab["managers"]]
    size = managers.lab["size"]
    return {
        "simulator": {"runs": simulator.runs(), "pid": simulator.pid, "nodes": size["nodes"], "switches": size["switches"]},
        "managers": hosts,
    }  # fmt: skip


def _manager(folder: Path, managers: Managers, item: dict[str, Any]) -> dict[str, Any]:
    host = item["host"]
    life = managers.lives.get(host)
    answer = _asked(folder, managers, item) if life is not None else {}
    up_s = None if life is None or life.up_after_s is None else round(life.up_after_s, 2)
    return {
        "host": host, "hca": item["hca"], "guid": item["guid"], "address": item["address"], "priority": item["priority"],
        "runs": life is not None, "pid": managers.pid(host), "state": life.state if life else "",
        "uptime_s": round(time.monotonic() - life.since, 1) if life else None, "subnet_up_after_s": up_s,
        "problem": life.problem if life else managers.ended.get(host, ""), "answers": answer,
        "for_the_simulator": form.changes_of(SmPlace.of(folder, host)),
    }  # fmt: skip


def _asked(folder: Path, managers: Managers, item: dict[str, Any]) -> dict[str, Any]:
    """LID, priority and state as the SM itself answers by MADs, from its own HCA; {} when it does not."""
    env = client.environment(managers.lab["socket"], item["node"])
    port = _LID.search(client.run_tool(["smpquery", "-D", "portinfo", "0", "1"], env, folder / "work", 5.0))
    if port is None:
        return {}
    said = _SMINFO.search(client.run_tool(["sminfo", port[1]], env, folder / "work", 5.0))
    found: dict[str, Any] = {"lid": int(port[1])}
    return {**found, "priority": int(said[1]), "state": said[2].lower()} if said else found
