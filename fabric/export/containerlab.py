"""The cluster as a containerlab topology: cEOS for EOS switches, FRR for FBOSS switches, Linux hosts, every cable a link.

Interfaces of cEOS nodes are eth1, eth2, ... in port order, and EosIntfMapping.json gives each its EOS name (cEOS 4.28 and later), so
that no name is too long and the configuration holds the names of the real switch. Other nodes have the names of the device itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Link, Switch
from fabric.errors import FabricError
from fabric.export.ceos import ceos_config, interface_mapping
from fabric.export.frr import DAEMONS, frr_config
from fabric.targets.base import RenderJob
from fabric.targets.eos.view import eos_side

LONGEST = 15
"""Longest interface name: IFNAMSIZ of linux/if.h is 16, with the closing NUL."""


@dataclass(frozen=True, slots=True)
class Images:
    """Container images. There is no FBOSS image, hence FRR; hosts need a shell and `ip`, which FRR's image has."""

    ceos: str = "ceos:latest"
    frr: str = "frrouting/frr:latest"
    host: str = "frrouting/frr:latest"


@dataclass(frozen=True, slots=True)
class Export:
    """The topology file's text, and the files beside it: path relative to the topology's folder -> text."""

    topology: str
    files: dict[str, str]
    nodes: int
    links: int


def containerlab(fabric: Fabric, job: RenderJob, folder: str, images: Images | None = None) -> Export:
    """The lab of a fabric; files go to `folder`, a name relative to the topology file.

    Planned devices and the cables to them are left out. Raises FabricError when nothing is left, or when an interface cannot be named.
    """
    images = images or Images()
    lab = _Lab(fabric, job, folder, images)
    nodes = dict(lab.nodes())
    document = {
        "name": fabric.spec.name,
        "mgmt": {
            "network": f"{fabric.spec.name}-mgmt",
            "ipv4-subnet": str(fabric.spec.mgmt.network),
            "ipv4-gw": str(fabric.spec.mgmt.gateway),
        },
        "topology": {"nodes": nodes, "links": [{"endpoints": lab.ends(link)} for link in lab.links]},
    }
    head = f"# Written by fabric export containerlab from the spec of {fabric.spec.name}. Start it with: containerlab deploy -t THIS_FILE\n"
    text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=200, default_flow_style=False)
    return Export(head + text, lab.files, len(nodes), len(lab.links))


class _Dumper(yaml.SafeDumper):
    """Indents the items of a list, as yamllint wants it."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        """See yaml."""
        super().increase_indent(flow, False)


class _Lab:
    """Collects nodes, links and files."""

    def __init__(self, fabric: Fabric, job: RenderJob, folder: str, images: Images) -> None:
        self.fabric, self.job, self.folder, self.images = fabric, job, folder, images
        self.files: dict[str, str] = {}
        self.links = _deployed(fabric)
        if not self.links:
            raise FabricError("no cable of this cluster is deployed: there is nothing to export")
        self.interfaces = _interfaces(fabric, self.links)

    def ends(self, link: Link) -> list[str]:
        """`node:interface` of both ends."""
        return [f"{link.a}:{self.interfaces[link.a][link.a_port]}", f"{link.b}:{self.interfaces[link.b][link.b_port]}"]

    def nodes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Switches that are not planned, then hosts."""
        for switch in self.fabric.switches:
            if switch.state != "planned":
                yield switch.name, self._eos(switch) if switch.nos == "eos" else self._frr(switch)
        cables: dict[str, list[Link]] = {}
        for link in self.links:
            if link.tier == "host":
                cables.setdefault(link.b, []).append(link)
        for name, links in cables.items():
            yield name, self._host(name, links)

    def _file(self, node: str, name: str, text: str) -> str:
        path = f"{self.folder}/{node}/{name}"
        self.files[path] = text
        return path

    def _eos(self, switch: Switch) -> dict[str, Any]:
        names = self.interfaces.get(switch.name, {})
        artifact = self.job.render(switch.name)[0]
        config = self._file(switch.name, "startup-config", ceos_config(artifact.content.decode(), names))
        management = eos_side(switch).management_interface.value
        mapping = interface_mapping({linux: port for port, linux in names.items()}, management)
        bind = f"{self._file(switch.name, 'EosIntfMapping.json', mapping)}:/mnt/flash/EosIntfMapping.json:ro"
        return {
            "kind": "arista_ceos",
            "image": self.images.ceos,
            "group": switch.role,
            "mgmt-ipv4": fmt4(switch.management),
            "startup-config": config,
            "binds": [bind],
        }

    def _frr(self, switch: Switch) -> dict[str, Any]:
        names = self.interfaces.get(switch.name, {})
        binds = [
            f"{self._file(switch.name, 'frr.conf', frr_config(self.fabric, switch, names))}:/etc/frr/frr.conf",
            f"{self._file(switch.name, 'daemons', DAEMONS)}:/etc/frr/daemons",
            f"{self._file(switch.name, 'setup.sh', _router_setup(names, self.fabric.spec.mtu.ip))}:/setup.sh:ro",
        ]
        return {
            "kind": "linux",
            "image": self.images.frr,
            "group": switch.role,
            "mgmt-ipv4": fmt4(switch.management),
            "binds": binds,
            "exec": ["sh /setup.sh"],
        }

    def _host(self, name: str, links: list[Link]) -> dict[str, Any]:
        text = _host_setup(self.interfaces[name], links, self.fabric.spec.mtu.ip)
        return {
            "kind": "linux",
            "image": self.images.host,
            "group": "host",
            "network-mode": "none",
            "binds": [f"{self._file(name, 'setup.sh', text)}:/setup.sh:ro"],
            "exec": ["sh /setup.sh"],
        }


