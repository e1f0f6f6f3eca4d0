"""The lab as it was declared and is cabled: which nodes it has, which cable end sits in which socket, at which rate."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab import cables, hosts, lldp, proc, shape
from fabric.lab.cables import Socket
from fabric.lab.names import linux_name


class Wiring:
    """Nodes, sockets and cables of one lab. Methods raise FabricError for what was asked wrongly, OSError for what the kernel refuses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lab: dict[str, Any] = json.loads((folder / "lab.json").read_text(encoding="utf-8"))
        self.nodes: dict[str, dict[str, Any]] = {item["name"]: item for item in self.lab["nodes"]}
        self.ends: dict[Socket, str] = {}
        self.rates: dict[Socket, int] = {}
        self._described: dict[Socket, str] = {}

    def node_folder(self, name: str) -> Path:
        """Folder of a node."""
        return self.folder / "nodes" / name

    def log(self, name: str, daemon: str) -> Path:
        """Log file of a daemon."""
        return self.folder / "logs" / name / f"{daemon}.log"

    def spec(self, name: str) -> dict[str, Any]:
        """A node as declared; FabricError for a name that is none."""
        if name not in self.nodes:
            raise FabricError(
                f"this lab has no node {name!r}", hint=f"nodes are {', '.join(list(self.nodes)[:6])}, ..."
            )
        return self.nodes[name]

    def settings(self, name: str) -> dict[str, Any]:
        """A node's node.json."""
        data: dict[str, Any] = json.loads((self.node_folder(name) / "node.json").read_text(encoding="utf-8"))
        return data

    def is_machine(self, name: str) -> bool:
        """Is a node a host that is booted?"""
        return bool(self.spec(name)["machine"])

    def socket(self, text: str) -> Socket:
        """`NODE:PORT`, the port by its NOS or Linux name -> the socket; FabricError when there is no such."""
        name, _, port = text.partition(":")
        ports = self.spec(name)["ports"]
        linux = ports.get(port) or linux_name(port)
        if linux not in ports.values():
            raise FabricError(
                f"{name} has no cable at {port!r}", hint=f"its ports are {', '.join(list(ports)[:8])}, ..."
            )
        return name, linux

    def port_name(self, socket: Socket) -> str:
        """`NODE:PORT` with the NOS name."""
        for port, linux in self.nodes[socket[0]]["ports"].items():
            if linux == socket[1]:
                return f"{socket[0]}:{port}"
        return ":".join(socket)

    def far(self, socket: Socket) -> Socket | None:
        """The socket at the other end of the cable, None when nothing is there."""
        mine = self.ends[socket]
        other = mine[:-1] + ("b" if mine.endswith("a") else "a")
        return next((place for place, end in self.ends.items() if end == other), None)

    # --- cables ---------------------------------------------------------------------------------------------------------
    def plug_all(self) -> None:
        """All cables and the management network; the namespaces are there."""
        managed = [(name, self.management(name)) for name, item in self.nodes.items() if is_managed(item)]
        proc.ip_batch(cables.bridge_batch(self.lab["gateway"], managed))
        lines = []
        for number, cable in enumerate(self.lab["cables"]):
            a = (cable["a"], self.nodes[cable["a"]]["ports"][cable["a_port"]])
            b = (cable["b"], self.nodes[cable["b"]]["ports"][cable["b_port"]])
            lines.append(cables.cable_batch(a, b, cable["mtu"]))
            self.ends[a], self.ends[b] = f"c{number}a", f"c{number}b"
        proc.ip_batch(lines)

    def management(self, name: str) -> str:
        """A node's interface on the management network, by its Linux name."""
        return str(self.settings(name)["management_linux"])

    def before_unplugging(self, socket: Socket) -> None:
        """Remember how a switch's port describes itself by LLDP; lldpd forgets it with the interface."""
        if self.nodes[socket[0]]["kind"] != "host":
            said = lldp.announced(self.settings(socket[0])["lldp_socket"], socket[1])
            if said is not None:
                self._described[socket] = said[1]

    def replugged(self, socket: Socket) -> None:
        """Name the port for lldpd again, and give a host's NIC its routes back, after another device took the socket."""
        name, linux = socket
        item = self.nodes[name]
        self.shape([socket])
        if self.is_machine(name):
            return  # its own network service sees the new device
        if item["kind"] == "host":
            names = [nic["name"] for nic in item["nics"]]
            proc.ip_batch(hosts.without_rules(hosts.nic_batch(item["nics"], names.index(linux))), netns=name)
            self.align(name)
            return
        port = self.port_name(socket).partition(":")[2]
        lldp.configure_port(self.settings(name)["lldp_socket"], port, linux, self._described.get(socket, ""))

    def shape(self, sockets: Iterable[Socket]) -> None:
        """Give these sockets the rate that they have in a shaped lab."""
        shape.limit({socket: self.rates[socket] for socket in sockets if socket in self.rates})

    def align(self, name: str) -> None:
        """In a shaped lab: let each NIC of a host carry what goes to the same rail of the others; else no longer."""
        item = self.nodes[name]
        if item["nics"] and not self.rates:
            proc.ip_batch([f"route flush proto {hosts.RAIL}"], netns=name)
        elif item["nics"]:
            others = [other["nics"] for other in self.nodes.values() if other["nics"] and other["name"] != name]
            proc.ip_batch(hosts.rail_batch(item["nics"], others), netns=name)

    def forget_ways(self) -> None:
        """Let hosts forget what they have learnt of the MTU of ways."""
        for name, item in self.nodes.items():
            if item["nics"]:
                proc.ip_batch(["route flush cache"], netns=name)


def is_managed(item: dict[str, Any]) -> bool:
    """Has a node an interface on the management network?"""
    return bool(item["management"] or item["front_end"])
