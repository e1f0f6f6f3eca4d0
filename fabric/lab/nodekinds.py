"""What runs in a node of each kind, beside what every node runs (sshd, lldpd)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import fabric
from fabric.lab import lldp
from fabric.lab.names import MANAGEMENT


@dataclass(frozen=True, slots=True)
class Daemon:
    """A program that the lab starts in a node and can kill and start again."""

    name: str
    argv: tuple[str, ...]


BINDS: dict[str, dict[str, str]] = {
    "eos": {"/mnt/flash": "flash"},
    "fboss": {"/etc/coop": "coop", "/var/facebook": "facebook"},
    "host": {},
}
"""For each kind: where in the node -> folder of the node's disk that is seen there."""


def python(module: str, *args: str) -> tuple[str, ...]:
    """A command that runs a module of ours: without `site` (a lab starts dozens, and needs the standard library
    only), and never one of that name from the current folder.
    """
    return (sys.executable, "-S", "-P", "-m", module, *args)


def environment(node: str) -> dict[str, str]:
    """Environment of a node's processes."""
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": str(Path(fabric.__file__).resolve().parent.parent),
        "LANG": "C.UTF-8",
        "HOME": "/",
        "FABRIC_LAB_NODE": node,
    }


def daemons(kind: str, folder: Path, settings: Mapping[str, str]) -> list[Daemon]:
    """The daemons of a node in the order of starting. `folder` is the node's; `settings` come from its node.json."""
    config = settings.get("lldp_config", lldp.CONFIG)
    found = [
        Daemon("lldpd", tuple(lldp.argv(settings["lldp_socket"], config, settings.get("management_linux", MANAGEMENT))))
    ]
    if kind == "host":
        return found
    found.append(Daemon("sshd", ("/usr/sbin/sshd", "-D", "-e", "-f", str(folder / "sshd_config"))))
    if kind == "eos":
        found.append(Daemon("eos", python("fabric.lab.eos.daemon", str(folder))))
    if kind == "fboss":
        found.append(Daemon("fboss", python("fabric.lab.fboss.boot", str(folder))))
    return found


def ready_file(daemon: str, folder: Path, settings: Mapping[str, str]) -> Path | None:
    """Socket that is there once a daemon answers (and which a kill or a power cut leaves behind); None for sshd, which has a port."""
    places = {
        "lldpd": Path(settings["lldp_socket"]),
        "eos": folder / "cli.sock",
        "fboss": folder / "fboss" / "agent.sock",
    }
    return places.get(daemon)


def ready_files(kind: str, folder: Path, settings: Mapping[str, str]) -> list[Path]:
    """Those sockets of all daemons of a node."""
    places = (ready_file(daemon.name, folder, settings) for daemon in daemons(kind, folder, settings))
    return [place for place in places if place is not None]