def _deployed(fabric: Fabric) -> list[Link]:
    """The cables between devices that are not planned."""
    there = {switch.name for switch in fabric.switches if switch.state != "planned"}
    there |= {host.name for host in fabric.hosts() if host.state != "planned"}
    return [link for link in fabric.links() if not link.planned and {link.a, link.b} <= there]


def _interfaces(fabric: Fabric, links: list[Link]) -> dict[str, dict[str, str]]:
    """Node -> port name -> interface name, of the cabled ports, in port order."""
    ports: dict[str, list[str]] = {}
    for link in links:
        ports.setdefault(link.a, []).append(link.a_port)
        ports.setdefault(link.b, []).append(link.b_port)
    named: dict[str, dict[str, str]] = {}
    for node, found in ports.items():
        switch = fabric.by_name.get(node)
        if switch is not None and switch.nos == "eos":
            used = set(found)
            order = [port.slot.name for port in fabric.ports(switch) if port.slot.name in used]
            named[node] = {port: f"eth{number}" for number, port in enumerate(order, start=1)}
        else:
            named[node] = {port: _linux_name(node, port) for port in found}
    return named


def _linux_name(node: str, port: str) -> str:
    """`eth2/1/1` -> `eth2_1_1`: the kernel takes no slash."""
    name = port.replace("/", "_")
    if len(name) > LONGEST:
        raise FabricError(f"{node}: interface name {name} has {len(name)} characters, Linux takes {LONGEST}")
    return name


def _router_setup(names: dict[str, str], mtu: int) -> str:
    lines = [
        "#!/bin/sh",
        "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1",
        "sysctl -qw net.ipv4.fib_multipath_hash_policy=1 net.ipv6.fib_multipath_hash_policy=1",
        *(f"ip link set dev {name} mtu {mtu} up" for name in names.values()),
    ]
    return "\n".join(lines) + "\n"


def _host_setup(names: dict[str, str], links: list[Link], mtu: int) -> str:
    """Each NIC with its addresses and a routing table of its own, so that what leaves from its address leaves by it."""
    lines = ["#!/bin/sh"]
    for table, link in enumerate(links, start=101):
        name = names[link.b_port]
        lines.append(f"ip link set dev {name} mtu {mtu} up")
        if link.a4 is not None and link.b4 is not None:
            lines += _nic("ip", name, fmt4(link.b4), 31, fmt4(link.a4), table)
        if link.a6 is not None and link.b6 is not None:
            lines += _nic("ip -6", name, fmt6(link.b6), link.len6, fmt6(link.a6), table)
    return "\n".join(lines) + "\n"


def _nic(ip: str, name: str, address: str, length: int, gateway: str, table: int) -> list[str]:
    return [
        f"{ip} address add {address}/{length} dev {name}",
        f"{ip} route add default via {gateway} dev {name} table {table}",
        f"{ip} rule add from {address} lookup {table}",
    ]
