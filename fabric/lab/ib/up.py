"""Bring an InfiniBand lab up and take it down, from outside of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from fabric.design.ib.model import Subnet
from fabric.errors import FabricError
from fabric.lab import control
from fabric.lab import up as ethernet
from fabric.lab.ib import client, seat
from fabric.lab.ib.managers import OPENSM
from fabric.lab.ib.prepare import prepare
from fabric.lab.state import Lab

PROGRAMS = {"/usr/bin/ibsim": "ibsim-utils", OPENSM: "opensm", "/usr/sbin/ibnetdiscover": "infiniband-diags"}
"""What a lab runs -> the Debian package that has it."""

_POLL_S = 0.05
_DYING_S = 5.0
Say = Callable[[str], None]


def check_machine() -> None:
    """Raises FabricError that says in one line what this machine lacks."""
    missing = sorted({package for program, package in PROGRAMS.items() if shutil.which(program) is None})
    if missing:
        raise FabricError(
            f"an InfiniBand lab needs the packages {', '.join(missing)}", hint=f"apt-get install {' '.join(missing)}"
        )
    client.preload()


def no_namespaces() -> str:
    """Why this lab has no namespaces of its own, and so no SSH to its SM hosts; "" when it has."""
    if os.geteuid() != 0:
        return "without root rights the SM hosts have no SSH: plan and apply cannot reach them"
    if shutil.which("/usr/sbin/sshd") is None:
        return "without the package openssh-server the SM hosts have no SSH: plan and apply cannot reach them"
    refused = ethernet.kernel_refusal()
    return f"{refused}; so the SM hosts have no SSH, and plan and apply cannot reach them" if refused else ""


def up(
    lab: Lab, subnet: Subnet, spec_path: Path, *, blank: bool, aggregation_nodes: bool, timeout_s: float, say: Say
) -> float:
    """Start the lab and wait until the master has the subnet up and every other SM is standby; returns the seconds that it took.

    Raises FabricError when it is up already, cannot start (then nothing of it stays), or is not up in time (then it runs on).
    """
    started = time.monotonic()
    check_machine()
    if not subnet.managers:
        raise FabricError("this spec declares no subnet manager")
    lacking = no_namespaces()
    if lacking:
        say(lacking)
    others = sum(hca.node_guid != hca.port_guid - 1 for hca in subnet.hcas)
    if others:
        say(f"{others} HCAs have another node GUID here: the simulator makes port GUIDs one above it")
    if aggregation_nodes or subnet.aggregation_nodes:
        say(
            "with"
            + ("" if aggregation_nodes else "out")
            + " SHARP aggregation nodes (--aggregation-nodes); SHARP itself is not simulated"
        )
    if lab.supervisor() is None:
        down(lab)  # what is left of one that died
    ethernet.claim(lab)
    supervisor: subprocess.Popen[bytes] | None = None
    try:
        prepare(
            lab, subnet, spec_path, blank=blank, namespaces=not lacking, aggregation_nodes=aggregation_nodes, say=say
        )  # fmt: skip
        supervisor = ethernet.start(lab, "fabric.lab.ib.supervisor")
        control.ask(lab.folder, "boot", progress=lambda text: say(f"{text} ({time.monotonic() - started:.1f} s)"))
        say(
            f"ibsim has {len(subnet.switches)} switches and {len(subnet.hcas)} HCAs ({time.monotonic() - started:.1f} s)"
        )
        if not blank:
            _start_managers(lab, [manager.host for manager in subnet.managers], started + timeout_s, say, started)
    except BaseException:
        if supervisor is not None and supervisor.stdin is not None:
            supervisor.stdin.close()
        down(lab)
        raise
    assert supervisor.stdin is not None  # noqa: S101 - opened as a pipe
    supervisor.stdin.write(b"up\n")
    supervisor.stdin.close()
    return time.monotonic() - started


def _start_managers(lab: Lab, hosts: Sequence[str], end: float, say: Say, started: float) -> None:
    """The declared master first, so that no handover disturbs the first sweep; then the others."""
    for group, words in ((hosts[:1], "is master, the subnet is up"), (hosts[1:], "standby")):
        for host in group:
            control.ask(lab.folder, "daemon", node=host, daemon="opensm", action="start")
        wait_for(lab, group, end)
        if group:
            say(f"{', '.join(group)}: {words} ({time.monotonic() - started:.1f} s)")


def wait_for(lab: Lab, hosts: Sequence[str], end: float) -> None:
    """Wait until these SMs are what they shall be; FabricError when one ends, or at the monotonic time `end`."""
    while True:
        left: dict[str, str] = control.ask(lab.folder, "converged", nodes=list(hosts))["missing"]
        if not left:
            return
        host, words = next(iter(left.items()))
        if "ended" in words:
            raise FabricError(f"{host}: {words}")
        if time.monotonic() > end:
            raise FabricError(f"the subnet is not up in time: {host}: {words}", hint=f"see {lab.logs(host)}/opensm.log")
        time.sleep(_POLL_S)


def down(lab: Lab) -> bool:
    """End a lab and forget it; False when there was none. Also what killed clients left in the folders where they ran goes."""
    folders = seat.folders(lab)
    found = ethernet.down(lab)
    end = time.monotonic() + _DYING_S
    while (
        lab.folder.exists() and time.monotonic() < end
    ):  # without namespaces its processes may outlive the supervisor by a moment
        time.sleep(_POLL_S)
        lab.remove()
    for folder in folders:
        client.sweep(folder)
    return found
