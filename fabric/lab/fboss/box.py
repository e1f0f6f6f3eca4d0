"""What the command line looks at: the agent's state, the kernel, lldpd; each asked once a command, and only when needed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from fabric.lab.fboss import client, desired, kernel
from fabric.lab.fboss.kernel import LinkState
from fabric.lab.fboss.node import Node

Json = dict[str, Any]

_NO_LINK = LinkState(False, False, 0, "", "", frozenset(), (), {}, {})


class Neighbour(NamedTuple):
    """One LLDP neighbour on the port `port` (FBOSS name); "" = not sent."""

    port: str
    system: str
    chassis: str
    platform: str
    port_id: str


class Box:
    """One box. `detail` is the option --detail, `notes` collects what goes to stderr beside the answer."""

    def __init__(self, node: Node, *, detail: bool = False) -> None:
        self.node = node
        self.detail = detail
        self.notes: list[str] = []

    @cached_property
    def state(self) -> Json:
        """The agent's state; client.ThriftError when it does not answer."""
        return client.ask(self.node, {"op": "state"})

    @property
    def sw(self) -> Json:
        """`sw` of the agent configuration in force."""
        found: Json = self.state["conf"]["sw"]
        return found

    @cached_property
    def links(self) -> Mapping[str, LinkState]:
        """The kernel's interfaces."""
        return kernel.links()

    @cached_property
    def homes(self) -> Mapping[int, Json]:
        """Logical port id -> its interface (SVI)."""
        return desired.port_interfaces(self.sw)[0]

    @cached_property
    def by_link(self) -> Mapping[str, Json]:
        """Linux interface -> configured port."""
        return {self.node.ports[port["name"]]: port for port in self.ports() if port.get("name") in self.node.ports}

    def ports(self, wanted: list[str] | None = None) -> list[Json]:
        """The configured ports, in the file's order; only the `wanted` ones when there are any."""
        found = desired.items(self.sw, "ports")
        return [port for port in found if port.get("name") in wanted] if wanted else found

    def link(self, port: Json) -> LinkState:
        """The kernel's side of a port; a port without cable is down."""
        return self.links.get(self.node.ports.get(port.get("name") or "", ""), _NO_LINK)

    def qsfp(self) -> bool:
        """Whether qsfp_service answers."""
        return not self.node.faults().get("qsfp_down")

    def neighbours(self) -> list[Neighbour]:
        """All LLDP neighbours, by port."""
        if self.node.lldp_socket is None:
            return []
        done = kernel.run(("lldpcli", "-u", self.node.lldp_socket, "-f", "json0", "show", "neighbors"))
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            return []
        names = {link: name for name, link in self.node.ports.items()}
        return neighbours(answer, names)


def neighbours(answer: Json, names: Mapping[str, str]) -> list[Neighbour]:
    """The neighbours in an answer of `lldpcli -f json0`, sorted by port; `names` = Linux interface -> FBOSS port."""
    found = []
    for block in answer.get("lldp", []):
        for row in block.get("interface", []):
            name = names.get(row.get("name", ""))
            if name is None:
                continue
            chassis, port = (row.get("chassis") or [{}])[0], (row.get("port") or [{}])[0]
            found.append(
                Neighbour(
                    name, _value(chassis, "name"), _value(chassis, "id"), _value(chassis, "descr"), _value(port, "id")
                )
            )
    return sorted(found)


def _value(holder: Json, key: str) -> str:
    rows = holder.get(key) or [{}]
    return str(rows[0].get("value", ""))
