"""EOS before 4.32, where an armed commit is a state of its session: the driver and the command line against virtual switches of that release."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.lab.state import Lab
from tests.lab.conftest import LabUnderTest

pytestmark = pytest.mark.lab

RELEASE = "4.30.1F"
SWITCHES = {"z02-rtsw001": "10.0.1.33", "z02-ctsw01": "10.0.1.41"}


@pytest.fixture(scope="module")
def old(needs_lab: None, lab_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabUnderTest]:
    """A lab of two EOS switches of that release, for the tests of this file."""
    spec = tmp_path_factory.mktemp("old") / "cluster.yaml"
    spec.write_bytes((Path(__file__).parents[2] / "inventories/lab/cluster.yaml").read_bytes())
    lab = LabUnderTest(spec)
    subset = [word for name in SWITCHES for word in ("--subset", name)]
    lab.cli("lab", "up", spec, "--eos-release", RELEASE, *subset, timeout=300)
    yield lab
    lab.cli("lab", "down", spec)


def _sessions(lab: LabUnderTest, name: str) -> dict[str, object]:
    answer: dict[str, object] = json.loads(
        lab.ssh("netops", SWITCHES[name], "show configuration sessions detail | json").stdout
    )
    return answer


def test_it_is_that_release_and_its_own_form(old: LabUnderTest) -> None:
    assert json.loads(old.ssh("netops", SWITCHES["z02-ctsw01"], "show version | json").stdout)["version"] == RELEASE
    assert "commitTimerSessionName" not in _sessions(old, "z02-ctsw01")


@pytest.mark.parametrize("scenario", ["confirmed", "expired", "rolled_back", "foreign"])
def test_a_driver(old: LabUnderTest, scenario: str) -> None:
    record = Lab.find(old.spec)
    assert record is not None
    folder = record.node_folder("z02-ctsw01")
    seat = (sys.executable, "-m", "tests.lab.driver_seat", scenario, "z02-ctsw01", SWITCHES["z02-ctsw01"], folder)
    done = old.seat("env", f"PYTHONPATH={Path(__file__).parents[2]}", *seat, check=False, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr


def test_apply_and_roll_back(old: LabUnderTest) -> None:
    edited = old.spec.with_name("edited.yaml")
    edited.write_text(old.spec.read_text().replace("10.0.0.20", "10.0.0.21"))
    fabric = (sys.executable, "-m", "fabric")
    only = [word for name in SWITCHES for word in ("--device", name)]
    done = old.seat(*fabric, "apply", edited, *only, "--auto-approve", timeout=300)
    assert "2 done" in done.stdout
    assert "ntp server vrf MGMT 10.0.0.21" in old.ssh("netops", SWITCHES["z02-ctsw01"], "show startup-config").stdout
    assert old.seat(*fabric, "plan", edited, *only).returncode == 0
    back = old.seat(*fabric, "runs", "rollback", "last", "-s", edited, "--auto-approve", timeout=300)
    assert "2 rolled-back" in back.stdout
    assert old.seat(*fabric, "plan", old.spec, *only).returncode == 0


def test_what_is_no_release(old: LabUnderTest) -> None:
    done = old.cli("lab", "up", old.spec, "--eos-release", "old", check=False)
    assert (done.returncode, "'old' is no EOS release (hint: like 4.30.1F)" in done.stderr) == (1, True)
