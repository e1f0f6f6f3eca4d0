"""The drivers against virtual switches in a lab: the whole life of a change, and what comes in its way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from fabric.lab.state import Lab
from tests.conftest import edited
from tests.lab.driver_seat import SCENARIOS

ROOT = Path(__file__).parents[2]
EOS_ONLY = {"foreign", "renamed"}

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("vtysh") or not shutil.which("lldpd"), reason="needs root, FRR, lldpd"
    ),
]


def _fabric(*words: object, timeout: float = 200) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fabric", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The spec of a running lab: the first zone, with an FBOSS rack switch and an EOS switch above it."""
    path = tmp_path_factory.mktemp("drivers") / "cluster.yaml"
    path.write_text(yaml.safe_dump(edited("lab", {}), sort_keys=False), encoding="utf-8")
    try:
        done = _fabric("lab", "up", path, "--subset", "z01-*")
        assert done.returncode == 0, done.stderr
        yield path
    finally:
        _fabric("lab", "down", path)


def _run(spec: Path, scenario: str, switch: str) -> None:
    lab = Lab.find(spec)
    assert lab is not None
    address = {"z01-ctsw01": "10.0.1.25", "z01-rtsw001": "10.0.1.17"}[switch]
    seat = (sys.executable, "-m", "tests.lab.driver_seat", scenario, switch, address, str(lab.node_folder(switch)))
    done = _fabric("lab", "exec", spec, "--", *seat)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name != "full"])
@pytest.mark.parametrize("switch", ["z01-ctsw01", "z01-rtsw001"])
def test_a_driver_in_the_lab(spec: Path, switch: str, scenario: str) -> None:
    if scenario in EOS_ONLY and switch == "z01-rtsw001":
        return  # FBOSS has no sessions of others to wait for, and no prompt that matters
    _run(spec, scenario, switch)


@pytest.mark.parametrize("switch", ["z01-ctsw01", "z01-rtsw001"])
def test_a_full_disk(spec: Path, switch: str) -> None:
    made = _fabric("lab", "fault", spec, "fill-disk", switch)
    assert made.returncode == 0, made.stderr
    try:
        _run(spec, "full", switch)
    finally:
        _fabric("lab", "fault", spec, "restore")
    _run(spec, "confirmed", switch)
