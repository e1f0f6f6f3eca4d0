"""The stand-ins of hardware and vendor packages: what they answer is what check-host reads, and they remember what they were told."""

from __future__ import annotations

import fnmatch
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.catalog.loader import catalog
from fabric.design.hosts.model import HostFleet
from fabric.design.load import load_fleet
from fabric.lab.machines.standins import hardware, packages, repository
from fabric.lab.machines.standins.tools import boot, clock, firmware, kernel, manager, pci, smi, state
from fabric.verify.hosts.node import parse_gpu, parse_net, sources

LAB = Path(__file__).resolve().parents[2] / "inventories" / "lab" / "cluster.yaml"
HOST = "z01-r001-h1"
DRIVER = "580.126.16"


@pytest.fixture(scope="module")
def fleet() -> HostFleet:
    return load_fleet(LAB).fleet


@pytest.fixture
def host(tmp_path: Path, fleet: HostFleet, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root folder of a host that has just been switched on, with driver and DOCA installed."""
    for name, value in {
        "ROOT": tmp_path,
        "RUN": tmp_path / "run/standin",
        "KEPT": tmp_path / "var/lib/standin",
    }.items():
        monkeypatch.setattr(state, name, value)
    monkeypatch.setenv("STANDIN_ROOT", str(tmp_path))
    plan = fleet.plan(HOST)
    described = hardware.describe(plan, catalog().host("grand-teton-h100"))
    state.write(state.KEPT / "hardware.json", json.dumps(described))
    for package in ("nvidia-kernel-open-dkms", "mlnx-ofed-kernel-dkms"):
        state.write(tmp_path / "usr/share/standin" / package, DRIVER)
    for nic in plan.nics:
        (tmp_path / "sys/class/net" / nic.name).mkdir(parents=True)
    assert boot.main("boot", []) == 0
    return tmp_path


@pytest.fixture
def said(host: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """`said(module, "program", *arguments)`: what a program prints; it must succeed."""

    def run(module: object, *words: str) -> str:
        capsys.readouterr()
        assert module.main(words[0], list(words[1:])) == 0  # type: ignore[attr-defined]
        return capsys.readouterr().out

    return run


def script(host: Path, name: str, *words: str) -> str:
    """What a shell script prints; its name is that of the program."""
    link = host / "bin" / name
    link.parent.mkdir(exist_ok=True)
    shutil.copy(packages.SCRIPTS / {"setpci": "setpci", "mlnx_qos": "mlnx_qos"}.get(name, "cma_roce"), link)
    done = subprocess.run([link, *words], capture_output=True, text=True, check=False, env={**os.environ})
    return done.stdout if done.returncode == 0 else f"{done.returncode}: {done.stderr}"


def test_every_pinned_package_is_in_the_repository(fleet: HostFleet) -> None:
    made = {(deb.name, deb.version) for debs in packages.packages(fleet.versions).values() for deb in debs}
    for concern in ("rdma", "nvidia", "cuda", "nccl"):
        for wanted in fleet.packages[concern]:
            versions = [version for name, version in made if name == wanted.name]
            assert fnmatch.filter(versions, wanted.version or "*"), wanted


def test_every_dependency_is_in_the_repository(fleet: HostFleet) -> None:
    for debs in packages.packages(fleet.versions).values():
        made = {f"{deb.name} (= {deb.version})" for deb in debs}
        for deb in debs:
            assert set(filter(None, deb.depends.split(", "))) <= made, deb.name


@pytest.mark.lab
@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="no dpkg-deb")
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_repository_as_apt_wants_it(tmp_path: Path, umask: int) -> None:
    os.umask(umask)
    deb = packages.Deb(
        "datacenter-gpu-manager-4-core", "1:4.5.2-1", "libc6", files={"usr/bin/dcgmi": ("#!/bin/sh\n", 0o755)}
    )
    repository.build(tmp_path / "repo", [deb])
    index = dict(line.split(": ", 1) for line in (tmp_path / "repo/Packages").read_text().splitlines())
    built = tmp_path / "repo" / index["Filename"]
    assert int(index["Size"]) == built.stat().st_size
    shown = subprocess.run(
        ["dpkg-deb", "-f", built, "Package", "Version", "Depends"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.splitlines() == [
        "Package: datacenter-gpu-manager-4-core",
        "Version: 1:4.5.2-1",
        "Depends: libc6",
    ]
    listed = subprocess.run(["dpkg-deb", "-c", built], capture_output=True, text=True, check=True).stdout
    assert "-rwxr-xr-x root/root" in next(line for line in listed.splitlines() if line.endswith("dcgmi"))
    assert all(line.startswith("drwxr-xr-x") for line in listed.splitlines() if line.endswith("/"))


def test_nvidia_smi_answers_every_query_of_check_host(said: Callable[..., str]) -> None:
    for command in (sources.GPUS, sources.GPU_PCIE, sources.GPU_ECC, sources.GPU_CLOCKS, sources.GPU_ROWS):
        fields = command.argv[1].split("=", 1)[1].split(",")
        assert len(parse_gpu.table(said(smi, *command.argv), fields)) == 8
    assert {len(links) for links in parse_gpu.nvlinks(said(smi, *sources.NVLINK.argv)).values()} == {18}
    near = parse_gpu.topology(said(smi, *sources.GPU_TOPOLOGY.argv))
    assert near["GPU0"]["mlx5_0"] == "PXB"
    assert near["GPU0"]["mlx5_7"] == "SYS"


@pytest.mark.parametrize(("fault", "query", "change"), [
    ("ecc", sources.GPU_ECC, ("0", "3")), ("pcie-width", sources.GPU_PCIE, ("16", "8")),
    ("throttle", sources.GPU_CLOCKS, ("0x0000000000000001", "0x0000000000000040")),
])  # fmt: skip
def test_a_fault_of_one_gpu(
    said: Callable[..., str], fault: str, query: sources.Command, change: tuple[str, str]
) -> None:
    before = said(smi, *query.argv).splitlines()
    state.write(state.KEPT / "faults" / fault, "2")
    after = said(smi, *query.argv).splitlines()
    differ = [place for place, line in enumerate(after) if line != before[place]]
    assert differ == [2]
    cells = zip(before[2].split(", "), after[2].split(", "), strict=True)
    assert [pair for pair in cells if pair[0] != pair[1]] == [change]


def test_a_missing_gpu_and_another_platform(said: Callable[..., str]) -> None:
    state.write(state.KEPT / "faults/missing", "0")
    state.write(state.KEPT / "faults/platform", "NVIDIA A100-SXM4-80GB")
    rows = parse_gpu.table(said(smi, *sources.GPUS.argv), sources.GPU_FIELDS)
    assert [row["name"] for row in rows] == ["NVIDIA A100-SXM4-80GB"] * 7


def test_driver_library_and_fabric_manager_of_different_versions(
    host: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STANDIN_VERSION", DRIVER)
    assert manager.main("nv-fabricmanager", []) == 0
    monkeypatch.setenv("STANDIN_VERSION", "580.173.02")
    assert manager.main("nv-fabricmanager", []) == 1
    assert "don't match with driver version 580.126.16" in capsys.readouterr().err
    assert smi.main("nvidia-smi", list(sources.GPUS.argv[1:])) == 18
    assert "Driver/library version mismatch" in capsys.readouterr().out
    assert f"  {DRIVER}  " in (host / "proc/driver/nvidia/version").read_text()


def test_without_a_driver(host: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert kernel.main("modprobe", ["-r", "nvidia"]) == 0
    (host / "usr/share/standin/nvidia-kernel-open-dkms").unlink()
    assert smi.main("nvidia-smi", []) == 9
    assert kernel.main("modprobe", ["nvidia"]) == 1
    assert "NVIDIA-SMI has failed" in capsys.readouterr().out


def test_pci_settings_last_until_the_next_boot(host: Path, said: Callable[..., str]) -> None:
    devices = parse_net.lspci(said(pci, *sources.LSPCI.argv))
    bridge, nic = (
        next(one for one in devices.values() if one.acs),
        next(one for one in devices.values() if "ConnectX" in one.title),
    )
    assert (nic.speed, nic.width, nic.max_read_request) == ("32.0 GT/s", 16, 512)
    assert script(host, "setpci", "-s", bridge.address, "ECAP_ACS+0x6.w") == "001d\n"
    assert script(host, "setpci", "-s", nic.address, "ECAP_ACS+0x6.w").startswith("1: ")
    script(host, "setpci", "-s", bridge.address, "ECAP_ACS+0x6.w=0000")
    script(host, "setpci", "-s", nic.address, "CAP_EXP+08.w=5000:F000")
    after = parse_net.lspci(said(pci, *sources.LSPCI.argv))
    assert (after[bridge.address].acs, after[nic.address].max_read_request) == (False, 4096)
    boot.main("boot", [])
    again = parse_net.lspci(said(pci, *sources.LSPCI.argv))
    assert (again[bridge.address].acs, again[nic.address].max_read_request) == (True, 512)


def test_qos_of_a_nic(host: Path) -> None:
    assert parse_net.mlnx_qos(script(host, "mlnx_qos", "-i", "beth0")).trust == "pcp"
    for words in (("--trust", "dscp"), ("--pfc", "0,0,1,0,0,0,0,0"), ("--dscp2prio", "set,50,2"), ("--cable_len=2",)):
        text = script(host, "mlnx_qos", "-i", "beth0", *words)
    qos = parse_net.mlnx_qos(text)
    assert (qos.trust, qos.pfc, qos.priority[50], qos.priority[26], len(qos.priority)) == ("dscp", (2,), 2, 3, 64)
    assert "Cable len: 2" in text
    assert script(host, "mlnx_qos", "-i", "beth9").startswith("1: ")
    assert script(host, "mlnx_qos", "-i", "beth0", "--pfc", "0,2").startswith("1: ")


def test_rdma_cm_of_a_nic(host: Path) -> None:
    assert script(host, "cma_roce_mode", "-d", "mlx5_0", "-p", "1").startswith("1: ")  # no driver yet
    assert kernel.main("modprobe", ["-a", "mlx5_core", "mlx5_ib"]) == 0
    assert script(host, "cma_roce_mode", "-d", "mlx5_0", "-p", "1") == "IB/RoCE v1\n"
    assert script(host, "cma_roce_mode", "-d", "mlx5_0", "-p", "1", "-m", "2") == "RoCE v2\n"
    assert script(host, "cma_roce_tos", "-d", "mlx5_0", "-t", "200") == "200\n"
    assert script(host, "cma_roce_tos", "-d", "mlx5_9").startswith("1: ")


def test_firmware_settings_take_a_boot(said: Callable[..., str]) -> None:
    query = ("mlxconfig", "-d", "mlx5_0", "-e", "query", "CNP_DSCP_P1", "LINK_TYPE_P1")
    said(firmware, "mlxconfig", "-d", "mlx5_0", "-y", "set", "CNP_DSCP_P1=26", "LINK_TYPE_P1=ETH")
    assert parse_net.mlxconfig(said(firmware, *query)) == {
        "CNP_DSCP_P1": ("48", "26"),
        "LINK_TYPE_P1": ("IB(1)", "ETH(2)"),
    }
    boot.main("boot", [])
    assert parse_net.mlxconfig(said(firmware, *query)) == {
        "CNP_DSCP_P1": ("26", "26"),
        "LINK_TYPE_P1": ("ETH(2)", "ETH(2)"),
    }


def test_a_clock_that_is_off(said: Callable[..., str]) -> None:
    assert "0.000004000 seconds fast" in said(clock, *sources.CHRONY.argv)
    state.write(state.KEPT / "faults/clock", "-0.7")
    assert "0.700000000 seconds slow" in said(clock, *sources.CHRONY.argv)
