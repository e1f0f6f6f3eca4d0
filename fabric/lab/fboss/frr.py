"""FRR's bgpd as the box's BGP daemon: stop it, start it with a configuration, ask it."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from fabric.errors import FabricError
from fabric.lab import frr, proc
from fabric.lab.fboss import kernel
from fabric.lab.fboss.node import Node

_STOP_S = 5.0
_POLL_S = 0.02


def end(pid: int) -> None:
    """End a process: politely, then for sure. Nothing happens when it is gone."""
    started = proc.start_time(pid)
    for number in (signal.SIGTERM, signal.SIGKILL):
        limit = time.monotonic() + _STOP_S
        while started and proc.start_time(pid) == started and time.monotonic() < limit:
            os.kill(pid, number)
            time.sleep(_POLL_S)


def bgpd_pid(node: Node) -> int | None:
    """The running bgpd of the box."""
    if not frr.running(node.frr, "bgpd"):
        return None
    pid = int((frr.run_dir(node.frr) / "bgpd.pid").read_text(encoding="ascii"))
    return pid if proc.alive(pid) else None


def stop_bgpd(node: Node) -> None:
    """End the box's bgpd, if it runs."""
    pid = bgpd_pid(node)
    if pid is not None:
        end(pid)


def start_bgpd(node: Node, conf: str) -> None:
    """Start bgpd with `conf`; FabricError with FRR's own words when it does not take a line or does not come up."""
    frr.prepare(node.frr)
    trial = node.state("bgpd.trial.conf")
    trial.write_text(conf, encoding="utf-8")
    done = kernel.run(("/usr/lib/frr/bgpd", "-C", "-f", str(trial)))
    said = [line for line in (done.stdout + done.stderr).splitlines() if "%" in line or "error" in line.lower()]
    if done.returncode or said:
        raise FabricError(f"FRR does not take the configuration: {said[0] if said else done.returncode}")
    frr.start(node.frr, ("bgpd",), text=conf)


def ask(node: Node, command: str) -> Any:
    """The JSON answer of a `show` command of bgpd; FabricError when there is none."""
    return frr.show_json(node.frr, command)
