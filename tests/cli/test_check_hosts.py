"""What hosts, storage and scheduler cannot be: one clear line each, with place, exit 1. Golden: tests/golden/check/hosts-NAME.txt."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from fabric.design.hosts.nccl_file import lint_text
from fabric.design.hosts.nccl_lint import truth_of
from fabric.design.load import load_fleet

HOSTS = {
    "platform": "grand-teton-h100",
    "os": "debian-12",
    "software": {
        "driver": "580.126.16",
        "cuda": "13.0",
        "nccl": "2.28.9",
        "dcgm": "4.5.2",
        "rdma": {"stack": "doca", "version": "3.2.1"},
        "mirror": {"url": "https://mirror.example.net/gpu", "unsigned": True},
    },
    "network": {"front_end": ["eth0"]},
}
NCCL = "hosts.nccl.overrides"
FUSE = {
    "name": "fast",
    "kind": "fuse",
    "path": "/mnt/fast",
    "binary": "/usr/bin/x",
    "pool": "p",
    "arguments": ["{path}"],
}
PNFS = {"name": "home", "kind": "pnfs", "path": "/mnt/home", "servers": ["10.0.0.51"], "export": "/fast"}


def nccl(inventory: str = "lab", **values: str) -> tuple[str, dict[str, Any]]:
    return inventory, {NCCL: {f"NCCL_{key}": value for key, value in values.items()}}


NICS = [f"0000:{bus:02x}:00.0" for bus in range(0x1B, 0x9B, 0x10)]
GPUS = [f"0000:{bus:02x}:00.0" for bus in range(0x1A, 0x9A, 0x10)]


def slots(gpus: list[str]) -> tuple[str, dict[str, Any]]:
    return "lab", {"hosts.network.backend_pci": NICS, "hosts.network.gpu_pci": gpus}


def mounts(*entries: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "lab", {"storage": list(entries)}


def declared(inventory: str, changes: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The changes over hosts of our own, so that places stay where they are when an inventory installs another thing."""
    return inventory, {
        "hosts": copy.deepcopy(HOSTS),
        "storage": [FUSE, PNFS],
        "scheduler": {"kind": "slurm"},
        **changes,
    }


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "os-unknown": ("lab", {"hosts.os": "ubuntu-24.4"}),
    "os-not-provided": ("lab", {"hosts.os": "sles-15"}),
    "os-alone": ("lab", {"hosts.software": None, "hosts.network": None}),
    "fabric-manager-differs": ("lab", {"hosts.software.driver": "530.41.03", "hosts.software.fabric_manager": "530.30.02"}),
    "driver-version": ("lab", {"hosts.software.driver": "latest"}),
    "driver-as-number": ("lab", {"hosts.software.driver": 580.126}),
    "cuda-as-number": ("lab", {"hosts.software.cuda": 13.0}),
    "nccl-of-other-cuda": ("lab", {"hosts.software.nccl": "2.27.7-1+cuda12.9"}),
    "doca-unpinned": ("lab", {"hosts.software.rdma": {"stack": "doca"}}),
    "inbox-pinned": ("lab", {"hosts.software.rdma": {"stack": "inbox", "version": "3.2.1"}}),
    "mirror-with-password": ("lab", {"hosts.software.mirror.url": "https://me:secret@mirror.example.net/gpu"}),
    "firmware-against-fabric": ("lab", {"hosts.software.firmware": {"CNP_DSCP_P1": "4", "LINK_TYPE_P1": "1", "SRIOV_EN": "1"}}),
    "firmware-key": ("lab", {"hosts.software.firmware": {"sriov en": "1"}}),
    "pci-count": ("lab", {"hosts.network.backend_pci": ["0000:1b:00.0", "0000:2b:00.0"]}),
    "pci-form": ("lab", {"hosts.network.backend_pci": ["1b:00.0"]}),
    "pci-twice": ("lab", {"hosts.network.backend_pci": ["0000:1b:00.0", "0000:1b:00.0"]}),
    "gpu-pci-count": slots(GPUS[:2]),
    "gpu-pci-form": slots(["1a:00.0"]),
    "gpu-pci-twice": slots([GPUS[0], *GPUS[:7]]),
    "gpu-pci-overlap": slots([*GPUS[:3], NICS[3], *GPUS[4:]]),
    "gpu-pci-alone": ("lab", {"hosts.network.gpu_pci": GPUS}),
    "gpu-pci-platform": ("rsc-16k", {"hosts.platform": "dgx-a100", **slots(GPUS)[1]}),
    "topology-dump-path": ("lab", {"hosts.nccl.topology_dump": "tmp/dump.xml"}),
    "iommu": ("lab", {"hosts.tuning.iommu": "on"}),
    "front-end-is-a-rail": ("lab", {"hosts.network.front_end": ["eth0", "beth3"]}),
    "front-end-name": ("lab", {"hosts.network.front_end": ["eth0; reboot"]}),
    "ipoib-on-roce": ("lab", {"hosts.network.ipoib": True}),
    "sysctl-key": ("lab", {"hosts.tuning.sysctls": {"vm swappiness": "1"}}),
    "sysctl-two-lines": ("lab", {"hosts.tuning.sysctls": {"vm.swappiness": "1\nkernel.panic=1"}}),
    "ssh-user": ("lab", {"hosts.ssh.user": "ro ot"}),
    "dscp-outside-class": ("lab", {"hosts.nccl.dscp": 26}),
    "one-qp-with-e-ecmp": ("lab", {"hosts.nccl.qps": 1}),
    "override-key": ("lab", {NCCL: {"nccl_ib_tc": "200", "LD_PRELOAD": "/x.so"}}),
    "override-two-lines": nccl(IB_TIMEOUT="22\nNCCL_ALGO=Ring"),
    "override-number": ("lab", {NCCL: {"NCCL_IB_TIMEOUT": 22}}),
    "override-traffic-class": nccl(IB_TC="106", IB_FIFO_TC="84"),
    "override-traffic-class-bits": nccl(IB_TC="202"),
    "override-traffic-class-no-number": nccl(IB_TC="high"),
    "override-prefix-match": nccl(IB_HCA="mlx5_0,mlx5_1", SOCKET_IFNAME="eth"),
    "override-hca-missing": nccl(IB_HCA="=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6"),
    "override-hca-unknown": nccl(IB_HCA="=mlx5_0,mlx5_bond_0"),
    "override-hca-exclude": nccl(IB_HCA="^=mlx5_8"),
    "override-socket-is-a-rail": nccl(SOCKET_IFNAME="=beth0"),
    "override-qps": nccl(IB_QPS_PER_CONNECTION="1"),
    "override-qps-too-many": nccl(IB_QPS_PER_CONNECTION="129"),
    "override-gid-link-local": nccl(IB_GID_INDEX="1"),
    "override-addresses": nccl("roce-24k", IB_ADDR_FAMILY="AF_INET", IB_ADDR_RANGE="10.0.0.0/8"),
    "override-address-range-text": nccl(IB_ADDR_RANGE="back-end"),
    "override-roce-v1": nccl(IB_ROCE_VERSION_NUM="1"),
    "override-forbidden": nccl(ALGO="Ring", PROTO="Simple", DEBUG="INFO", IB_DISABLE="0"),
    "override-topology-file": nccl(TOPO_FILE="/etc/fabric/nccl-topology.xml"),
    "override-chunk-size": nccl(P2P_NET_CHUNKSIZE="1048576"),
    "override-timeout-for-ever": nccl(IB_TIMEOUT="0"),
    "override-plugin": nccl(NET_PLUGIN="ofi", NET="Socket"),
    "override-collnet": nccl(COLLNET_ENABLE="1"),
    "override-ib-adaptive-routing": nccl("ib-24k", IB_ADAPTIVE_ROUTING="0", COLLNET_ENABLE="1"),
    "mounts-on-one-path": mounts(FUSE, {**PNFS, "path": "/mnt/fast"}),
    "mount-in-a-mount": mounts({**FUSE, "path": "/mnt/home/fast"}, PNFS),
    "mounts-of-one-name": mounts(FUSE, {**PNFS, "name": "fast"}),
    "mount-on-system-path": mounts({**FUSE, "path": "/usr/share/data"}),
    "mount-path-form": mounts({**FUSE, "path": "/mnt/../etc"}, {**PNFS, "path": "mnt/x"}),
    "mount-kind": mounts({**FUSE, "kind": "fused"}),
    "probe-outside": mounts({**PNFS, "probe": "/mnt/homes/x"}),
    "fuse-binary-not-absolute": mounts({**FUSE, "binary": "tectonic-fuse"}),
    "fuse-without-path": mounts({**FUSE, "arguments": ["--pool={pool}"]}),
    "fuse-unknown-field": mounts({**FUSE, "arguments": ["{path}", "--token={token}"]}),
    "fuse-cache-undeclared": mounts({**FUSE, "arguments": ["{path}", "{cache}"]}),
    "fuse-cache-on-a-mount": mounts({**FUSE, "cache": {"dir": "/mnt/fast/c", "bytes": 10**9}}),
    "fuse-options-unused": mounts({**FUSE, "options": ["allow_other"]}),
    "fuse-options-undeclared": mounts({**FUSE, "arguments": ["-o", "{options}", "{path}"]}),
    "fuse-secret-missing": mounts({**FUSE, "secrets": {"TOKEN": "netops-hsh"}}),
    "fuse-secret-twice": mounts({**FUSE, "secrets": {"TOKEN": "netops-hash"}, "environment": {"TOKEN": "x"}}),
    "pnfs-options": mounts({**PNFS, "options": ["vers=3", "soft", "nolock", "x-systemd.automount"]}),
    "pnfs-option-with-comma": mounts({**PNFS, "options": ["noac,soft"]}),
    "pnfs-nconnect": mounts({**PNFS, "nconnect": 17}),
    "pnfs-server": mounts({**PNFS, "servers": ["-oProxyCommand=x"]}),
    "scheduler-kind": ("lab", {"scheduler": {"kind": "slurmd"}}),
    "scheduler-too-old": ("lab", {"scheduler": {"kind": "slurm", "version": "22.05", "topology": "block"}}),
    "scheduler-yaml-too-old": ("lab", {"scheduler": {"kind": "slurm", "version": "24.11", "yaml": True}}),
    "scheduler-blocks-of-tree": ("lab", {"scheduler": {"kind": "slurm", "block_sizes": [2]}}),
    "scheduler-block-steps": ("lab", {"scheduler": {"kind": "slurm", "topology": "block", "block_sizes": [2, 6]}}),
    "scheduler-block-too-big": ("lab", {"scheduler": {"kind": "slurm", "topology": "block", "block_sizes": [16]}}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_refused(
    name: str,
    spec_file: Callable[..., Path],
    fabric_cli: Callable[..., Result],
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = spec_file(*declared(*CASES[name]))
    monkeypatch.chdir(path.parent)
    result = fabric_cli("check", "cluster.yaml")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Traceback" not in result.stderr
    golden(f"check/hosts-{name}.txt", result.stderr)


WARNED: dict[str, tuple[str, dict[str, Any]]] = {
    "unknown": nccl(IB_TIMOUT="22", FOO_BAR="1"),
    "version": ("lab", {"hosts.software.nccl": "2.20.5", NCCL: {"NCCL_IB_ADDR_RANGE": "10.128.0.0/16", "NCCL_IB_CUDA_SUPPORT": "1"}}),
    "debug": nccl(SHM_DISABLE="1"),
    "gid": nccl(IB_GID_INDEX="3"),
    "rails": nccl(CROSS_NIC="0", IB_SL="1", IB_PKEY="1"),
    "qps": ("lab", {"hosts.nccl.qps": 32}),
    "split": nccl(IB_SPLIT_DATA_ON_QPS="1"),
    "order": nccl(IB_HCA="=mlx5_1,mlx5_0,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7"),
    "infiniband": ("ib-24k", {"hosts.nccl": {"qps": 8, "overrides": {"NCCL_IB_TC": "0", "NCCL_IB_GID_INDEX": "3"}}}),
    "mtu": ("lab", {"mtu": {"ip": 1500}}),
    "unsigned": ("lab", {}),
    "unverified": ("lab", {"hosts.software.mirror": None}),
    "clear-secret": mounts({**FUSE, "environment": {"API_TOKEN": "x", "MODE": "y"}, "arguments": ["{path}", "--password=x", "--tokenizer=y"]}),
    "reverse-path": ("lab", {"hosts.tuning": {"sysctls": {"net.ipv4.conf.all.rp_filter": "1"}}}),
    "reverse-path-off": ("lab", {"hosts.tuning": {"sysctls": {"net.ipv4.conf.all.rp_filter": "0"}}}),
    "nothing-installed": ("lab", {"hosts": {"platform": "grand-teton-h100"}}),
}  # fmt: skip
_OURS = ("[nccl]", "[rdma-mtu]", "[unsigned]", "[unverified]", "[no-effect]", "[clear-secret]", "[reverse-path]")


def test_warned(
    spec_file: Callable[..., Path],
    fabric_cli: Callable[..., Result],
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = []
    for name, (inventory, changes) in WARNED.items():
        path = spec_file(*declared(inventory, changes))
        monkeypatch.chdir(path.parent)
        result = fabric_cli("check", "cluster.yaml")
        assert (result.exit_code, result.stderr) == (0, "")
        lines = [line for line in result.stdout.splitlines() if line.endswith(_OURS)]
        assert lines, name
        said += [name, *(f"    {line}" for line in lines if name == "unsigned" or "[unsigned]" not in line)]
    golden("check/hosts-warnings.txt", "\n".join(said) + "\n")


def test_what_the_fabric_gives_has_no_flaw(
    spec_file: Callable[..., Path],
) -> None:
    """The settings of every kind of cluster, as a file, pass the lint of files without a word."""
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("lab", {}), ("roce-24k", {}), ("ib-24k", {}), ("lab", {"qos": {"ecn": {}}}), ("lab", {"hosts.nccl.dscp": 55}),
        ("lab", {"hosts.software.nccl": "2.22.3"}), ("lab", {"hosts.nccl.plugin": "ofi"}),
        ("lab", {"hosts.tuning.acs": "keep", NCCL: {"NCCL_TOPO_FILE": "/etc/virtual-machine.xml"}}),
    ]  # fmt: skip
    for inventory, changes in kinds:
        fleet = load_fleet(spec_file(*declared(inventory, changes))).fleet
        text = "".join(f"{row.key}={row.value}\n" for row in fleet.nccl)
        assert list(lint_text(text, truth_of(fleet.spec))) == []
