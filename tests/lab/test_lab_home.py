"""A switch's /root is its own: what is written there is seen by no other node and not by the machine."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.conftest import LabUnderTest

pytestmark = pytest.mark.lab


@pytest.mark.parametrize(
    ("node", "other"), [("z01-rtsw001", "z01-rtsw002"), ("z02-rtsw001", "z01-ctsw01"), ("z01-r001-h1", "z01-rtsw001")]
)
def test_root_is_private(lab: LabUnderTest, node: str, other: str) -> None:
    file = Path("/root") / f"fabric-test-{secrets.token_hex(4)}"
    try:
        lab.node(node, "sh", "-c", f"echo {node} > {file}")
        assert lab.node(node, "cat", file).stdout == f"{node}\n"
        assert lab.node(other, "test", "-e", file, check=False).returncode == 1
        assert lab.seat("test", "-e", file, check=False).returncode == 1
        assert not file.exists()
    finally:
        file.unlink(missing_ok=True)


def test_the_home_of_root_over_ssh_is_private(lab: LabUnderTest) -> None:
    name = f"fabric-test-{secrets.token_hex(4)}"
    lab.ssh("root", "10.0.1.17", f"touch ~/{name} /root/{name} && ls -a ~ >/dev/null")
    assert lab.node("z01-rtsw001", "sh", "-c", f"ls /root/{name}").stdout == f"/root/{name}\n"
    assert lab.ssh("root", "10.0.1.18", f"ls ~/{name} /root/{name} 2>/dev/null; true").stdout == ""
    assert not (Path("/root") / name).exists()


def test_a_lab_whose_folder_is_below_root_still_works(
    boot_lab: Callable[..., LabUnderTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path("/root") / f"fabric-labs-{secrets.token_hex(4)}"
    monkeypatch.setenv("FABRIC_LAB_DIR", str(folder))
    try:
        lab = boot_lab(None, "--subset", "z01-rtsw001", "--subset", "z02-rtsw001")
        assert lab.ssh("netops", "10.0.1.33", "show hostname").stdout.startswith("Hostname: z02-rtsw001")
        lab.cli("lab", "down", lab.spec)
    finally:
        assert not folder.exists() or not any(folder.iterdir())
        if folder.exists():
            folder.rmdir()
