"""Booted hosts: which hosts of a lab are machines, the cache of images, the files of a machine."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.design.fabric import Fabric
from fabric.errors import FabricError
from fabric.lab.machines import image
from fabric.lab.topology import lab_topology


def test_machines_have_free_addresses_and_nobody_waits_for_their_routes(make_fabric: Callable[..., Fabric]) -> None:
    fabric = make_fabric("lab")
    plain, booted = lab_topology(fabric), lab_topology(fabric, boot=["z01-r001-h1", "z01-r002-*"])
    machines = [node for node in booted.nodes if node.machine]
    assert [node.name for node in machines] == ["z01-r001-h1", "z01-r002-h1", "z01-r002-h2"]
    assert [node.management for node in machines] == ["10.0.3.254/22", "10.0.3.253/22", "10.0.3.252/22"]
    assert all(len(node.ports) == 8 and not node.nics for node in machines)
    assert booted.cables == plain.cables
    reach = {node.name: set(node.reach) for node in booted.nodes}
    assert "10.128.0.1" not in set().union(
        *reach.values()
    )  # NICs of a machine have no address before it is provisioned
    assert len(reach["z01-rtsw001"]) < len(next(node for node in plain.nodes if node.name == "z01-rtsw001").reach)


def test_a_glob_that_fits_no_host(make_fabric: Callable[..., Fabric]) -> None:
    with pytest.raises(FabricError, match="--boot z01-r001-h9: no host of this lab has such a name"):
        lab_topology(make_fabric("lab"), boot=["z01-r001-h9"])
    with pytest.raises(FabricError, match="no host of this lab"):  # the host is there, and its rack is not booted
        lab_topology(make_fabric("lab"), subset=["z02-rtsw001"], boot=["z01-r001-h1"])


def test_another_recipe_is_another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    before = image.recipe()
    assert before == image.recipe()
    monkeypatch.setattr(image, "PACKAGES", (*image.PACKAGES, "tmux"))
    assert image.recipe() != before


def test_only_images_that_no_lab_holds_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_IMAGE_DIR", str(tmp_path))
    for name in ("held", "old", "part-dead"):
        (tmp_path / name).mkdir()
    image.hold(tmp_path / "held")
    made: list[Path] = []
    monkeypatch.setattr(image, "_build", made.append)
    said: list[str] = []
    assert image.ensure(said.append) == tmp_path / image.recipe()
    assert made == [tmp_path / image.recipe()]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["held", "lock"]
    assert "once" in said[0]


def test_a_build_that_fails_is_one_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_IMAGE_DIR", str(tmp_path))
    monkeypatch.setattr(image, "mirror", lambda: "http://127.0.0.1:9/debian")
    failed = subprocess.CompletedProcess([], 1, stdout="I: Retrieving Release\nE: Failed getting release file\n")
    monkeypatch.setattr(subprocess, "run", lambda *_args, **_options: failed)
    with pytest.raises(FabricError, match="debootstrap --force-check-gpg: E: Failed getting release file"):
        image.ensure(lambda _text: None)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_what_a_machine_lacks_for_booting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None if program == "debootstrap" else f"/usr/bin/{program}")
    with pytest.raises(FabricError, match="--boot needs the packages debootstrap"):
        image.check_machine()
