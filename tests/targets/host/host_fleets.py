"""Fleets of small clusters for the tests of host files: one for each distribution and back end."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import yaml

from fabric.design.hosts.model import HostFleet
from fabric.design.load import load_fleet
from tests.conftest import edited

PCI = [f"0000:{bus:02x}:00.0" for bus in range(0x1B, 0x1B + 8)]
GPU_PCI = [f"0000:{bus:02x}:00.0" for bus in range(0x3B, 0x3B + 8)]
SOFTWARE: dict[str, Any] = {"driver": "580.126.16", "cuda": "13.0", "nccl": "2.28.9", "dcgm": "4.5.2"}
DOCA = {**SOFTWARE, "rdma": {"stack": "doca", "version": "3.2.1"}, "mirror": None}
INBOX = {**SOFTWARE, "rdma": {"stack": "inbox"}, "mirror": {"url": "https://mirror.example.net/gpu"}}
FUSE = {
    "name": "scratch", "kind": "fuse", "path": "/mnt/scratch", "binary": "/opt/tectonic/bin/mount", "pool": "ws train",
    "arguments": ["--foreground", "--pool={pool}", "--share=100%", "{path}"], "cache": {"dir": "/var/cache/tectonic", "bytes": 10**12},
    "environment": {"REGION": 'a "b" \\ c'}, "secrets": {"TOKEN": "tectonic-token"}, "package": "tectonic-fuse=1.2.3", "notify": True,
}  # fmt: skip
PNFS = {
    "name": "data-1", "kind": "pnfs", "path": "/mnt/data-1", "servers": ["10.0.0.50", "2001:db8::50"], "export": "/data",
}  # fmt: skip
TOPOLOGY = {"hosts.nccl.topology_dump": "/var/log/nccl/topology.xml", "hosts.tuning.iommu": "pt"}
SECRETS = {"tectonic-token": {"env": "TECTONIC_TOKEN"}}


def _hosts(os: str, software: dict[str, Any], **more: Any) -> dict[str, Any]:
    network = {"front_end": ["eno1", "eno2"], "backend_pci": PCI, **more}
    return {"hosts.os": os, "hosts.software": software, "hosts.network": network}


def _storage(inventory: str) -> dict[str, Any]:
    secrets = (
        {f"secrets.{name}": value for name, value in SECRETS.items()} if inventory == "lab" else {"secrets": SECRETS}
    )
    return {"storage": [FUSE, PNFS], "scheduler": {"kind": "slurm"}, **secrets}


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "debian-12-roce": ("lab", {}),
    "debian-12-infiniband": ("ib-lab", _hosts("debian-12", DOCA, backend_pci=None)),
    "ubuntu-22.04-roce": ("lab", {**_hosts("ubuntu-22.04", DOCA), **_storage("lab")}),
    "ubuntu-22.04-infiniband": ("ib-lab", {**_hosts("ubuntu-22.04", INBOX, ipoib=True), **_storage("ib-lab")}),
    "ubuntu-24.04-roce": ("lab", {**_hosts("ubuntu-24.04", INBOX, dhcp=False), **_storage("lab")}),
    "ubuntu-24.04-infiniband": ("ib-lab", {**_hosts("ubuntu-24.04", DOCA, gpu_pci=GPU_PCI), **_storage("ib-lab")}),
    "rhel-9-roce": ("lab", {**_hosts("rhel-9", DOCA, gpu_pci=GPU_PCI), **TOPOLOGY, **_storage("lab")}),
    "rhel-9-infiniband": ("ib-lab", {**_hosts("rhel-9", INBOX, ipoib=True), **_storage("ib-lab")}),
}
"""Name -> inventory and its changes."""


@functools.cache
def fleet(case: str) -> HostFleet:
    """The fleet of one of CASES."""
    inventory, changes = CASES[case]
    return fleet_of(inventory, changes)


def fleet_of(inventory: str, changes: dict[str, Any]) -> HostFleet:
    """The fleet of an edited inventory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "cluster.yaml")
        path.write_text(yaml.safe_dump(edited(inventory, changes), sort_keys=False), encoding="utf-8")
        return load_fleet(path).fleet
