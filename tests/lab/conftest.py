"""Fixtures of tests that boot the virtual lab. They skip only where the kernel or root rights are missing."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fabric.lab import control
from fabric.lab.state import Lab
from fabric.lab.up import kernel_refusal
from tests.lab.survive_start import Starter

INVENTORY = Path(__file__).resolve().parents[2] / "inventories" / "lab" / "cluster.yaml"


@pytest.fixture(scope="session")
def needs_lab() -> None:
    """Skips where no lab can be: without root, or in a kernel or container that refuses namespaces. Missing packages are a failure."""
    if os.geteuid() != 0:
        pytest.skip("the virtual lab needs root")
    refused = kernel_refusal()
    if refused:
        pytest.skip(refused)


@dataclass(frozen=True)
class LabUnderTest:
    """A lab that is up, driven as a user drives it: by the command line."""

    spec: Path

    def cli(self, *args: object, check: bool = True, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """`fabric ARGS`: a process of its own, which need not import everything anew."""
        done = _starter().run([*map(str, args)], timeout)
        assert not check or done.returncode == 0, f"fabric {' '.join(map(str, args))}: {done.stderr}{done.stdout}"
        return done

    def seat(self, *command: object, check: bool = True, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """A command at the operator's seat."""
        return self.cli("lab", "exec", self.spec, "--", *command, check=check, timeout=timeout)

    def node(
        self, name: str, *command: object, check: bool = True, timeout: float = 300
    ) -> subprocess.CompletedProcess[str]:
        """A command in a node."""
        return self.cli("lab", "exec", self.spec, name, "--", *command, check=check, timeout=timeout)

    def fault(self, *args: object) -> str:
        """`fabric lab fault SPEC ARGS`: what it says."""
        return self.cli("lab", "fault", self.spec, *args).stdout

    def ssh(self, user: str, address: str, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """A command over SSH, from the seat, with the lab's own key and known hosts."""
        line = (
            'exec ssh -i "$FABRIC_KEY_FILE" -o UserKnownHostsFile="$FABRIC_STATE/known_hosts" -o BatchMode=yes '
            '-o ConnectTimeout=5 "$@"'
        )
        return self.seat("sh", "-c", line, "ssh", f"{user}@{address}", *command, check=check)

    def status(self) -> dict[str, Any]:
        """`fabric lab status --json`."""
        found: dict[str, Any] = json.loads(self.cli("lab", "status", self.spec, "--json").stdout)
        return found

    def sessions(self) -> dict[str, tuple[int, int]]:
        """Switch -> (established, expected) BGP sessions."""
        return {
            n["name"]: (n["sessions"], n["sessions_expected"]) for n in self.status()["nodes"] if n["kind"] != "host"
        }

    def missing(self) -> dict[str, str]:
        """Node -> what it lacks: a daemon, a session, a route, an LLDP neighbour."""
        record = Lab.find(self.spec)
        assert record is not None
        nodes = [node["name"] for node in record.read()["nodes"]]
        found: dict[str, str] = control.ask(record.folder, "converged", nodes=nodes, daemons_only=False)["missing"]
        return found

    def lldp(self, name: str, linux: str) -> list[tuple[str, str]]:
        """(system, port id) of the neighbours that lldpd of a node hears on an interface."""
        text = self.node(name, "lldpcli", "-u", f"/run/lldpd/{name}.sock", "-f", "json0", "show", "neighbors").stdout
        heard = [
            port for block in json.loads(text)["lldp"] for port in block.get("interface", []) if port["name"] == linux
        ]
        return [(port["chassis"][0]["name"][0]["value"], port["port"][0]["id"][0]["value"]) for port in heard]


@functools.cache
def _starter() -> Starter:
    """What starts the commands of this test run; it ends with it."""
    return Starter((), os.environ, INVENTORY, "outside")


def wait_until(what: Callable[[], bool], timeout: float = 120, words: str = "") -> None:
    """Poll until `what` is true."""
    end = time.monotonic() + timeout
    while not what():
        assert time.monotonic() < end, words or f"not so after {timeout} s"
        time.sleep(0.5)


@pytest.fixture(scope="session")
def lab_dir() -> Iterator[Path]:
    """A folder for the labs of this test run, so that it meets nobody else's."""
    folder = Path(tempfile.mkdtemp(prefix="fabric-lab-tests-"))
    before = os.environ.get("FABRIC_LAB_DIR")
    os.environ["FABRIC_LAB_DIR"] = str(folder)
    yield folder
    os.environ.pop("FABRIC_LAB_DIR")
    if before is not None:
        os.environ["FABRIC_LAB_DIR"] = before
    shutil.rmtree(folder, ignore_errors=True)


def _boot(spec: Path, *options: str, timeout: float = 300) -> LabUnderTest:
    lab = LabUnderTest(spec)
    lab.cli("lab", "up", spec, *options, timeout=timeout)
    return lab


@pytest.fixture(scope="session")
def lab(needs_lab: None, lab_dir: Path) -> Iterator[LabUnderTest]:
    """The lab inventory, booted once for all tests that leave it as it is."""
    spec = lab_dir / "shared" / "cluster.yaml"
    shutil.copytree(INVENTORY.parent, spec.parent)
    booted = _boot(spec)
    yield booted
    booted.cli("lab", "down", spec)


@pytest.fixture(scope="module")
def machines(needs_lab: None, lab_dir: Path) -> Iterator[LabUnderTest]:
    """One rack of the lab inventory, whose two hosts are booted as machines; nothing is provisioned yet. It has a mirror and mounts."""
    spec = lab_dir / "machines" / "cluster.yaml"
    spec.parent.mkdir()
    zones = "  zones:\n    - {id: 1, racks: 1, rack_profile: fboss-rack}\n"
    text = re.sub(r"^  zones:\n(?:    - .*\n)+", zones, INVENTORY.read_text(encoding="utf-8"), flags=re.MULTILINE)
    spec.write_text(text, encoding="utf-8")
    try:
        yield _boot(spec, "--subset", "z01-rtsw001", "--boot", "z01-r001-*", timeout=900)
    finally:
        LabUnderTest(spec).cli("lab", "down", spec)


@pytest.fixture
def faulty_lab(lab: LabUnderTest) -> Iterator[LabUnderTest]:
    """The same lab for a test that breaks things; afterwards all is restored: sessions, routes and what LLDP hears are back."""
    yield lab
    lab.fault("restore")
    wait_until(lambda: not lab.missing(), words="not as it was")


@pytest.fixture
def boot_lab(needs_lab: None, lab_dir: Path, tmp_path: Path) -> Iterator[Callable[..., LabUnderTest]]:
    """`boot_lab(spec, "--blank")`: a lab of the test's own; `boot_lab()` copies the lab inventory. Taken down afterwards."""
    booted: list[Path] = []

    def boot(spec: Path | None = None, *options: str) -> LabUnderTest:
        if spec is None:
            spec = tmp_path / f"lab{len(booted)}" / "cluster.yaml"
            shutil.copytree(INVENTORY.parent, spec.parent)
        booted.append(spec)
        return _boot(spec, *options)

    yield boot
    for spec in booted:
        LabUnderTest(spec).cli("lab", "down", spec)
