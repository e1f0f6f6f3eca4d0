"""fabric_settle and fabric_firmware: what is put into effect, in which order, what a run that was cut off leaves, when a reboot is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.playbooks.host_modules import Call, Host, caller, firmware, settle

UNIT = "/etc/systemd/system/a.service"
STATE = "var/lib/fabric/concerns/nvidia.json"
REASON = "run/fabric/reboot-required.d/nvidia"


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


@pytest.fixture
def call(host: Host, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(host, monkeypatch, capsys)


def left(host: Host, pending: list[str] | None = None, before: dict[str, str] | None = None) -> None:
    """What fabric_files left to do; the files are there unless their name says that they are gone."""
    state = host.root / STATE
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text(json.dumps({"files": {}, "packages": [], "pending": pending or [], "before": before or {}}))
    for path in pending or []:
        if "gone" not in path:
            (host.root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
            (host.root / path[1:]).touch()


def plan(**more: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {
        "services": [],
        "optional": [],
        "held": [],
        "restart": {},
        "others": {},
        "nics": [],
        "reboot_after": [],
    }
    return {"family": "debian", "reboot_packages": [], "reboot_modules": [], **empty, **more}


def pending(host: Host) -> Any:
    return json.loads((host.root / STATE).read_text())["pending"]


@pytest.mark.parametrize(
    ("path", "commands"),
    [
        ("/etc/sysctl.d/90.conf", ["systemd-sysctl /etc/sysctl.d/90.conf"]),
        ("/etc/systemd/system.conf.d/x.conf", ["systemctl daemon-reexec"]),
        ("/etc/systemd/network/x.network", ["networkctl reload"]),
        ("/etc/modules-load.d/x.conf", ["systemctl restart systemd-modules-load.service"]),
        (
            "/etc/NetworkManager/system-connections/fabric-beth0.nmconnection",
            ["nmcli general reload", "nmcli connection reload", "nmcli connection up id fabric-beth0"],
        ),
        ("/etc/nccl.conf", []),
    ],
)
def test_each_kind_of_file_counts_at_once(call: Call, host: Host, path: str, commands: list[str]) -> None:
    left(host, [path])
    (host.root / "sys/class/net/beth0").mkdir(parents=True)
    result = call(settle, concern="nvidia", plan=plan())
    assert (host.done, result["changed"]) == (commands, bool(commands))
    assert pending(host) == []


def test_services_are_held_enabled_restarted_and_started_in_order(call: Call, host: Host) -> None:
    left(host, [UNIT])
    host.units = {"a.service": "disabled active", "b.service": "enabled inactive", "c.service": "enabled active"}
    host.packages = {"loose": "install 1", "held": "hold 1"}
    wanted = plan(
        services=["b.service", "a.service", "c.service", "none.service"],
        optional=["none.service"],
        held=["loose", "held"],
        restart={"a.service": [UNIT], "c.service": ["/etc/other"]},
        others={"x@*.service": [UNIT], "y.mount": ["/etc/other"]},
    )
    result = call(settle, concern="nvidia", plan=wanted)
    assert host.done == [
        "apt-mark hold loose",
        "systemctl daemon-reload",
        "systemctl enable -- a.service",
        "systemctl restart -- a.service",
        "systemctl try-restart -- x@*.service",
        "systemctl start -- b.service",
    ]
    assert (result["changed"], result["reboot"]) == (True, "")
    host.done.clear()
    assert not call(settle, concern="nvidia", plan=wanted)["changed"]
    assert host.done == []


def test_what_failed_is_told_and_stays_to_be_done(call: Call, host: Host) -> None:
    left(host, [UNIT])
    host.units = {"a.service": "enabled active"}
    host.refuse = {"systemctl restart": "Job for a.service failed."}
    host.answers = {"journalctl": "no such pool\nno such pool\ngiving up\n"}
    wanted = plan(services=["a.service"], restart={"a.service": [UNIT]})
    failed = call(settle, concern="nvidia", plan=wanted)
    assert failed["failed"]
    assert failed["msg"] == "a.service does not restart: no such pool; giving up"
    assert pending(host) == [UNIT]
    host.refuse = {}
    assert call(settle, concern="nvidia", plan=wanted)["done"][-1] == "restarted a.service"
    assert pending(host) == []


def test_a_unit_whose_file_is_gone_is_stopped_before_systemd_forgets_it(call: Call, host: Host) -> None:
    units = host.root / "etc/systemd/system"
    (units / "multi-user.target.wants").mkdir(parents=True)
    for name in ("gone.service", "kept.service"):
        (units / "multi-user.target.wants" / name).symlink_to(f"/etc/systemd/system/{name}")
    host.units = {"gone.service": "enabled active"}
    left(host, ["/etc/systemd/system/gone.service", "/etc/systemd/system/a.service.d/gone.conf"])
    call(settle, concern="nvidia", plan=plan())
    assert host.done == ["systemctl stop -- gone.service", "systemctl daemon-reload"]
    assert [path.name for path in (units / "multi-user.target.wants").iterdir()] == ["kept.service"]


@pytest.mark.parametrize(
    ("before", "have", "reason"),
    [
        (
            {"nvidia-open": "580.1-1"},
            "580.2-1",
            "nvidia-open 580.2-1 replaced 580.1-1, whose modules the kernel still runs",
        ),
        ({"nvidia-open": "580.2-1"}, "580.2-1", ""),
        ({"nvidia-open": ""}, "580.2-1", "module nouveau is loaded, in the way of the one that was installed"),
        ({"dcgm": "1"}, "580.2-1", ""),
        ({}, "580.2-1", ""),
    ],
)
def test_a_driver_that_the_kernel_does_not_run_yet(
    call: Call, host: Host, before: dict[str, str], have: str, reason: str
) -> None:
    left(host, before=before)
    (host.root / "sys/module/nouveau").mkdir(parents=True)
    (host.root / "sys/module/nouveau/initstate").touch()
    host.packages = {"nvidia-open": f"hold {have}", "dcgm": "hold 2"}
    host.units = {"manager.service": "disabled inactive", "dcgm.service": "enabled active"}
    services = ["manager.service", "dcgm.service"]
    wanted = plan(services=services, reboot_packages=["nvidia-open"], reboot_modules=["nouveau"])
    result = call(settle, concern="nvidia", plan=wanted)
    assert result["reboot"] == reason
    if reason:
        assert (host.root / REASON).read_text() == f"{reason}\n"
        assert host.done == ["systemctl enable -- manager.service"], "enabled, and neither started nor restarted"
        host.done.clear()
        again = call(settle, concern="nvidia", plan=wanted)
        assert (again["changed"], again["reboot"], host.done) == (False, reason, [])
        (host.root / REASON).unlink()  # as the boot does
        call(settle, concern="nvidia", plan=wanted)
        assert host.done == ["systemctl start -- manager.service"]
    else:
        assert not (host.root / REASON).exists()
        restarted = ["systemctl restart -- dcgm.service"] if "dcgm" in before else []
        assert host.done == ["systemctl enable -- manager.service", *restarted, "systemctl start -- manager.service"]


def test_names_of_nics_come_at_boot(call: Call, host: Host) -> None:
    left(host, ["/etc/udev/rules.d/70-fabric-names.rules"])
    (host.root / "sys/class/net/beth0").mkdir(parents=True)
    result = call(settle, concern="nvidia", plan=plan(nics=["beth0", "beth1"]))
    assert result["reboot"] == "NICs get their names at boot: beth1"


def test_a_connection_of_a_nic_without_its_name_is_not_brought_up(call: Call, host: Host) -> None:
    left(host, ["/etc/NetworkManager/system-connections/fabric-beth0.nmconnection"])
    call(settle, concern="nvidia", plan=plan())
    assert host.done == ["nmcli general reload", "nmcli connection reload"]


def test_a_concern_waits_for_the_one_that_it_needs(call: Call, host: Host) -> None:
    (host.root / REASON).parent.mkdir(parents=True)
    (host.root / REASON).with_name("rdma").write_text("why\n")
    host.units = {"a.service": "enabled inactive"}
    result = call(settle, concern="nvidia", plan=plan(services=["a.service"], reboot_after=["network", "rdma"]))
    assert result["reboot"] == "rdma waits for a reboot, and must be there first"
    assert host.done == []


TABLE = "{:8}{:30}{:12}{:12}{:12}\n"


def answer(*rows: tuple[str, str, str]) -> str:
    head = "\nDevice #1:\n----------\n\nDevice type:        ConnectX7\n\nConfigurations:    Default    Current    Next Boot\n"
    return head + "".join(TABLE.format("*", key, "False(0)", current, after) for key, current, after in rows)


@pytest.mark.parametrize(
    ("rows", "differ", "reboot", "told"),
    [
        ([("LINK_TYPE_P1", "ETH(2)", "ETH(2)"), ("NUM_OF_VFS", "0", "0")], [], "", []),
        (
            [("LINK_TYPE_P1", "IB(1)", "IB(1)"), ("NUM_OF_VFS", "8", "8")],
            ["d0: LINK_TYPE_P1 is IB(1), declared 2", "d0: NUM_OF_VFS is 8, declared 0"],
            "NIC firmware takes d0 LINK_TYPE_P1 and 1 more at boot only",
            ["mlxconfig -d d0 -y set LINK_TYPE_P1=2 NUM_OF_VFS=0"],
        ),
        (
            [("LINK_TYPE_P1", "IB(1)", "ETH(2)"), ("NUM_OF_VFS", "0", "0")],
            [], "NIC firmware takes d0 LINK_TYPE_P1 at boot only", [],
        ),
    ],
)  # fmt: skip
def test_firmware(
    call: Call, host: Host, monkeypatch: pytest.MonkeyPatch,
    rows: list[tuple[str, str, str]], differ: list[str], reboot: str, told: list[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(firmware.AnsibleModule, "get_bin_path", lambda _self, name, **_more: f"/usr/bin/{name}")
    host.answers = {"mlxconfig -d d0 -e query": answer(*rows)}
    settings = ["LINK_TYPE_P1=2", "NUM_OF_VFS=0"]
    reason = host.root / "run/fabric/reboot-required.d/firmware"
    for check in (True, False):
        host.done.clear()
        result = call(firmware, check=check, devices=["d0"], settings=settings)
        assert (result["differ"], result["reboot"], result["changed"]) == (differ, reboot, bool(reboot))
        assert host.done[1:] == ([] if check else told)
        assert reason.exists() == (bool(reboot) and not check)
    if reboot and not differ:
        assert not call(firmware, devices=["d0"], settings=settings)["changed"], "the reason is told once"


def test_a_nic_without_the_parameter(call: Call, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firmware.AnsibleModule, "get_bin_path", lambda _self, name, **_more: f"/usr/bin/{name}")
    host.refuse = {"mstconfig -d d0": "-E- The Device doesn't support X_P1 parameter\n"}
    failed = call(firmware, tool="mstconfig", devices=["d0"], settings=["X_P1=1"])
    assert failed["msg"] == "d0: mstconfig: -E- The Device doesn't support X_P1 parameter"
    host.refuse, host.answers = {}, {"mstconfig -d d0": answer(("OTHER", "1", "1"))}
    assert (
        call(firmware, tool="mstconfig", devices=["d0"], settings=["X_P1=1"])["msg"]
        == "d0: the NIC says nothing of X_P1"
    )


def test_firmware_before_its_tool_is_installed(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firmware.AnsibleModule, "get_bin_path", lambda _self, _name, **_more: None)
    assert call(firmware, check=True, devices=["d0"], settings=["A=1"])["differ"] == ["mlxconfig is not there yet"]
