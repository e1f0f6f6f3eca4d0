"""What a machine's disk holds at first boot, beside the image: its name, its keys, and the management interface that its installer set up."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from urllib.parse import urlsplit

from fabric.design.load import Cluster
from fabric.lab import lldp
from fabric.lab.machines.machine import MIRROR
from fabric.lab.proc import run
from fabric.lab.topology import LabNode

INTERFACE = "eth0"
"""The management interface, on the lab's management network."""

MASKED = ("run-rpc_pipefs.mount",)
"""Units that fail where the kernel is without an NFS client, whatever is provisioned."""

LAYER = "startup/upper"
"""Where, in a node's folder, the files stand that are laid over the image."""


def prepare(place: Path, node: LabNode, cluster: Cluster, public: str) -> str:
    """Write the folder of a machine; `public` is the key that may log in. Returns the line for known_hosts."""
    settings = {
        "name": node.name, "kind": "host", "role": "host", "management": node.management, "management_linux": INTERFACE,
        "gateway": node.gateway, "ports": node.ports, "lldp_socket": f"/run/lldpd/{node.name}.sock", "root": "/",
        "lldp_config": f"/run/lldpd/{node.name}.conf", "settings": {"model": cluster.spec.hosts.platform}, "mirror": mirror_path(cluster),
    }  # fmt: skip
    place.mkdir(parents=True, exist_ok=True)
    (place / "node.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")
    description = f"Linux {cluster.spec.hosts.platform} in a virtual lab"
    (place / "lldpd.conf").write_text(lldp.config_text(node.name, "host", node.ports, description), encoding="utf-8")
    etc = place / LAYER / "etc"
    for path, (text, mode) in _files(node, public).items():
        _write(etc / path, text, mode)
    for unit in MASKED:
        (etc / "systemd" / "system").mkdir(parents=True, exist_ok=True)
        (etc / "systemd" / "system" / unit).symlink_to("/dev/null")
    return _host_key(etc / "ssh", node)


def mirror_path(cluster: Cluster) -> str:
    """Where a machine of this cluster sees the lab's packages: where its spec says that its own mirror is, when that is a folder."""
    software = cluster.spec.hosts.software
    mirror = software.mirror if software is not None else None
    if mirror is not None and urlsplit(mirror.url).scheme == "file":
        return urlsplit(mirror.url).path
    return MIRROR


def _files(node: LabNode, public: str) -> dict[str, tuple[str, int]]:
    network = (
        f"[Match]\nName={INTERFACE}\n\n[Network]\nAddress={node.management}\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n"
    )
    return {
        "hostname": (f"{node.name}\n", 0o644),
        "hosts": (f"127.0.0.1 localhost\n127.0.1.1 {node.name}\n::1 localhost\n", 0o644),
        "machine-id": (hashlib.sha256(node.name.encode()).hexdigest()[:32] + "\n", 0o444),
        "ssh/lab_keys": (public, 0o644),
        # First in order, so that what is provisioned later leaves the interface alone over which it is provisioned.
        f"systemd/network/00-{INTERFACE}.network": (network, 0o644),
    }


def _write(path: Path, text: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def _host_key(ssh: Path, node: LabNode) -> str:
    key = ssh / "ssh_host_ed25519_key"
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", node.name, "-f", str(key)])
    kind, blob = Path(f"{key}.pub").read_text(encoding="ascii").split()[:2]
    return f"{node.management.split('/')[0]},{node.name} {kind} {blob}\n"
