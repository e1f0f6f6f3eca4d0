"""The SSH boxes of SM hosts, where the lab has namespaces of its own: prepared beforehand, started by the supervisor.

A box is sshd with its own mounts and host name: /etc/opensm and /var/log are the SM host's, `systemctl`, `systemd-run`, `journalctl` stand in
for systemd, and each InfiniBand tool is the host's HCA. Network and processes are the lab's, so that the simulator is reached.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import fabric
from fabric.lab import node, nodekinds, proc, syscalls
from fabric.lab.ib import child, client
from fabric.lab.ib.places import SmPlace

BINDS = {"/etc/opensm": "opensm", "/var/log": "log"}
"""Where in the box -> folder of the host's disk that is seen there."""

STAND_INS = {
    "systemctl": "fabric.lab.ib.systemctl",
    "systemd-run": "fabric.lab.fboss.timers",
    "journalctl": "fabric.lab.ib.journal",
}
"""Command of the box -> our module that stands for it."""

TOOLS = (
    "sminfo", "smpquery", "saquery", "ibnetdiscover", "iblinkinfo", "ibqueryerrors", "perfquery", "ibportstate", "ibroute", "ibtracert",
    "ibstat", "ibstatus", "ibaddr", "ibhosts", "ibswitches", "ibping", "smpdump",
)  # fmt: skip
"""infiniband-diags, each wrapped so that it is a client of the simulator."""

_CWD = "/run/fabric-clients"


def prepare(place: SmPlace, host: str, node_id: str, address: str, public: str, socket: str) -> str:
    """Write the files of a box; returns the line for known_hosts. `public` is the key that may log in."""
    from fabric.lab import prepare as ethernet
    from fabric.lab.topology import LabNode

    box = LabNode(host, "linux", "sm", management=f"{address}/32")
    etc = place.folder / "files" / "etc"
    (place.folder / "node.json").write_text(json.dumps({"name": host, "kind": "sm", "root": "/"}), encoding="utf-8")
    ethernet.accounts(etc, box, public)
    passwd = (etc / "passwd").read_text(encoding="utf-8").replace(":/root:", ":/var/home/root:", 1)
    (etc / "passwd").write_text(passwd, encoding="utf-8")
    (etc.parent / "var" / "home" / "root").mkdir(parents=True, exist_ok=True)
    ethernet.names(etc, box)
    programs = etc.parent / "usr" / "local" / "bin"
    programs.mkdir(parents=True)
    home = str(Path(fabric.__file__).resolve().parent.parent)
    for name, module in STAND_INS.items():
        words = [sys.executable, "-S", "-P", "-m", module, str(place.folder)]
        _script(programs / name, f'PYTHONPATH={shlex.quote(home)} exec {shlex.join(words)} "$@"')
    env = shlex.join(f"{key}={value}" for key, value in client.environment(socket, node_id).items())
    for name in TOOLS:
        _script(programs / name, f'cd {_CWD} && exec env {env} /usr/sbin/{name} "$@"')
    return ethernet.ssh_server(place.folder, box)


def _script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)


def give_addresses(managers: list[dict[str, Any]]) -> None:
    """All SM hosts' management addresses on the lab's own loopback interface."""
    addresses = [item["address"] for item in managers if item["address"]]
    proc.ip_batch(["link set lo up", *(f"addr replace {address}/32 dev lo" for address in addresses)])
    Path(_CWD).mkdir(exist_ok=True)


def start(place: SmPlace, host: str) -> subprocess.Popen[bytes]:
    """Start the box of a host."""

    def become() -> None:
        try:
            syscalls.unshare(syscalls.NEWNS | syscalls.NEWUTS)
            syscalls.sethostname(host)
            node.mounts(place.folder, BINDS)
        except BaseException as error:
            os.write(2, f"{host}: {error}\n".encode())
            os._exit(126)

    argv = ["/usr/sbin/sshd", "-D", "-e", "-f", str(place.folder / "sshd_config")]
    log = place.log_folder / "sshd.log"
    return child.start(argv, env=nodekinds.environment(host), cwd=Path("/"), log=log, before=become)
