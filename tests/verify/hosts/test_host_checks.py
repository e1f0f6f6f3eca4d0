"""Every check of a host: what it passes, what it finds, and that what it cannot see is no fault."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.design.hosts.expect import Expectation, ExpectedPackage
from fabric.verify.hosts.node import checks_driver, checks_pcie
from fabric.verify.hosts.node import sources as src
from fabric.verify.hosts.node.check import run, sources
from fabric.verify.hosts.node.checks import ALL
from fabric.verify.hosts.node.result import Result, same_version
from fabric.verify.hosts.node.sources import Command, Digest, Files, Probe, Seen, Source, Unseen
from tests.verify.hosts import healthy_host as h

IB = dataclasses.replace(h.WANT, backend="infiniband", mtu=0, qos=None)
INBOX = dataclasses.replace(h.WANT, versions=h.INBOX)
SMALL = dataclasses.replace(h.WANT, mtu=1500)
PINNED = dataclasses.replace(h.WANT, nccl={**h.WANT.nccl, "NCCL_IB_GID_INDEX": "1"})
HOST = h.WANT.host
FUSE, NFS = Probe("/mnt/scratch", HOST), Probe("/mnt/home", HOST)
MANAGER = src.dpkg(checks_driver.MANAGER_PACKAGES)
DUMP = checks_pcie.dump_of(h.SLOTS)[0]
PACKAGES = src.dpkg(["nvidia-open", "libnccl2"])


def results(changes: dict[Source, object] | None = None, want: Expectation = h.WANT) -> list[Result]:
    return run(ALL, want, Seen({**h.HEALTHY, **(changes or {})}, h.NOW))


def bad(found: list[Result]) -> list[tuple[str, str]]:
    return [(result.check, result.unit) for result in found if result.verdict == "fail"]


def file(path: str, text: str) -> dict[Source, object]:
    return {Files(path): {path: text}}


def late(source: Files, text: str) -> dict[Source, object]:
    return {source: {source.pattern: text}}


def sub(source: Source, pattern: str, text: str, count: int = 1) -> dict[Source, object]:
    """The healthy text with something in it changed."""
    found = h.HEALTHY[source]
    if isinstance(found, str):
        made = re.sub(pattern, text, found, count=count)
        assert made != found
        return {source: made}
    assert isinstance(found, dict)
    return {source: {path: re.sub(pattern, text, value, count=count) for path, value in found.items()}}


def log(*lines: str) -> dict[Source, object]:
    return {
        src.KERNEL_LOG: h.LOG + "".join(f"{h.NOW - 30 + place:.6f} h1 {line}\n" for place, line in enumerate(lines))
    }


def test_a_healthy_host_passes_everything() -> None:
    found = results()
    assert [result for result in found if result.verdict != "pass"] == []
    applies = {check.id for check in ALL if check.needs(h.WANT)}
    assert {result.check for result in found} == applies == {check.id for check in ALL} - {"rdma.ib-port"}


# check, unit, a part of what is measured, what is changed on the host
FAULTS: list[tuple[str, str, str, dict[Source, object]]] = [
    ("host.name", "", "calls itself other", file("/proc/sys/kernel/hostname", "other\n")),
    ("host.os", "", "ubuntu 24.04", late(src.OS_RELEASE, "ID=ubuntu\nID_LIKE=debian\nVERSION_ID='24.04'\n")),
    ("host.sysctl", "kernel.numa_balancing", "1", file("/proc/sys/kernel/numa_balancing", "1\n")),
    ("host.governor", "", "1 of 2 CPUs: powersave", {src.GOVERNORS: {"a": "powersave\n", "b": "performance\n"}}),
    ("host.hugepages", "", "0 huge pages", file("/proc/meminfo", "HugePages_Total: 0\n")),
    ("host.memory", "mc1", "3 uncorrectable", {src.EDAC: {"/x/mc/mc0/ue_count": "0", "/x/mc/mc1/ue_count": "3"}}),
    ("host.modules", "nvidia_peermem", "not loaded", sub(src.MODULES, "nvidia_peermem.*\n", "")),
    ("host.packages", "libnccl2", "2.29.1", sub(PACKAGES, r"2\.28\.9-1", "2.29.1-1")),
    ("host.packages", "", "not installed: libnccl2", sub(PACKAGES, "libnccl2.*\n", "")),
    ("host.packages", "hold", "not held: nvidia-open", {src.HELD_APT: "libnccl2\n"}),
    ("host.services", "lldpd.service", "failed (failed, exit-code)", {
        src.units(["nvidia-dcgm.service", "lldpd.service"]):
            h.unit("nvidia-dcgm.service") + "\n" + h.unit("lldpd.service", "failed", "failed", "exit-code")}),
    ("host.files", "/etc/nccl.conf", "other content", {Digest("/etc/nccl.conf"): {"/etc/nccl.conf": "cd" * 32}}),
    ("host.files", "", "not there: /etc/nccl.conf", {Digest("/etc/nccl.conf"): {}}),
    ("host.reboot", "nvidia", "driver 580", {src.REBOOT_DUE: {"/run/fabric/reboot-required.d/nvidia": "driver 580\n"}}),
    ("host.clock", "", "1500 ms off", sub(src.CHRONY, "0.000012", "1.5")),
    ("host.clock", "", "no source", sub(src.CHRONY, "Normal", "Not synchronised")),
    ("host.clock", "", "not synchronised", {src.CHRONY: Unseen("x"), src.CLOCK: "NTPSynchronized=no\n"}),
    ("gpu.count", "", "1 GPUs", sub(src.GPUS, r"1, 0.*\n", "")),
    ("gpu.count", "model", "A100", sub(src.GPUS, "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB")),
    ("gpu.count", "GPU 1", "40000 MiB", sub(src.GPUS, r"(1, 0.*)81559", r"\g<1>40000")),
    ("gpu.driver", "", "570.133.20", {**sub(src.GPUS, "580.126.16", "570.133.20", 0), **late(src.DRIVER_LOADED, "")}),
    ("gpu.driver", "", "library and kernel module differ", {
        src.GPUS: Unseen("nvidia-smi ended with 18: Driver/library version mismatch; NVML library version: 580.126")}),
    ("gpu.driver", "", "kernel module 570.133.20", sub(src.DRIVER_LOADED, "580.126.16", "570.133.20")),
    ("gpu.fabric-manager", "version", "580.126.09-1, the driver is 580.126.16", sub(MANAGER, "580.126.16", "580.126.09")),
    ("gpu.fabric-manager", "version", "not installed", sub(MANAGER, "\tinstalled", "\tconfig-files")),
    ("gpu.fabric-manager", "service", "failed", {
        checks_driver.FABRIC_MANAGER: h.unit("nvidia-fabricmanager.service", "failed", "failed", "exit-code")}),
    ("gpu.ecc", "GPU 1", "2 uncorrected DRAM errors (volatile)", sub(src.GPU_ECC, "1, Enabled, 0, 0, 0", "1, Enabled, 0, 0, 2")),
    ("gpu.ecc", "GPU 0", "10001 corrected SRAM errors (aggregate)", sub(src.GPU_ECC, "3, 9", "3, 10001")),
    ("gpu.ecc", "GPU 0", "ECC is Disabled", sub(src.GPU_ECC, "Enabled", "Disabled")),
    ("gpu.ecc", "GPU 0000:1a:00.0", "waits to be remapped", sub(src.GPU_ROWS, "2, No, No", "2, Yes, No")),
    ("gpu.ecc", "GPU 0000:2b:00.0", "could not be remapped", sub(src.GPU_ROWS, ", 0, 0, 0", ", 0, 0, 1")),
    ("gpu.ecc", "GPU 0000:1a:00.0", "513 rows", sub(src.GPU_ROWS, "2, No, No", "513, No, No")),
    ("gpu.nvlink", "GPU 0", "17 links up, down: 3", sub(src.NVLINK, r"Link 3: 26\.562 GB/s", "Link 3: <inactive>")),
    ("gpu.nvlink", "GPU 0", "17 links up", sub(src.NVLINK, r"\t Link 17: .*\n", "")),
    ("gpu.xid", "GPU 0000:1b:00", "Xid 79, 2 times", log(*["kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=1, fell off"] * 2)),
    ("gpu.clocks", "GPU 1", "thermal slowdown by hardware", sub(src.GPU_CLOCKS, "0x0000000000000004", "0x0000000000000044")),
    ("gpu.pcie", "GPU 0", "generation 5, x8", sub(src.GPU_PCIE, "0, 5, 16, 16", "0, 5, 8, 16")),
    ("gpu.pcie", "GPU 1", "generation 4, x16", sub(src.GPU_PCIE, "1, 5", "1, 4")),
    ("gpu.topology", "mlx5_1", "SYS away", sub(src.GPU_TOPOLOGY, "SYS\tPIX\t48", "SYS\tSYS\t48")),
    ("nic.slot", "beth1", "in slot 0000:9d:00.0", sub(src.ethtool_driver("beth1"), "2c", "9d")),
    ("nic.link", "beth0", "down (cable to z01-rtsw001 eth1/1/1)", file("/sys/class/net/beth0/operstate", "down\n")),
    ("nic.link", "beth0", "200 Gb/s", sub(src.ethtool("beth0"), "400000", "200000")),
    ("nic.link", "beth1", "there is no such NIC", {Files("/sys/class/net/beth1/operstate"): {}}),
    ("nic.mtu", "beth1", "1500", file("/sys/class/net/beth1/mtu", "1500\n")),
    ("nic.address", "beth0", "10.128.0.9/31", sub(src.IP_ADDRESSES, r"10\.128\.0\.1\"", '10.128.0.9"')),
    ("nic.routing", "beth1", "no rule for 10.128.0.3", sub(src.IP_RULES[4], '"102"', '"main"')),
    ("nic.routing", "beth0", "default by fe80::9", sub(src.IP_ROUTES[6], "2001:db8:0::1", "fe80::9")),
    ("nic.routing", "beth0", "no default route in table 101", sub(src.IP_ROUTES[4], '"101"', '"254"')),
    ("nic.flaps", "beth0", "carrier lost 5 times", log(*["systemd-networkd[7]: beth0: Lost carrier"] * 4)),
    ("nic.flaps", "beth1", "carrier lost 5 times", log(*["kernel: mlx5_core 0000:2c:00.0 beth1: Link down"] * 5)),
    ("nic.cable", "beth1", "z01-rtsw001 eth1/1/1", {
        src.LLDP: json.dumps({"lldp": {"interface": [h.neighbour(0), h.neighbour(1, "eth1/1/1")]}})}),
    ("pcie.link", "beth0", "16.0 GT/s x16", sub(src.LSPCI, r"(1b:00(?:.|\n)*?LnkSta:\tSpeed )32GT/s", r"\g<1>16GT/s (downgraded)")),
    ("pcie.link", "beth1", "32.0 GT/s x8", sub(src.LSPCI, r"(2c:00(?:.|\n)*?LnkSta:.*)x16", r"\g<1>x8 (downgraded)")),
    ("pcie.mrrs", "beth0", "512 bytes", sub(src.LSPCI, r"(1b:00(?:.|\n)*?MaxReadReq )4096", r"\g<1>512")),
    ("pcie.acs", "", "SrcValid+ on 0000:00:00.0", sub(src.LSPCI, r"ACSCtl:\tSrcValid-", "ACSCtl:\tSrcValid+")),
    ("rdma.port", "mlx5_1", "PORT_DOWN", {src.IBV_DEVINFO: h.hca(0) + h.hca(1, state="PORT_DOWN (1)")}),
    ("rdma.port", "mlx5_0", "active MTU 1024", {src.IBV_DEVINFO: h.hca(0, mtu="1024 (3)") + h.hca(1)}),
    ("rdma.port", "mlx5_0", "link layer InfiniBand", {src.IBV_DEVINFO: h.hca(0, layer="InfiniBand") + h.hca(1)}),
    ("rdma.port", "mlx5_1", "no such RDMA device", {src.IBV_DEVINFO: h.hca(0)}),
    ("rdma.gid", "mlx5_0", "no RoCE v2 GID of 10.128.0.1", sub(src.SHOW_GIDS, r"10.128.0.1  \tv2", "10.128.0.1  \tv1")),
    ("rdma.gid", "", "different indexes", sub(src.SHOW_GIDS, r"mlx5_1\t1\t3", "mlx5_1\t1\t5")),
    ("rdma.qos", "beth0", "trust pcp", {src.mlnx_qos("beth0"): h.qos(trust="pcp")}),
    ("rdma.qos", "beth1", "PFC on no priority", {src.mlnx_qos("beth1"): h.qos(pfc="0 0 0 0 0 0 0 0")}),
    ("rdma.qos", "beth1", "PFC on 3, 5", {src.mlnx_qos("beth1"): h.qos(pfc="0 0 0 1 0 1 0 0")}),
    ("rdma.qos", "beth0", "DSCP 26 is on no priority", {src.mlnx_qos("beth0"): h.qos(dscps="24,")}),
    ("rdma.qos", "beth0", "DSCP 24 is priority 0", sub(src.mlnx_qos("beth0"), "07,06", "24,07,06") | {
        src.mlnx_qos("beth0"): h.qos(dscps="26,").replace("07,06", "24,07")}),
    ("rdma.qos", "beth0", "CNPs' DSCP 48 is priority 0", {src.mlnx_qos("beth0"): h.qos().replace("07,06", "48,07").replace("49,48", "49")}),
    ("rdma.cm", "mlx5_0", "IB/RoCE v1", {src.cma_mode("mlx5_0"): "IB/RoCE v1\n"}),
    ("rdma.cm", "mlx5_1", "type of service 0", {src.cma_tos("mlx5_1"): "0\n"}),
    ("rdma.dcqcn", "beth0", "notification point 1", file("/sys/class/net/beth0/ecn/roce_np/enable/3", "1\n")),
    ("rdma.firmware", "beth0", "LINK_TYPE_P1 is IB(1) until the next boot", {
        src.mlxconfig(h.NICS[0].pci, h.KEYS): h.firmware("IB(1)")}),
    ("rdma.firmware", "beth1", "LINK_TYPE_P1 is ETH(2), IB(1) from the next boot on", {
        src.mlxconfig(h.NICS[1].pci, h.KEYS): h.firmware("ETH(2)", "IB(1)")}),
    ("nccl.conf", "NCCL_IB_TC", "104", sub(src.NCCL_CONF, "=106", "=104")),
    ("nccl.conf", "NCCL_IB_TC", "not set", sub(src.NCCL_CONF, "NCCL_IB_TC=106\n", "")),
    ("nccl.conf", "NCCL_ALGO", "set to Ring", sub(src.NCCL_CONF, "# ours", "NCCL_ALGO=Ring")),
    ("nccl.conf", "", "there is no /etc/nccl.conf", {src.NCCL_CONF: {}}),
    ("nccl.conf", "NCCL_DEBUG", "/etc/environment", late(src.ENVIRONMENT, "NCCL_DEBUG=INFO\n")),
    ("nccl.topology", "GPU 1", "2.5 GT/s x1", sub(
        DUMP, f'(2b:00.0" class="0x030200") {h.FAST}', r'\1 link_speed="2.5 GT/s PCIe" link_width="1"')),
    ("nccl.topology", "NIC 0", "2.5 GT/s x1 at the bridge above", sub(DUMP, f'(0xc030") {h.FAST}', r'\1 link_speed="2.5GT/s" link_width="1"')),
    ("nccl.topology", "NIC 1", "gdr=0", sub(DUMP, '(mlx5_1.*)gdr="1"', r'\1gdr="0"')),
    ("nccl.topology", "GPU 0", "nothing at 0000:1a:00.0 (NCCL's dump)", sub(DUMP, "0000:1a", "0000:9a")),
    ("nccl.topology", "NIC 1", "class 0x030200 at 0000:2c:00.0", {
        DUMP: h.DUMP.replace("2c:00", "XX").replace("2b:00", "2c:00").replace("XX", "2b:00")}),
    ("nccl.topology", "GPU 1", "no bridge above both it and NIC 1 at 0000:2c:00.0", {
        DUMP: h.DUMP.replace("1b:00.0", "XX").replace("2c:00.0", "1b:00.0").replace("XX", "2c:00.0")}),
    ("pcie.iommu", "", "not on the kernel's command line", late(src.COMMAND_LINE, "ro intel_iommu=on\n")),
    ("pcie.iommu", "", "iommu=soft", late(src.COMMAND_LINE, "ro iommu=soft\n")),
    ("storage.mounted", "/mnt/scratch", "not mounted", sub(src.MOUNTINFO, "40 22.*\n", "")),
    ("storage.mounted", "/mnt/home", "from 10.1.0.7:/home", sub(src.MOUNTINFO, "nfs4 10.1.0.9", "nfs4 10.1.0.7")),
    ("storage.mounted", "/mnt/scratch", "ext4 of /dev/sdb", sub(src.MOUNTINFO, "fuse.tectonic tectonic", "ext4 /dev/sdb")),
    ("storage.client", "/mnt/scratch", "failed", {
        src.units(["fabric-fuse-mnt-scratch.service"]): h.unit("fabric-fuse-mnt-scratch.service", "failed", "failed")}),
    ("storage.options", "/mnt/home", "nconnect=1", sub(src.MOUNTINFO, "nconnect=8", "nconnect=1")),
    ("storage.probe", "/mnt/scratch", "its FUSE client is dead", {FUSE: "stat ENOTCONN"}),
    ("storage.probe", "/mnt/home", "stale file handle", {NFS: "stat ESTALE"}),
    ("storage.probe", "/mnt/home", "no answer in 20 s", {NFS: "hangs 20"}),
    ("storage.probe", "/mnt/home", "write: it is read-only", {NFS: "write EROFS"}),
    ("storage.probe", "/mnt/scratch", "other bytes", {FUSE: "read DIFFERENT"}),
    ("storage.layout", "/mnt/home", "no LAYOUTGET", sub(src.MOUNTSTATS, "LAYOUTGET: 7", "LAYOUTGET: 0")),
    ("storage.layout", "/mnt/home", "no layout driver", sub(src.MOUNTSTATS, "LAYOUT_FLEX_FILES", "not configured")),
]  # fmt: skip


@pytest.mark.parametrize(("check", "unit", "measured", "changes"), FAULTS, ids=[f"{f[0]}-{f[2][:24]}" for f in FAULTS])
def test_a_fault_is_found_where_it_is_and_nowhere_else(
    check: str, unit: str, measured: str, changes: dict[Source, object]
) -> None:
    found = [result for result in results(changes) if result.verdict == "fail"]
    assert (check, unit) in bad(found)
    assert {result.check for result in found} <= {check, *ALSO.get(check, ())}
    mine = next(result for result in found if (result.check, result.unit) == (check, unit))
    assert measured in mine.measured and mine.expected and mine.action


ALSO = {"gpu.driver": ("gpu.fabric-manager",)}
"""What else must find the same cause."""


@pytest.mark.parametrize("check", ALL, ids=lambda check: str(check.id))
def test_every_check_has_a_fault_here(check: Any) -> None:
    assert check.id in {fault[0] for fault in FAULTS} | {"rdma.ib-port"}
    assert check.__doc__ and check.action


@pytest.mark.parametrize("check", ALL, ids=lambda check: str(check.id))
@pytest.mark.parametrize("want", [h.WANT, IB, INBOX], ids=["roce", "infiniband", "inbox"])
def test_what_cannot_be_seen_is_unknown_and_no_fault(check: Any, want: Expectation) -> None:
    found = run([check], want, Seen({}, h.NOW))
    assert {result.verdict for result in found} <= {"unknown"}
    assert bool(found) == bool(check.needs(want))
    assert not any("broke" in result.measured for result in found)


@pytest.mark.parametrize(
    ("changes", "unit", "measured"),
    [
        ({src.IBSTAT: h.ib(0) + h.ib(1, physical="Polling", state="Down")}, "mlx5_1", "Polling, Down"),
        ({src.IBSTAT: h.ib(0, rate=200) + h.ib(1)}, "mlx5_0", "200 Gb/s"),
        ({src.IBSTAT: h.ib(0) + h.ib(1, guid="0x1")}, "mlx5_1", "port GUID 0x1"),
        ({src.IBSTAT: h.ib(0)}, "mlx5_1", "there is no such HCA"),
    ],
)
def test_infiniband_ports(changes: dict[Source, object], unit: str, measured: str) -> None:
    healthy: dict[Source, object] = {src.IBV_DEVINFO: h.hca(0, layer="InfiniBand") + h.hca(1, layer="InfiniBand")}
    assert bad(results(healthy, IB)) == []
    found = [result for result in results({**healthy, **changes}, IB) if result.verdict == "fail"]
    assert [(result.unit, result.measured) for result in found] == [(unit, measured)]


def test_the_kernels_own_drivers_are_read_by_dcb_and_configfs() -> None:
    changes: dict[Source, object] = {src.DRIVER_LOADED: {}, **sub(src.GPUS, "580.126.16", "535.43.02", 0)}
    assert bad(results(changes, INBOX)) == []
    broken: dict[Source, object] = {
        src.dcb_pfc("beth0"): json.dumps({"prio-pfc": {"3": False}}),
        src.dcb_app("beth1"): "{}",
    }
    assert bad(results({**changes, **broken}, INBOX)) == [
        ("rdma.qos", "beth0"),
        ("rdma.qos", "beth1"),
        ("rdma.qos", "beth1"),
    ]


def test_a_small_mtu_wants_the_rdma_mtu_that_fits() -> None:
    changes = {**file("/sys/class/net/beth0/mtu", "1500"), **file("/sys/class/net/beth1/mtu", "1500")}
    changes[src.IBV_DEVINFO] = h.hca(0, mtu="1024 (3)") + h.hca(1, mtu="1024 (3)")
    assert bad(results(changes, SMALL)) == []


def test_a_pinned_gid_index_must_be_the_right_one() -> None:
    changes = sub(src.NCCL_CONF, "# ours", "NCCL_IB_GID_INDEX=1")
    assert bad(results(changes, PINNED)) == [("rdma.gid", "mlx5_0"), ("rdma.gid", "mlx5_1")]
    assert bad(results({**changes, src.SHOW_GIDS: Unseen("x")}, PINNED)) == [
        ("rdma.gid", "mlx5_0"),
        ("rdma.gid", "mlx5_1"),
    ]


@pytest.mark.parametrize(
    "line", ['NCCL_IB_TC="106"', "NCCL_IB_TC=106 # class", " NCCL_IB_TC=106", "export NCCL_IB_TC=106", "NCCL_IB_TC"]
)
def test_a_line_that_nccl_reads_otherwise_is_told(line: str) -> None:
    found = bad(results(sub(src.NCCL_CONF, "NCCL_IB_TC=106", line)))
    assert ("nccl.conf", "line 3") in found and ("nccl.conf", "NCCL_IB_TC") in found


GPU, NIC = h.SLOTS.gpus[0], h.SLOTS.nics[0]
PLACES = checks_pcie.places_of(h.SLOTS)
PORT, LINK = checks_pcie.port_of(GPU), checks_pcie.link_of(NIC)
IN_SYS: list[tuple[str, str, dict[Source, object]]] = [
    ("GPU 0", "2.5 GT/s x1 at the port above", {PORT: h.pcie(PORT.pattern, "2.5", 1)}),
    ("NIC 0", "32.0 GT/s x8", {LINK: h.pcie(LINK.pattern, width=8)}),
    ("GPU 0", "nothing at 0000:1a:00.0 (/sys)", sub(PLACES, "/sys/devices/.*1a:00.0\n", f"/sys/bus/pci/devices/{GPU}\n")),
    ("GPU 0", "class 0x060400", file(checks_pcie.class_of(GPU).pattern, "0x060400\n")),
    ("GPU 0", "no bridge above both", sub(PLACES, "0000:15.*(/0000:1b)", r"0000:35/0000:35:01.0\1")),
]  # fmt: skip


@pytest.mark.parametrize(("unit", "measured", "changes"), IN_SYS, ids=[row[1][:24] for row in IN_SYS])
def test_without_a_dump_sys_is_compared(unit: str, measured: str, changes: dict[Source, object]) -> None:
    found = [result for result in results({DUMP: "", **changes}) if result.verdict != "pass"]
    assert [(result.check, result.unit, result.verdict) for result in found] == [("nccl.topology", unit, "fail")]
    assert measured in found[0].measured


def test_a_dump_of_one_gpu_leaves_the_others_to_sys() -> None:
    one = re.sub(r'  <cpu host_hash="0x1" numaid="1"(?:.|\n)*?</cpu>\n', "", h.DUMP)
    assert "2b:00" not in one
    small: dict[Source, object] = {DUMP: one}
    assert [result for result in results(small) if result.verdict != "pass"] == []
    assert bad(results({**small, LINK: h.pcie(LINK.pattern, width=8)})) == []
    other = checks_pcie.link_of(h.SLOTS.nics[1])
    assert bad(results({**small, other: h.pcie(other.pattern, width=8)})) == [("nccl.topology", "NIC 1")]


DEEP = "<system>" + "<pci class='0x060400'>" * 40_000 + "</pci>" * 40_000 + "</system>\n"
BOMB = '<!DOCTYPE a [<!ENTITY b "c">]><system/>\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no\n", "no XML"), ("<a/>\n", "no NCCL topology"), (DEEP, "more than 32 bridges"), (BOMB, "entities"),
        (h.DUMP[:900], "cut off"), ("<system>\n", "no XML"),
    ],
    ids=["no-xml", "other", "deep", "entities", "cut", "cut-at-a-line"],
)  # fmt: skip
def test_a_dump_that_is_none_is_unknown_and_sys_still_counts(text: str, said: str) -> None:
    found = [result for result in results({DUMP: text}) if result.verdict != "pass"]
    assert [(result.check, result.unit, result.verdict) for result in found] == [("nccl.topology", "dump", "unknown")]
    assert said in found[0].measured


def test_without_dump_and_sys_the_topology_is_unknown() -> None:
    nothing = "".join(f"/sys/bus/pci/devices/{pci}\n" for pci in (*h.SLOTS.gpus, *h.SLOTS.nics))
    for answer in (nothing, Unseen("readlink: no answer in 20 s")):
        changes: dict[Source, object] = {DUMP: "", PLACES: answer}
        found = [result for result in results(changes) if result.verdict != "pass"]
        assert [(result.check, result.unit, result.verdict) for result in found] == [("nccl.topology", "", "unknown")]


def test_an_iommu_that_is_off_may_be_off_by_any_name() -> None:
    want = dataclasses.replace(h.WANT, kernel_arguments=("iommu=off|intel_iommu=off|amd_iommu=off",))
    assert bad(results(want=want)) == [("pcie.iommu", "")]
    assert bad(results(late(src.COMMAND_LINE, "ro amd_iommu=off\n"), want)) == []


def test_root_squash_and_a_mount_without_traffic_are_unknown() -> None:
    idle = sub(src.MOUNTSTATS, r"(READ|WRITE|LAYOUTGET): \d+", r"\1: 0", 0)
    found = results({NFS: "write EACCES", **idle})
    assert bad(found) == []
    assert {r.check for r in found if r.verdict == "unknown"} == {"storage.probe", "storage.layout"}


def test_rpm_hosts_are_asked_by_rpm() -> None:
    want = dataclasses.replace(
        h.WANT, os_id="rhel", os_version="9", packages=(ExpectedPackage("nvidia-open", "3:580.126.16"),)
    )
    changes: dict[Source, object] = {
        src.OS_RELEASE: {"/etc/os-release": 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.6"\n'},
        src.rpm(["nvidia-open"]): "nvidia-open\t3:580.126.16-1.el9\tinstalled\n",
        src.rpm(checks_driver.MANAGER_PACKAGES): "nvidia-fabricmanager\t0:580.126.16-1\tinstalled\n",
        src.HELD_DNF: "nvidia-open-3:580.126.16-1.el9.*\n",
    }
    assert [result for result in results(changes, want) if result.verdict != "pass"] == []


@pytest.mark.parametrize(
    ("want", "have", "fits"),
    [
        ("580.126.20", "580.126.20-1", True), ("580.126.2", "580.126.20-1", False), ("580.126.20-*", "580.126.20-1ubuntu", True),
        ("2.28.9-1+cuda13.0", "2.28.9-1+cuda13.0", True), ("1:4.5.2-*", "1:4.5.2-1", True), ("1:4.5.2-*", "4.5.2-1", False),
        ("4.5.2", "1:4.5.2-1", True), ("13.0*", "13.0.2-1", True),
    ],
)  # fmt: skip
def test_versions(want: str, have: str, fits: bool) -> None:
    assert same_version(want, have) is fits


TEXTS = [source for source, value in h.HEALTHY.items() if not isinstance(source, Probe) and value]


def readers(source: Source, value: object, want: Expectation) -> list[Result]:
    """The results of the checks that read a source."""
    return run([check for check in ALL if source in check.needs(want)], want, Seen({**h.HEALTHY, source: value}, h.NOW))


def cut(value: object, at: int) -> object:
    if isinstance(value, str):
        return value[: at % (len(value) + 1)]
    assert isinstance(value, dict)
    return {path: text[: at % (len(text) + 1)] for path, text in value.items()}


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(TEXTS), st.integers(0, 5000), st.sampled_from([h.WANT, IB, INBOX]))
def test_a_text_that_is_cut_off_breaks_no_check(source: Source, at: int, want: Expectation) -> None:
    made = cut(h.HEALTHY[source], at)
    found = readers(source, made, want)
    assert not any("broke" in result.measured for result in found)
    if isinstance(source, Command) and isinstance(made, str) and made and not made.endswith("\n") and want is h.WANT:
        assert bad(found) == []  # what is left of a number is another number: no host is blamed for it


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(TEXTS), st.text(max_size=200) | st.from_regex(r"([0-9A-Za-z:,.\[\]{}\"= \t-]{0,40}\n){0,6}"))
def test_garbage_breaks_no_check(source: Source, text: str) -> None:
    value = text + "\n" if isinstance(h.HEALTHY[source], str) else dict.fromkeys(dict(h.HEALTHY[source]), text)  # type: ignore[call-overload]
    for want in (h.WANT, IB, INBOX):
        assert not any("broke" in result.measured for result in readers(source, value, want))


@pytest.mark.parametrize(
    "text", ["[[[", "null", "3", '{"lldp": 3}', '{"lldp": {"interface": {"beth0": 1}}}', "[1, {}, [{}]]", "[" * 100000]
)
@pytest.mark.parametrize(
    "source",
    [src.LLDP, src.IP_ADDRESSES, src.IP_RULES[4], src.IP_ROUTES[6], src.dcb_pfc("beth0"), src.dcb_app("beth0")],
)
def test_json_of_another_shape_breaks_no_check(source: Source, text: str) -> None:
    for want in (h.WANT, INBOX):
        assert not any("broke" in result.measured for result in readers(source, text, want))


def test_a_check_that_breaks_is_unknown_and_the_others_go_on() -> None:
    class Broken(type(ALL[0])):  # type: ignore[misc]
        def judge(self, *_: Any) -> Any:
            return 1 / 0

    found = run([Broken(), *ALL], h.WANT, Seen(h.HEALTHY, h.NOW))
    assert (found[0].verdict, found[0].measured) == ("unknown", "this check broke: ZeroDivisionError: division by zero")
    assert len(found) == 1 + len(results())


def test_everything_that_is_read_is_in_the_healthy_host() -> None:
    assert [source for want in (h.WANT, IB, INBOX) for source in sources(ALL, want) if source not in h.HEALTHY] == []
