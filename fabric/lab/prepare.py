"""The folders of all nodes before a lab starts: node.json, keys, accounts, and the files that stand on each switch's disk at first boot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fabric.design.load import Cluster
from fabric.errors import FabricError
from fabric.lab import bootstrap, lldp, nodekinds, secrets
from fabric.lab.fboss.install import prepare as fboss_box
from fabric.lab.machines.prepare import Installer
from fabric.lab.names import MANAGEMENT
from fabric.lab.proc import run
from fabric.lab.seat import KEY, OPERATOR
from fabric.lab.state import Lab
from fabric.lab.topology import LabNode, LabTopology
from fabric.targets.job import ClusterJob


def prepare(
    lab: Lab, cluster: Cluster, topology: LabTopology, *, blank: bool, eos_release: str = "", image: Path | None = None
) -> None:
    """Write everything that the supervisor needs into the lab's state folder.

    `eos_release` is what EOS switches run, "" the usual one; `image` is what machines boot.
    """
    folder = lab.folder
    keygen(folder / KEY, "operator")
    public = (folder / f"{KEY}.pub").read_text(encoding="ascii")
    job = ClusterJob(cluster.fabric, cluster.loaded.text_sha256, base_dir=cluster.loaded.path.parent)
    installer = Installer(cluster, image, public) if image is not None else None
    known = []
    for node in topology.nodes:
        place = lab.node_folder(node.name)
        place.mkdir(parents=True)
        lab.logs(node.name).mkdir(parents=True)
        if node.machine:
            assert installer is not None  # noqa: S101 - there is an image wherever there are machines
            known.append(installer.prepare(place, node))
            continue
        settings = _node_json(place, node, cluster, eos_release)
        _write(
            place / "files" / lldp.CONFIG.lstrip("/"),
            lldp.config_text(node.name, node.kind, node.ports, settings["description"]),
        )
        accounts(place / "files" / "etc", node, public)
        names(place / "files" / "etc", node)
        if node.kind != "host":
            known.append(ssh_server(place, node))
            _startup(place / "startup", node, job, cluster, blank=blank)
        if node.kind == "fboss":
            fboss_box(place, settings["settings"]["model"])
    state = folder / "fabric"
    state.mkdir()
    _write(state / "known_hosts", "".join(known))
    if installer is not None:
        installer.packages(folder / "mirror")
    reached = [(node.management or node.front_end, node.name) for node in topology.nodes]
    named = [f"{address.split('/')[0]} {name}\n" for address, name in reached if address]
    _write(folder / "hosts", "".join(["127.0.0.1 localhost\n", "::1 localhost\n", *named]))
    _write(
        folder / "lab.json",
        json.dumps(
            {**topology.to_json(), "spec": str(cluster.loaded.path.resolve()), "blank": blank, "image": str(image)}
        ),
    )


def keygen(path: Path, comment: str) -> None:
    """An SSH key pair without a passphrase at `path`."""
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)])


def _node_json(place: Path, node: LabNode, cluster: Cluster, eos_release: str) -> dict[str, Any]:
    switch = cluster.fabric.by_name.get(node.name)
    model = switch.model if switch else cluster.spec.hosts.platform
    kind = {"eos": "Arista Networks EOS", "fboss": "FBOSS", "host": "Linux"}[node.kind]
    data = {
        "name": node.name,
        "kind": node.kind,
        "role": node.role,
        "management": node.management,
        "management_linux": MANAGEMENT,
        "gateway": node.gateway,
        "ports": node.ports,
        "frr": node.name,
        "lldp_socket": f"/run/lldpd/{node.name}.sock",
        "root": "/",
        "settings": {
            "model": model,
            **({"eos": {"version": eos_release}} if eos_release and node.kind == "eos" else {}),
        },
        "description": f"{kind} {model} in a virtual lab",
    }
    _write(place / "node.json", json.dumps(data, indent=1))
    return data


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def accounts(etc: Path, node: LabNode, public: str) -> None:
    """passwd, group, shadow and keys. The operator is root under another name: what runs on a switch as its user may all that EOS lets it."""
    shell = "/usr/local/bin/fabric-eos-cli" if node.kind == "eos" else "/bin/bash"
    mine = (OPERATOR, "root")
    system = [
        line for line in Path("/etc/passwd").read_text(encoding="utf-8").splitlines() if line.split(":")[0] not in mine
    ]
    home = "/var/home"
    passwd = ["root:x:0:0:root:/root:/bin/bash", f"{OPERATOR}:x:0:0:{OPERATOR}:{home}/{OPERATOR}:{shell}", *system]
    shadow = [f"{name}:*:19000:0:99999:7:::" for name in mine]
    _write(etc / "passwd", "\n".join([*passwd, ""]))
    _write(etc / "group", Path("/etc/group").read_text(encoding="utf-8"))
    _write(etc / "shadow", "\n".join([*shadow, ""]), 0o600)
    _write(etc / "ssh" / "lab_keys", public, 0o600)
    (etc / "ssh" / "keys").mkdir()
    (etc.parent / home.lstrip("/") / OPERATOR).mkdir(parents=True)


def names(etc: Path, node: LabNode) -> None:
    """The node's name, which lldpd looks up as it starts. Asking the machine's name server, which no lab reaches, takes it ten seconds."""
    _write(etc / "hostname", f"{node.name}\n")
    _write(etc / "hosts", f"127.0.0.1 localhost\n127.0.1.1 {node.name}\n::1 localhost\n")
    _write(etc / "resolv.conf", "")


def ssh_server(place: Path, node: LabNode) -> str:
    """The configuration and host key of sshd, and the EOS login shell; returns the line for known_hosts."""
    key = place / "ssh_host_ed25519_key"
    keygen(key, node.name)
    address = node.management.split("/")[0]
    lines = [
        "Port 22", f"ListenAddress {address}", f"HostKey {key}", "AuthorizedKeysFile /etc/ssh/lab_keys /etc/ssh/keys/%u",
        "PermitRootLogin yes", "UsePAM no", "StrictModes no", "PidFile none", "UseDNS no", "PasswordAuthentication yes",
        "KbdInteractiveAuthentication no", "PrintMotd no", "PrintLastLog no", "MaxStartups 100", "MaxSessions 100",
        "Subsystem sftp internal-sftp",
    ]  # fmt: skip
    _write(place / "sshd_config", "\n".join([*lines, ""]))
    if node.kind == "eos":
        command = " ".join(nodekinds.python("fabric.lab.eos.cli", str(place)))
        path = nodekinds.environment(node.name)["PYTHONPATH"]
        script = f"#!/bin/sh\nPYTHONPATH='{path}' exec {command} \"$@\"\n"
        _write(place / "files" / "usr" / "local" / "bin" / "fabric-eos-cli", script, 0o755)
    kind, blob = Path(f"{key}.pub").read_text(encoding="ascii").split()[:2]
    return f"{address},{node.name} {kind} {blob}\n"


def _startup(place: Path, node: LabNode, job: ClusterJob, cluster: Cluster, *, blank: bool) -> None:
    """What stands on the disk at first boot: the rendered files, or only what makes the switch reachable."""
    place.mkdir()
    for artifact in job.render(node.name):
        target = _disk_path(node.kind, artifact.path)
        if target is None:
            raise FabricError(f"{node.name}: {artifact.path} lies on no disk of a virtual {node.kind} switch")
        content = bootstrap.reduced(node.kind, artifact.path, artifact.content) if blank else artifact.content
        if content is not None:
            path = place / target
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(secrets.fill(content, cluster.spec))
            path.chmod(artifact.mode)


def _disk_path(kind: str, path: str) -> str | None:
    for where, folder in nodekinds.BINDS[kind].items():
        if path.startswith(where + "/"):
            return folder + path[len(where) :]
    return None
