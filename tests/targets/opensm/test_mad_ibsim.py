"""The reads against real ibsim through real libibumad; no subnet manager, so no LIDs: everything goes by directed route."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabric.design.ib.model import Subnet
from fabric.design.load import load_subnet
from fabric.lab.ib import client
from fabric.lab.ib.net import hca_id, net_size, net_text

ROOT = Path(__file__).resolve().parents[3]
SPEC = ROOT / "inventories" / "ib-lab" / "cluster.yaml"

pytestmark = pytest.mark.skipif(
    shutil.which("ibsim") is None, reason="ibsim is not installed (apt-get install ibsim-utils)"
)


@pytest.fixture(scope="module")
def subnet() -> Subnet:
    return load_subnet(SPEC).subnet


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory, subnet: Subnet) -> Iterator[dict[str, str]]:
    """The environment of a client of a running ibsim."""
    folder = tmp_path_factory.mktemp("ibsim")
    net, log = folder / "fabric.net", folder / "ibsim.log"
    net.write_text(net_text(subnet), encoding="utf-8")
    size = net_size(subnet)
    name = f"mad-{os.getpid()}"
    argv = ["ibsim", "-s", "-n", "-N", size.nodes, "-S", size.switches, "-P", size.ports, "-L", 49152, net]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder,
            env={**client.without_preload(), "IBSIM_SOCKNAME": name},
        )  # fmt: skip
    try:
        end = time.monotonic() + 120
        while b"Network simulator ready." not in log.read_bytes():
            assert process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.02)
        yield {**client.environment(name, hca_id(subnet.hcas[8])), "FOLDER": str(folder)}
    finally:
        process.kill()
        process.wait()


def read(environment: dict[str, str]) -> dict[str, Any]:
    """What `mad_print` says as a client of the simulator."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.targets.opensm.mad_print"], cwd=environment["FOLDER"], capture_output=True, text=True,
        env={**client.without_preload(), **environment, "PYTHONPATH": str(ROOT)}, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_designed_subnet_is_read_back(simulator: dict[str, str], subnet: Subnet) -> None:
    found = read(simulator)
    guid = {switch.name: switch.guid for switch in subnet.switches} | {hca.name: hca.node_guid for hca in subnet.hcas}
    wanted = [sorted(([guid[link.a], link.a_port], [guid[link.b], link.b_port])) for link in subnet.links]
    assert found["links"] == sorted(wanted)
    assert found["names"] == {str(number): name for name, number in sorted(guid.items(), key=lambda item: item[1])}
    assert found["home"] == [subnet.hcas[8].node_guid, 1]
    assert found["rates"] == [[4, 53.125]]
    assert found["problems"] == []
    assert (found["routes"], found["unread"], found["unread_pkeys"], found["unread_sl2vl"]) == (0, [], 0, 0)
    assert found["counters"] == 0  # counters travel by LID, and without a subnet manager there is none
