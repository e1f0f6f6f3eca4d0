"""The operator's seat of an InfiniBand lab: a command that takes the simulator for its HCA, in a folder that it may write to.

Every client makes `./sys-<pid>` where it runs (infiniband.md 1.3). So a command runs in the caller's own folder when that can be written,
else in one of its own where the names of the caller's folder are links; and what a killed client left is removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab import control, enter
from fabric.lab.ib import client
from fabric.lab.ib.places import KEY, OPERATOR
from fabric.lab.state import Lab

BOX_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def environment(lab: Lab, data: dict[str, Any]) -> dict[str, str]:
    """What a command at the seat gets beside our own environment.

    `FABRIC_SM_LOGS` is the folder in which `HOST/opensm.log` and `HOST/opensm.out` (standard output) lie.
    """
    node = os.environ.get("SIM_HOST") or data["seat"]
    found = {**client.environment(data["socket"], node), "FABRIC_SM_LOGS": str(lab.folder / "logs")}
    if data["namespaces"]:
        found |= {
            "FABRIC_USER": OPERATOR,
            "FABRIC_KEY_FILE": str(lab.folder / KEY),
            "FABRIC_STATE": str(lab.folder / "fabric"),
        }
    stand_ins = {name: value for name, value in data["secrets"].items() if name not in os.environ}
    return {**found, **stand_ins}


def run(command: Sequence[str], lab: Lab) -> int:
    """Run a command at the seat; returns its exit code."""
    data = lab.read()
    env = environment(lab, data)
    clients = control.ask(lab.folder, "tidy")["clients"]
    if clients >= client.MAX_CLIENTS:
        raise FabricError(
            f"{clients} programs use the simulator now, and it takes no more", hint="wait until one has ended"
        )
    with _folder(lab):
        return enter.run_inside(command, lab.first_process() if data["namespaces"] else None, None, env)


def run_on(host: str, command: Sequence[str], lab: Lab) -> int:
    """Run a command in the box of an SM host; where the lab has no boxes, as a client at the host's HCA."""
    data = lab.read()
    item = next((item for item in data["managers"] if item["host"] == host), None)
    if item is None:
        raise FabricError(
            f"this lab has no SM host {host!r}",
            hint="there are " + ", ".join(each["host"] for each in data["managers"]),
        )
    if not data["namespaces"]:
        with _folder(lab):
            return enter.run_inside(command, None, None, client.environment(data["socket"], item["node"]))
    inner = control.ask(lab.folder, "daemon", node=host, daemon="sshd", action="query")["pid"]
    return enter.run_inside(command, lab.first_process(), inner, {"PATH": BOX_PATH, "FABRIC_LAB_NODE": host})


@contextlib.contextmanager
def _folder(lab: Lab) -> Iterator[None]:
    """Be in a folder that can be written to."""
    own = lab.folder / "seats" / str(os.getpid())
    own.mkdir()
    before = Path.cwd()
    writable = os.access(before, os.W_OK)
    (own / ".seat").write_text(json.dumps({"cwd": str(before)}), encoding="utf-8")
    try:
        if not writable:
            for entry in os.scandir(before):
                (own / entry.name).symlink_to(entry.path)
            os.chdir(own)
        yield
    finally:
        os.chdir(before)
        if writable:
            client.sweep(before)
        shutil.rmtree(own, ignore_errors=True)


def folders(lab: Lab) -> list[Path]:
    """Where commands run now, or ran when their `exec` was killed: their clients may have left something there."""
    found = []
    for seat in (lab.folder / "seats").glob("*/.seat"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            found.append(Path(json.loads(seat.read_text(encoding="utf-8"))["cwd"]))
    return found
