"""The hosts as tables and explanations, of both back ends."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

INVENTORIES = Path(__file__).resolve().parents[2] / "inventories"
ROCE, SUBNET = INVENTORIES / "roce-24k" / "cluster.yaml", INVENTORIES / "ib-24k" / "cluster.yaml"


@pytest.mark.parametrize("table", ["nics", "nccl", "software", "mounts"])
def test_tables_agree_in_all_three_forms(
    table: str, fabric_cli: Callable[..., Result], golden: Callable[[str, str], None]
) -> None:
    text, as_json, as_csv = (
        fabric_cli("show", table, "z03-r100-*", "-s", ROCE, *form) for form in ([], ["--json"], ["--csv"])
    )
    rows = json.loads(as_json.stdout)["rows"]
    assert list(csv.DictReader(io.StringIO(as_csv.stdout))) == [
        {key: "" if value is None else str(value) for key, value in row.items()} for row in rows
    ]
    assert len(text.stdout.splitlines()) == len(rows) + 2
    golden(f"show/host-{table}-roce.txt", text.stdout)


def test_tables_of_a_subnet(fabric_cli: Callable[..., Result], golden: Callable[[str, str], None]) -> None:
    said = [fabric_cli("show", table, "gt0033", "-s", SUBNET).stdout for table in ("nics", "nccl")]
    golden("show/host-subnet.txt", "\n".join(said))


PATHS = [
    "nccl.NCCL_IB_TC", "nccl.NCCL_IB_ADDR_RANGE", "sysctl.vm.zone_reclaim_mode", "sysctl.vm.swappiness", "firmware.CNP_DSCP_P1",
    "firmware.SRIOV_EN", "hosts.tuning.governor", "hosts.software.driver", "storage[1].nconnect", "nccl.NCCL_X",
    "sysctl.NOPE", "sysctl.vm.swapiness",
]  # fmt: skip


def test_explain(
    fabric_cli: Callable[..., Result],
    golden: Callable[[str, str], None],
    spec_file: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mount = {"name": "home", "kind": "pnfs", "path": "/mnt/home", "servers": ["10.0.0.50"], "export": "/home"}
    hosts = {
        "platform": "grand-teton-h100",
        "os": "ubuntu-24.04",
        "software": {
            "driver": "580.126.16", "cuda": "13.0", "nccl": "2.28.9", "dcgm": "4.5.2", "rdma": {"stack": "inbox"},
            "firmware": {"SRIOV_EN": "1"},
        },
        "network": {"front_end": ["eth0"]},
        "tuning": {"sysctls": {"vm.swappiness": "1"}},
    }  # fmt: skip
    path = spec_file("lab", {"hosts": hosts, "storage": [mount, {**mount, "name": "b", "path": "/b"}]})
    monkeypatch.chdir(path.parent)
    said = [fabric_cli("explain", name) for name in PATHS]
    text = "\n".join(result.stdout + result.stderr for result in said)
    golden("show/host-explain.txt", text)


def test_a_device_that_is_no_host(fabric_cli: Callable[..., Result]) -> None:
    result = fabric_cli("show", "nics", "atsw001", "-s", INVENTORIES / "lab" / "cluster.yaml")
    said = "error: no device matches 'atsw001' (hint: devices are named like z01-r001-h1)\n"
    assert (result.exit_code, result.stderr) == (1, said)
