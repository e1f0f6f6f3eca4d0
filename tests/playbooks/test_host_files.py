"""fabric_files: what is written, removed, looked at and told; the same bytes as `fabric render`; no secret in a result."""

from __future__ import annotations

import base64
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.design.hosts.shared import fleet_at, note, prime
from fabric.errors import FabricError
from fabric.targets.host import CONCERNS, render
from tests.playbooks import host_modules
from tests.playbooks.host_modules import Call, Host, action, caller, files, packed

SECRET = "OnlyRootMayReadThis"
DEBIAN = 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'


@pytest.fixture
def host(tmp_path: Path) -> Host:
    root = tmp_path / "host"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "os-release").write_text(DEBIAN)
    return Host(root)


@pytest.fixture
def call(host: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(host, monkeypatch, capsys)


def file(path: str, text: str, mode: int = 0o644, *, secret: bool = False) -> dict[str, Any]:
    return {"path": path, "content": base64.b64encode(text.encode()).decode(), "mode": mode, "secret": secret}


def wanted(*written: dict[str, Any], **more: Any) -> str:
    plan = {"services": [], "optional": [], "held": []} | more.pop("plan", {})
    distribution = {"name": "debian-12", "title": "Debian 12", "ids": ["debian"], "version": "12"}
    parts = {"files": list(written), "packages": [], "keys": [], "family": "debian", "distribution": distribution}
    return packed(parts | {"plan": plan} | more)


def test_written_once_and_whole(call: Call, host: Host) -> None:
    payload = wanted(file("/etc/a/b/c.conf", "new\n", 0o600))
    check = call(files, check=True, concern="base", payload=payload)
    assert (check["changed"], check["changed_paths"]) == (True, ["/etc/a/b/c.conf"])
    assert not (host.root / "etc/a").exists()
    first = call(files, concern="base", payload=payload)
    assert first["diff"] == [
        {"before_header": "/etc/a/b/c.conf", "after_header": "/etc/a/b/c.conf", "before": "", "after": "new\n"}
    ]
    assert (host.root / "etc/a/b/c.conf").stat().st_mode & 0o7777 == 0o600
    for check_mode in (True, False):
        again = call(files, check=check_mode, concern="base", payload=payload)
        assert (again["changed"], again["diff"]) == (False, [])
    assert [path.name for path in (host.root / "etc/a/b").iterdir()] == ["c.conf"]


@pytest.mark.parametrize("drift", ["text", "mode", "link"])
def test_drift_is_put_right(call: Call, host: Host, drift: str) -> None:
    payload = wanted(file("/etc/x", "right\n"))
    call(files, concern="base", payload=payload)
    path = host.root / "etc/x"
    if drift == "text":
        path.write_text("wrong\n")
    elif drift == "mode":
        path.chmod(0o666)
    else:
        path.unlink()
        path.symlink_to("os-release")
    assert call(files, concern="base", payload=payload)["changed"]
    assert (path.read_text(), path.lstat().st_mode & 0o7777, path.is_symlink()) == ("right\n", 0o644, False)
    assert (host.root / "etc/os-release").read_text() == DEBIAN


def test_what_is_declared_no_more_goes_with_its_folders(call: Call, host: Host) -> None:
    (host.root / "etc/kept").mkdir()
    call(files, concern="nccl", payload=wanted(file("/etc/kept/a", "a"), file("/etc/new/deep/b", "b")))
    gone = call(files, concern="nccl", payload=wanted())
    assert gone["changed_paths"] == ["/etc/kept/a", "/etc/new/deep/b"]
    assert [gone["diff"][0][side] for side in ("before", "after")] == ["a", ""]
    assert (host.root / "etc/kept").is_dir()
    assert not (host.root / "etc/new").exists()
    assert not call(files, concern="nccl", payload=wanted())["changed"]


def test_what_stood_there_before_comes_back(call: Call, host: Host) -> None:
    path = host.root / "etc/fuse.conf"
    path.write_text("the distribution's\n")
    path.chmod(0o640)
    for text in ("ours", "ours, later"):
        call(files, concern="storage", payload=wanted(file("/etc/fuse.conf", text)))
        assert path.read_text() == text
    kept = host.root / "var/lib/fabric/concerns/originals"
    assert [folder.stat().st_mode & 0o7777 for folder in (kept, kept.parent)] == [0o700, 0o755]
    result = call(files, concern="storage", payload=wanted())
    assert (result["changed_paths"], result["diff"][0]["after"]) == (["/etc/fuse.conf"], "the distribution's\n")
    assert (path.read_text(), path.stat().st_mode & 0o7777) == ("the distribution's\n", 0o640)
    assert not call(files, concern="storage", payload=wanted())["changed"]


def test_what_others_wrote_is_left_alone(call: Call, host: Host) -> None:
    (host.root / "etc/theirs").write_text("theirs")
    call(files, concern="base", payload=wanted(file("/etc/ours", "ours")))
    call(files, concern="nccl", payload=wanted())
    assert (host.root / "etc/theirs").read_text() == "theirs"
    assert (host.root / "etc/ours").exists()


def test_no_secret_in_a_result(call: Call, host: Host) -> None:
    path = host.root / "etc/key"
    path.write_text("AnOlderSecret")
    path.chmod(0o600)
    for text in (SECRET, SECRET.lower()):
        result = call(files, concern="storage", payload=wanted(file("/etc/key", text, 0o600, secret=True)))
        assert result["diff"][0]["after"] == "mode 0600, another secret\n"
        assert path.read_text() == text
    removed = call(files, concern="storage", payload=wanted())
    assert removed["changed_paths"] == ["/etc/key"]
    assert path.read_text() == "AnOlderSecret"
    told = json.dumps([result, removed]).lower()
    assert SECRET.lower() not in told
    assert "anoldersecret" not in told


def test_another_distribution_is_left_alone(call: Call, host: Host) -> None:
    (host.root / "etc/os-release").write_text(
        'ID=rocky\nID_LIKE="rhel centos"\nVERSION_ID="9.4"\nPRETTY_NAME="Rocky 9.4"\n'
    )
    failed = call(files, concern="base", payload=wanted(file("/etc/x", "x")))
    assert failed["failed"]
    assert failed["msg"] == "the host runs Rocky 9.4, the spec declares Debian 12 (hosts.os: debian-12)"
    assert not (host.root / "etc/x").exists()
    rhel = {"name": "rhel-9", "title": "RHEL 9", "ids": ["rhel"], "version": "9"}
    assert call(files, concern="base", payload=wanted(file("/etc/x", "x"), distribution=rhel))["changed"]


def test_folder_in_the_place_of_a_file(call: Call, host: Host) -> None:
    (host.root / "etc/x").mkdir()
    assert call(files, concern="base", payload=wanted(file("/etc/x", "x")))["msg"].endswith(
        "etc/x is a folder; a file belongs there"
    )


def test_a_full_disk_names_the_file_and_leaves_the_old_one(
    call: Call, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    (host.root / "etc/x").write_text("old")

    def full(_number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    said = call(files, concern="base", payload=wanted(file("/etc/x", "x")))["msg"]
    assert said.endswith("/etc/x: No space left on device")
    assert [(path.name, path.read_text()) for path in (host.root / "etc").glob("*x*")] == [("x", "old")]


def test_packages_are_looked_at(call: Call, host: Host) -> None:
    host.packages = {"driver": "hold 580.1-1", "held": "hold 1:4.5-1", "loose": "install 2.0", "tool": "install 9"}
    packages = [
        {"name": "driver", "version": "580.2-*", "hold": True}, {"name": "held", "version": "1:4.5-*", "hold": True},
        {"name": "loose", "version": "2.0", "hold": True}, {"name": "tool", "version": None, "hold": False},
        {"name": "new", "version": None, "hold": False},
    ]  # fmt: skip
    payload = wanted(packages=packages, plan={"held": ["driver", "held", "loose"]})
    for check in (True, False):
        result = call(files, check=check, concern="nvidia", payload=payload)
        assert (result["install"], result["remove"]) == (["driver=580.2-*", "new"], [])
        assert result["notes"] == [
            "package driver 580.2-*: 580.1-1", "package new : not there", "package loose is not held",
        ]  # fmt: skip
        named = [diff["after_header"] for diff in result["diff"]]
        assert named == (["packages and services of nvidia"] if check else [])
        assert (result["changed"], result["settle"]) == (check, True), "a run changes nothing here, the next tasks do"
    state = json.loads((host.root / "var/lib/fabric/concerns/nvidia.json").read_text())
    assert state["before"] == {"driver": "580.1-1"}
    host.packages |= {"driver": "hold 580.2-1", "loose": "hold 2.0", "new": "install 1"}
    rest = wanted(packages=packages[1:], plan={"held": ["held", "loose"]})
    assert call(files, concern="nvidia", payload=rest)["remove"] == ["driver"], "pinned by us, and declared no more"
    del host.packages["driver"]
    last = call(files, concern="nvidia", payload=rest)
    assert (last["changed"], last["install"], last["remove"]) == (False, [], [])


@pytest.mark.parametrize(
    ("unit", "told"),
    [
        ("enabled active", []),
        ("disabled active", ["a.service is disabled, active"]),
        ("enabled failed", ["a.service is enabled, failed"]),
        ("enabled inactive unmet", []),
        ("static active", []),
        ("", ["a.service is not there"]),
    ],
)
def test_services_are_looked_at(call: Call, host: Host, unit: str, told: list[str]) -> None:
    host.units = {"a.service": unit} if unit else {}
    payload = wanted(plan={"services": ["a.service", "none.service"], "optional": ["none.service"]})
    for check in (True, False):
        result = call(files, check=check, concern="base", payload=payload)
        assert (result["notes"], result["settle"]) == (told, bool(told))
        assert result["changed"] == (check and bool(told))


def test_a_service_that_waits_for_a_reboot_is_no_difference(call: Call, host: Host) -> None:
    host.units = {"a.service": "enabled inactive"}
    (host.root / "run/fabric/reboot-required.d").mkdir(parents=True)
    (host.root / "run/fabric/reboot-required.d/nvidia").write_text("why\n")
    payload = wanted(plan={"services": ["a.service"]})
    assert not call(files, concern="nvidia", payload=payload)["settle"]
    assert call(files, concern="base", payload=payload)["settle"]


@pytest.mark.parametrize("os", ["debian-12", "ubuntu-22.04", "ubuntu-24.04", "rhel-9"])
def test_the_same_bytes_as_render(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call, spec_file: Callable[..., Path], os: str
) -> None:
    secret = {"secrets.token": {"env": "STORAGE_TOKEN"}, "storage.0.secrets": {"TOKEN": "token"}}
    cluster = fleet_at(spec_file("lab", {"hosts.os": os, **secret}))
    plan = cluster.fleet.plan("z02-r001-h2")
    with pytest.raises(FabricError, match="STORAGE_TOKEN"):
        action.payload_of(cluster, plan, "storage", {})
    monkeypatch.setenv("STORAGE_TOKEN", SECRET)
    for concern in CONCERNS:
        payload = packed(action.payload_of(cluster, plan, concern, {}))
        call(files, concern=concern, payload=payload, root=str(tmp_path / "tree"))
    have = {
        "/" + str(path.relative_to(tmp_path / "tree")): (path.read_bytes(), path.stat().st_mode & 0o7777)
        for path in (tmp_path / "tree").rglob("*")
        if path.is_file() and "concerns" not in path.parts
    }
    rendered = {
        a.path: (a.content.replace(b"$SECRET{token}", SECRET.encode()), a.mode) for a in render(cluster.fleet, plan)
    }
    assert have == rendered
    assert any(SECRET.encode() in content and mode == 0o600 for content, mode in have.values())


def test_a_unit_depends_on_what_its_files_name(spec_file: Callable[..., Path]) -> None:
    cluster = fleet_at(spec_file("lab"))
    plan = action.payload_of(cluster, cluster.fleet.plan("z01-r001-h1"), "rdma", {})["plan"]
    roce = "/etc/systemd/system/fabric-roce@.service"
    assert {roce, "/usr/libexec/fabric/roce", "/etc/fabric/roce.conf"} <= set(plan["restart"]["fabric-roce.target"])
    assert "/usr/libexec/fabric/pcie" not in plan["restart"]["fabric-roce.target"]
    assert "/usr/libexec/fabric/pcie" in plan["restart"]["fabric-pcie.service"]
    assert roce in plan["others"]["fabric-roce@*.service"]


def test_topology_on_the_controller(spec_file: Callable[..., Path], call: Call, host: Host) -> None:
    cluster = fleet_at(spec_file("lab"))
    (host.root / "etc/os-release").unlink()  # any distribution will do
    payload = packed(action.topology_of(cluster, "/etc/slurm"))
    result = call(files, concern="topology", payload=payload, packages=False, services=False)
    assert result["changed_paths"] == ["/etc/slurm/fabric-topology.conf", "/etc/slurm/topology.conf"]
    assert "SwitchName=z01-rtsw001 Nodes=z01-r001-h[1-2]" in (host.root / "etc/slurm/topology.conf").read_text()
    with pytest.raises(FabricError, match="declares no scheduler"):
        action.topology_of(fleet_at(spec_file("lab", {"scheduler": None})), "/etc/slurm")


def test_the_design_is_made_once(spec_file: Callable[..., Path]) -> None:
    path = spec_file("lab")
    note(path)
    (primed,) = [cluster for cluster in prime() if Path(cluster.loaded.path) == path]
    assert fleet_at(path) is primed
    path.write_text(path.read_text().replace("580.126.16", "580.126.20"))
    assert fleet_at(path).fleet.versions["driver"] == "580.126.20"


def test_the_modules_document_what_they_take() -> None:
    for name in ("files", "settle", "firmware"):
        module = getattr(host_modules, name)
        documented = yaml.safe_load(module.DOCUMENTATION)
        assert documented["module"] == f"fabric_{name}"
        assert yaml.safe_load(module.RETURN)
        assert yaml.safe_load(module.EXAMPLES)
