"""A client of the simulator: the environment that makes a program take ibsim for the machine's HCA, and short tools run with it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fabric.errors import FabricError
from fabric.lab import proc

_PRELOADS = "/usr/lib/*/umad2sim/libumad2sim.so"

MAX_CLIENTS = 10
"""Clients that one ibsim takes at a time (IBSIM_MAX_CLIENTS, infiniband.md 1.3)."""


def preload() -> str:
    """The library that stands between a program and the simulator; FabricError when the package is not there."""
    found = sorted(str(path) for path in Path("/").glob(_PRELOADS.lstrip("/")))
    if not found:
        raise FabricError("the InfiniBand lab needs the package libumad2sim0", hint="apt-get install ibsim-utils")
    return found[0]


def socket_name(folder: Path) -> str:
    """`IBSIM_SOCKNAME` of the lab in `folder`: labs that share a network namespace must not meet (infiniband.md 1.2)."""
    return "fabric-" + hashlib.sha256(str(folder).encode()).hexdigest()[:16]


def environment(name: str, node: str) -> dict[str, str]:
    """What a program needs in its environment to be the HCA with the id `node`.

    LD_PRELOAD is set by us and not by `ibsim-run`, which spoils a value that is there already (infiniband.md 1.3).
    """
    return {"LD_PRELOAD": preload(), "IBSIM_SOCKNAME": name, "SIM_HOST": node}


def without_preload() -> dict[str, str]:
    """Our environment for ibsim itself, which must not be its own client."""
    return {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "SIM_HOST", "SIM_SET_ISSM")}


def run_tool(argv: Sequence[str], env: dict[str, str], cwd: Path, timeout_s: float = 10.0) -> str:
    """Output of a diagnostic tool, "" when it failed or did not end in time: some hang on a broken fabric (infiniband.md 1.3)."""
    try:
        done = subprocess.run(  # noqa: S603 - our own argument lists
            list(argv), env={**without_preload(), **env}, cwd=cwd, capture_output=True, text=True, timeout=timeout_s, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        sweep(cwd)
        return ""
    return done.stdout if done.returncode == 0 else ""


def sweep(folder: Path) -> list[Path]:
    """Remove the `sys-<pid>` folders of programs that are gone: a killed client leaves its own behind. Returns them."""
    found = [path for path in folder.glob("sys-[0-9]*") if path.name.removeprefix("sys-").isdigit() and path.is_dir()]
    if not found:
        return []
    used = _clients_in(folder)
    gone = [path for path in found if int(path.name.removeprefix("sys-")) not in used]
    for path in gone:
        shutil.rmtree(path, ignore_errors=True)
    return gone


def _clients_in(folder: Path) -> set[int]:
    """Pids, as they themselves see them in their own namespace, of the processes that work in a folder."""
    where, found = str(folder.resolve()), set()
    for pid in proc.pids():
        try:
            if os.readlink(f"/proc/{pid}/cwd") != where:  # noqa: PTH115 - text is compared
                continue
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # gone, or another user's
        line = next((line for line in status.splitlines() if line.startswith("NSpid:")), f"NSpid: {pid}")
        found.add(int(line.split()[-1]))
    return found
