"""The Vagrantfile: Ruby that Vagrant accepts, with and without a vEOS box."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "Vagrantfile"


def vagrant(folder: Path, text: str, **env: str) -> subprocess.CompletedProcess[str]:
    """`vagrant validate` of `text`, with a home and a state of its own."""
    (folder / "Vagrantfile").write_text(text)
    clean = {name: value for name, value in os.environ.items() if name not in ("VEOS_BOX", "VAGRANT_CWD")}
    return subprocess.run(
        ["vagrant", "validate", "--ignore-provider"], cwd=folder, capture_output=True, text=True, check=False,
        env={**clean, "VAGRANT_HOME": str(folder / "home"), "VAGRANT_DOTFILE_PATH": str(folder / "dot"), **env},
    )  # fmt: skip


@pytest.fixture
def text() -> str:
    if not FILE.exists():
        pytest.skip("an sdist has no Vagrantfile")
    return FILE.read_text()


def test_ruby(text: str) -> None:
    if shutil.which("ruby") is None:
        pytest.skip("ruby is not installed")
    done = subprocess.run(["ruby", "-c"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("boxes", "env", "machines"),
    [
        ([], {}, {"fabric"}),
        (["debian-VAGRANTSLASH-bookworm64"], {}, {"fabric"}),
        (["some-VAGRANTSLASH-vEOS-lab"], {}, {"fabric", "veos1", "veos2"}),
        ([], {"VEOS_BOX": "mine"}, {"fabric", "veos1", "veos2"}),
    ],
)
def test_vagrant(tmp_path: Path, text: str, boxes: list[str], env: dict[str, str], machines: set[str]) -> None:
    if shutil.which("vagrant") is None:
        pytest.skip("vagrant is not installed")
    for box in boxes:
        (tmp_path / "home" / "boxes" / box).mkdir(parents=True)
    done = vagrant(tmp_path, text, **env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {line.split()[1].rstrip(":") for line in done.stdout.splitlines() if line.startswith("==>")} == machines


def test_vagrant_refuses_a_wrong_setting(tmp_path: Path, text: str) -> None:
    if shutil.which("vagrant") is None:
        pytest.skip("vagrant is not installed")
    done = vagrant(tmp_path, text.replace("demo.vm.hostname", "demo.vm.hostnam"))
    assert done.returncode != 0
    assert "hostnam" in done.stdout + done.stderr
