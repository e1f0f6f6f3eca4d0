"""One booted host: a systemd-nspawn container whose root is the image with a layer of its own, and whose network is the lab node's.

nspawn runs in the namespaces of the lab's supervisor, so the end of that process, whatever it was, ends the machine: its mounts, its network
and its processes are in namespaces that nobody else holds.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from fabric.errors import FabricError
from fabric.lab import node, proc, syscalls
from fabric.lab.machines import cgroups

DAEMON = "machine"
"""How `lab status` calls the container among a host's daemons."""

REBOOT = 133
"""Exit code of nspawn when the machine wants to boot again (EXIT_FORCE_RESTART of systemd's src/nspawn/nspawn.c)."""

DISK_MIB = 2048
"""Largest size of a machine's disk, in MiB: room for packages; it is memory, taken as it fills."""

FIRST_MTU = 1500
"""MTU of a NIC that nobody configured yet, in bytes: that of Ethernet."""

DEVICES = ("/dev/fuse", "/dev/autofs")
"""Devices that a machine shares with the one below, where they are: for FUSE mounts and for systemd's automounts."""

MIRROR = "/srv/mirror"
"""Where a machine sees the lab's package repository."""

_SLOW_S = 20.0


def layer(folder: Path) -> Path:
    """What a machine's disk holds beyond the image; `folder` is the node's."""
    return folder / node.DISK / "upper"


def assemble(folder: Path, image: Path) -> Path:
    """Mount the root file system of a machine, once in a lab; returns where. Its disk outlives reboots."""
    root = folder / "root"
    name = folder.name
    shutil.copyfile(folder / "lldpd.conf", f"/run/lldpd/{name}.conf")  # readable by the user that lldpcli changes to
    if not os.path.ismount(root):
        root.mkdir(exist_ok=True)
        work = folder / node.DISK / "work"
        work.mkdir(exist_ok=True)
        syscalls.mount(
            "machine", str(root), "overlay", options=f"lowerdir={image},upperdir={layer(folder)},workdir={work}"
        )
    return root


def start(lab: Path, name: str, root: Path, log: Path, mirror: tuple[Path, str]) -> tuple[int, int]:
    """Boot a machine; returns the pids of nspawn and of the machine's process 1, once that is there. FabricError when it does not come.

    `mirror`: the folder of packages, and where the machine sees it.
    """
    group = cgroups.make(lab, name)
    command = [
        "/usr/bin/systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit", "--private-users=no", "--console=read-only",
        "--capability=CAP_NET_ADMIN", "--link-journal=no", "--resolv-conf=off", "--timezone=off", f"--machine={name}", f"--directory={root}",
        f"--network-namespace-path={node.netns(name)}", *(f"--bind={device}" for device in DEVICES if Path(device).exists()),
        f"--bind-ro={mirror[0]}:{mirror[1]}",
        "systemd.unit=multi-user.target", "systemd.show_status=no",
    ]  # fmt: skip
    env = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1",
        "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network",
        "SYSTEMD_COLORS": "0",
    }
    joined = ["/bin/sh", "-c", f'echo $$ >"{group}/cgroup.procs" && exec "$@"', "sh", *command]
    outer = node.spawn(os.getpid(), joined, log, env)
    return outer, _first_process(name, outer, log)


def _first_process(name: str, outer: int, log: Path) -> int:
    mine = proc.namespace(os.getpid(), "pid")
    end = time.monotonic() + _SLOW_S
    while time.monotonic() < end and proc.alive(outer):
        for child in _children(outer):
            if proc.namespace(child, "pid") not in ("", mine) and proc.comm(child) == "systemd":
                return child
        time.sleep(0.01)
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.exists() else []
    raise FabricError(f"{name} does not boot: {said[-1] if said else 'systemd-nspawn said nothing'}")


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except OSError:
        return []


def not_ready(pid: int) -> str:
    """What a machine still does before logins are let in, in words; "" when nothing."""
    return "it is still booting" if Path(f"/proc/{pid}/root/run/nologin").exists() else ""
