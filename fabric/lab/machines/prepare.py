"""What a machine's disk holds at first boot, beside the image: its name, its keys, the management interface that its installer set up, and
its hardware; and the packages that all machines of a lab can install.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from fabric.catalog.loader import catalog
from fabric.design.hosts.model import HostFleet
from fabric.design.load import Cluster, fleet_of
from fabric.lab import lldp
from fabric.lab.machines.machine import MIRROR
from fabric.lab.machines.standins import hardware, packages, repository
from fabric.lab.proc import run
from fabric.lab.topology import LabNode

INTERFACE = "eth0"
"""The management interface, on the lab's management network."""

LAYER = "startup/upper"
"""Where, in a node's folder, the files stand that are laid over the image."""

MASKED = ("run-rpc_pipefs.mount",)
"""Units that fail where the kernel is without an NFS client, whatever is provisioned."""

Files = Mapping[str, tuple[str, int]]


class Installer:
    """Prepares the machines of one lab. `image` is what they boot, `public` the key that may log in."""

    def __init__(self, cluster: Cluster, image: Path, public: str) -> None:
        self._cluster, self._image, self._public = cluster, image, public
        self._fleet: HostFleet | None = None
        if cluster.spec.hosts.software is not None:
            self._fleet = fleet_of(cluster.loaded).fleet

    def prepare(self, place: Path, node: LabNode) -> str:
        """Write the folder of a machine. Returns the line for known_hosts."""
        model = catalog().host(self._cluster.spec.hosts.platform)
        settings = {
            "name": node.name, "kind": "host", "role": "host", "management": node.management, "management_linux": INTERFACE,
            "gateway": node.gateway, "ports": node.ports, "lldp_socket": f"/run/lldpd/{node.name}.sock", "root": "/",
            "lldp_config": f"/run/lldpd/{node.name}.conf", "settings": {"model": model.name}, "mirror": self.mirror(),
        }  # fmt: skip
        place.mkdir(parents=True, exist_ok=True)
        (place / "node.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")
        text = lldp.config_text(node.name, "host", node.ports, f"Linux {model.name} in a virtual lab")
        (place / "lldpd.conf").write_text(text, encoding="utf-8")
        layer = place / LAYER
        _write(layer, _installed(node, self._public))
        for unit in MASKED:
            _link(layer / "etc/systemd/system" / unit, "/dev/null")
        if self._fleet is not None:
            _write(layer, hardware.files(self._fleet.plan(node.name), model))
            shutil.copy(self._image / "usr/sbin/ethtool", layer / "usr/sbin/ethtool.real")
            for path, target in hardware.links().items():
                _link(layer / path, target)
            for mount in self._fleet.mounts:
                if mount.kind == "fuse" and mount.source.startswith(
                    "/"
                ):  # what a passthrough file system passes through
                    (layer / mount.source.lstrip("/")).mkdir(parents=True, exist_ok=True)
        return _host_key(layer / "etc/ssh", node)

    def mirror(self) -> str:
        """Where a machine of this cluster sees the lab's packages: where its spec says that its own mirror is, when that is a folder."""
        software = self._cluster.spec.hosts.software
        mirror = software.mirror if software is not None else None
        if mirror is not None and urlsplit(mirror.url).scheme == "file":
            return str(urlsplit(mirror.url).path)
        return MIRROR

    def packages(self, folder: Path) -> None:
        """Build the repositories of a lab below `folder`, as the spec's own mirror is laid out."""
        folder.mkdir()
        if self._fleet is None:
            return
        made = packages.packages(self._fleet.versions)
        for repo in self._fleet.repositories:
            path = urlsplit(repo.url).path.rstrip("/")
            if path.startswith(f"{self.mirror()}/") and made.get(repo.name):
                repository.build(folder / path.removeprefix(f"{self.mirror()}/"), made[repo.name])


def _installed(node: LabNode, public: str) -> Files:
    network = (
        f"[Match]\nName={INTERFACE}\n\n[Network]\nAddress={node.management}\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n"
    )
    return {
        "etc/hostname": (f"{node.name}\n", 0o644),
        "etc/hosts": (f"127.0.0.1 localhost\n127.0.1.1 {node.name}\n::1 localhost\n", 0o644),
        "etc/machine-id": (hashlib.sha256(node.name.encode()).hexdigest()[:32] + "\n", 0o444),
        "etc/ssh/lab_keys": (public, 0o644),
        # First in order, so that what is provisioned later leaves the interface alone over which it is provisioned.
        f"etc/systemd/network/00-{INTERFACE}.network": (network, 0o644),
    }


def _write(layer: Path, files: Files) -> None:
    for name, (text, mode) in files.items():
        path = layer / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)


def _link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def _host_key(ssh: Path, node: LabNode) -> str:
    ssh.mkdir(parents=True, exist_ok=True)
    key = ssh / "ssh_host_ed25519_key"
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", node.name, "-f", str(key)])
    kind, blob = Path(f"{key}.pub").read_text(encoding="ascii").split()[:2]
    return f"{node.management.split('/')[0]},{node.name} {kind} {blob}\n"
