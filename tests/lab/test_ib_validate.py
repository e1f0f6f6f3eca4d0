"""`fabric validate` on the InfiniBand lab: real opensm on ibsim, each fault named exactly, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabric.lab.ib.places import SmPlace
from fabric.lab.state import Lab
from tests.lab.conftest import LabUnderTest, wait_until

INVENTORY = Path(__file__).resolve().parents[2] / "inventories" / "ib-lab"
MASTER, STANDBY = "gt0001", "gt0025"
NOT_EXERCISED = {"cabling.rate", "qos.high-limit"}
"""What the simulator cannot show: said, and never a fault."""

pytestmark = [
    pytest.mark.lab,
    pytest.mark.xdist_group("ib-validate"),
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("sshd", path="/usr/sbin"), reason="needs root and sshd"),
]


@pytest.fixture(scope="module")
def lab(lab_dir: Path) -> Iterator[LabUnderTest]:
    spec = lab_dir / "ib-validate" / "cluster.yaml"
    shutil.copytree(INVENTORY, spec.parent)
    found = LabUnderTest(spec)
    found.cli("lab", "up", spec)
    yield found
    found.cli("lab", "down", spec)


def validate(lab: LabUnderTest, check: str = "all", *options: object) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """(check, subject) of what failed, and the whole document."""
    done = lab.seat(sys.executable, "-m", "fabric", "validate", check, lab.spec, "--json", *options, check=False)
    assert done.returncode in (0, 2), done.stderr + done.stdout
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["exit_code"] == done.returncode
    return [(f["check"], f["subject"]) for f in document["findings"] if f["verdict"] == "fail"], document


def states(lab: LabUnderTest) -> dict[str, str]:
    """SM host -> state."""
    return {item["host"]: item["state"] for item in lab.status()["managers"]}


def settled(lab: LabUnderTest) -> None:
    """Waits until master and standby are as declared."""
    wait_until(lambda: states(lab) == {MASTER: "master", STANDBY: "standby"}, words="the SMs do not settle")


def test_clean(lab: LabUnderTest) -> None:
    failed, document = validate(lab)
    assert failed == []
    assert {f["check"] for f in document["findings"] if f["verdict"] == "unknown"} == NOT_EXERCISED
    assert {f["check"].partition(".")[0] for f in document["findings"]} == {
        "cabling", "sm", "routing", "partitions", "qos", "errors",
    }  # fmt: skip


def reached(lab: LabUnderTest, *options: object, seat: bool = True) -> tuple[float, str]:
    """(percent of line rate that `fabric predict` says of the large messages of a ring, what it walked)."""
    ask = (sys.executable, "-m", "fabric", "predict", lab.spec, "--json", "--seeds", "1", "--sizes", "1G", *options)
    document = json.loads((lab.seat(*ask) if seat else lab.cli(*ask[3:])).stdout)
    (case,) = document["cases"]
    assert case["gpus"] == 384
    return case["reached"]["p50"], document["walked"]


def test_the_live_tables_are_walked(lab: LabUnderTest) -> None:
    live, walked = reached(lab, "--live")
    assert walked == "the forwarding tables of the live switches"
    assert live == reached(lab, seat=False)[0] == 100.0


@pytest.mark.parametrize(
    ("faults", "found"),
    [
        (["swap leaf0001:2 leaf0002:3"], [("cabling.swap", "leaf0001:2 and leaf0002:3")]),
        (
            ["cut leaf0003:12", "degrade leaf0004:1", "degrade leaf0004:9 --width 1x"],
            [
                ("cabling.missing", "spine01-04:3 <-> leaf0003:12"),
                ("cabling.speed", "spine01-01:4 <-> leaf0004:9"),
                ("errors.counters", "leaf0004:1"),
            ],
        ),
        (["remove leaf0011", "remove core03-02"], [("cabling.device", "leaf0011"), ("cabling.device", "core03-02")]),
    ],
    ids=["swap", "cut-and-degraded", "removed"],
)
def test_faults_of_cables(lab: LabUnderTest, faults: list[str], found: list[tuple[str, str]]) -> None:
    for fault in faults:
        lab.fault(*fault.split())
    try:
        failed, document = validate(lab)
        assert sorted(failed) == sorted(found)
        doubts = {f["check"] for f in document["findings"] if f["verdict"] == "unknown"}
        assert doubts - NOT_EXERCISED <= {"routing.balance"}  # a load that the cables explain
    finally:
        lab.fault("restore")


def test_handover_keeps_lids(lab: LabUnderTest, tmp_path: Path) -> None:
    saved = tmp_path / "lids.json"
    assert validate(lab, "sm", "--save", saved)[0] == []
    lab.fault("kill-sm", MASTER)
    try:
        wait_until(lambda: states(lab)[STANDBY] == "master", words="the standby does not take over")
        failed, document = validate(lab, "sm", "--against", saved)
        assert failed == [("sm.master", MASTER)]
        kept = next(f for f in document["findings"] if f["check"] == "sm.lids-kept")
        assert kept["measured"] == "0 of 512 LIDs changed"
    finally:
        lab.fault("restore")
    settled(lab)
    assert validate(lab, "sm", "--against", saved)[0] == []


@pytest.fixture
def etc(lab: LabUnderTest) -> Iterator[Path]:
    """What the master's opensm really reads (the lab form of its /etc/opensm), which is put back after the test."""
    record = Lab.find(lab.spec)
    assert record is not None
    folder = SmPlace.of(record.folder, MASTER).form
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    yield folder
    for path, content in before.items():
        path.write_bytes(content)
    lab.node(MASTER, "systemctl", "restart", "opensm")
    settled(lab)


@pytest.mark.parametrize(
    ("file", "old", "new", "how", "found"),
    [
        ("opensm.conf", "ftree,no_fallback", "fattree", "restart", [("sm.engine", MASTER)]),
        ("opensm.conf", "lmc 0\n", "lmc 0\nmax_operational_vls 2\n", "restart", [("sm.unknown-key", MASTER)]),
        ("opensm.conf", "lmc 0\n", "lmc zero\n", "restart", [("sm.rejected", MASTER)]),
        ("opensm.conf", "honor_guid2lid_file TRUE", "honor_guid2lid_file yes", "restart", [("sm.keys", MASTER)]),
        ("partitions.conf", " :", " ", "reload", [("partitions.open", "subnet")]),
        ("partitions.conf", "{member}=full", "{member}=limited", "reload", [("partitions.member", "gt0002 mlx5_0")]),
        ("root_guids", "{root}\n", "", "reload", [("sm.roots", MASTER)]),
    ],
    ids=["engine", "unknown-key", "rejected", "boolean", "broken-partitions", "member", "missing-root"],
)
def test_faults_of_files(
    lab: LabUnderTest, etc: Path, file: str, old: str, new: str, how: str, found: list[tuple[str, str]]
) -> None:
    text = (etc / file).read_text(encoding="utf-8")
    guids = [line for line in text.splitlines() if line.startswith("0x")]
    places = {"{member}": "0x0000a00000001001", "{root}": guids[0] if guids else ""}
    for place, value in places.items():
        old, new = old.replace(place, value), new.replace(place, value)
    assert old in text
    (etc / file).write_text(text.replace(old, new), encoding="utf-8")
    lab.node(MASTER, "systemctl", how, "opensm")
    settled(lab)
    wait_until(lambda: validate(lab)[0] == found, timeout=60, words=f"found {validate(lab)[0]}")
    if new == "fattree":  # opensm has fallen back to minhop
        assert reached(lab, "--live")[0] == 12.5
