"""ibsim and opensm on a subnet with our files: a folder and a socket of its own, everything ended by its pid."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.design.ib.model import Subnet
from fabric.lab.ib.net import hca_id, net_size, net_text
from fabric.targets.base import Artifact
from fabric.targets.opensm.labform import LabPaths, lab_form

OPENSM, IBSIM = Path("/usr/sbin/opensm"), Path("/usr/bin/ibsim")
THERE = OPENSM.exists() and IBSIM.exists()
ROOT = Path(__file__).resolve().parents[3]
_READ = """
import json, sys
from fabric.targets.opensm.mad import open_subnet
with open_subnet() as reader:
    t = reader.discover()
    ends = [(n.guid, 1) for n in t.nodes.values() if not n.is_switch]
    ports = {n.info.port_guid: n for n in t.nodes.values() if not n.is_switch}
    keys = reader.pkeys(t, ends)
    lfts = reader.lfts(t)
    json.dump({"pkeys": {n.info.port_guid: keys[n.guid, 1] for n in ports.values()},
               "lids": {p: n.lid for p, n in ports.items()}, "lfts": dict(zip(lfts.guids, lfts.table.tolist()))}, sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run showed: opensm's stdout and log, the changes of the lab form, P_Keys, LIDs and tables read back from the ports."""

    out: str
    log: str
    changes: list[str]
    pkeys: dict[int, list[int]]
    lids: dict[int, int]
    lfts: dict[int, list[int]]

    @property
    def echoed(self) -> dict[str, str]:
        """Keys that differ from their default, as opensm echoes them."""
        return dict(re.findall(r"Loading Cached Option: ?(\S+) = (.*)", self.out))


def run(subnet: Subnet, artifacts: list[Artifact], folder: Path, *, aggregation_nodes: bool = False) -> Seen:
    """Brings the subnet up with the files' lab form, reads it, ends everything."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sim.net").write_text(net_text(subnet, aggregation_nodes), encoding="ascii")
    files, changes = lab_form(artifacts, LabPaths(folder, folder / "osm.log", folder))
    for name, content in files.items():
        (folder / name).write_bytes(content)
    size = net_size(subnet, aggregation_nodes=aggregation_nodes)
    env = {**os.environ, "IBSIM_SOCKNAME": f"t{os.getpid()}{abs(hash(folder)) % 10**6}"}
    env.pop("LD_PRELOAD", None)
    argv = [
        IBSIM,
        "-s",
        "-n",
        "-N",
        size.nodes + 9,
        "-S",
        size.switches + 9,
        "-P",
        size.ports + 99,
        "-L",
        49152,
        "sim.net",
    ]
    manager = next(manager for manager in subnet.managers if manager.host == artifacts[0].device)
    preload = {
        "LD_PRELOAD": str(next(Path("/usr/lib").glob("*/umad2sim/libumad2sim.so"))),
        "OSM_TMP_DIR": str(folder),
        "OSM_CACHE_DIR": str(folder),
    }
    with (
        _process(list(map(str, argv)), env, folder, "ibsim.log", "Network simulator ready."),
        _process(
            [str(OPENSM), "-F", "opensm.conf"],
            {**env, **preload, "SIM_HOST": hca_id(manager.hca)},
            folder,
            "osm.out",
            None,
        ) as opensm,
    ):
        _wait(opensm, folder / "osm.log", "SUBNET UP")
        time.sleep(0.3)  # what a second look at the log would say
        seat = next(hca for hca in subnet.hcas if hca.host not in {manager.host for manager in subnet.managers})
        read = _read({**env, **preload, "SIM_HOST": hca_id(seat)}, folder)
    out, log = ((folder / name).read_text(errors="replace") for name in ("osm.out", "osm.log"))
    by_guid = ({int(guid): value for guid, value in read[name].items()} for name in ("pkeys", "lids", "lfts"))
    return Seen(out, log, changes, *by_guid)


def _read(env: dict[str, str], folder: Path) -> dict[str, Any]:
    env = {**env, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", _READ], env=env, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@contextmanager
def _process(
    argv: list[str], env: dict[str, str], folder: Path, out: str, ready: str | None
) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / out).open("wb") as log:
        process = subprocess.Popen(
            argv, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        if ready:
            _wait(process, folder / out, ready)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)


def _wait(process: subprocess.Popen[bytes], path: Path, word: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not (path.exists() and word in path.read_text(errors="replace")):
        assert process.poll() is None, f"ended with {process.returncode}: {path.read_text(errors='replace')[-2000:]}"
        assert time.monotonic() < end, f"no {word!r} in {path}: {path.read_text(errors='replace')[-2000:]}"
        time.sleep(0.02)
