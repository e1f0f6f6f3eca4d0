"""What a lab consists of, from the design: nodes, their addresses, and the cables between them."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from ipaddress import IPv4Address
from typing import Any

from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Host, Link, Switch
from fabric.design.suggest import near
from fabric.errors import FabricError
from fabric.lab.names import linux_name


@dataclass(frozen=True, slots=True)
class Nic:
    """One back-end interface of a host: addresses with their lengths, and the switch's address as gateway; "" = family unused."""

    name: str
    address4: str
    gateway4: str
    address6: str
    gateway6: str


@dataclass(frozen=True, slots=True)
class LabNode:
    """One namespace: a switch (`kind` eos or fboss) or a host.

    `ports`: NOS port name -> Linux name, of the cabled ports. `sessions`: addresses of the BGP neighbours that exist in this lab.
    `reach`: one host address of each family per other rack, to which an RTSW must have a route once the lab has converged.
    """

    name: str
    kind: str
    role: str
    management: str = ""
    gateway: str = ""
    ports: dict[str, str] = field(default_factory=dict)
    nics: tuple[Nic, ...] = ()
    sessions: tuple[str, ...] = ()
    reach: tuple[str, ...] = ()
    machine: bool = False
    """A host that is booted (`fabric.lab.machines`), and configures its NICs by itself."""
    front_end: str = ""
    """A host that is no machine: its address, with length, on the management network. Commands reach it there whatever its NICs do."""


@dataclass(frozen=True, slots=True)
class LabCable:
    """One veth pair: the two nodes, their NOS port names, and the MTU in bytes (largest IP packet), and the designed speed."""

    a: str
    a_port: str
    b: str
    b_port: str
    mtu: int
    speed_gbps: int = 0


@dataclass(frozen=True, slots=True)
class LabTopology:
    """Everything that a supervisor needs to know."""

    cluster: str
    gateway: str
    nodes: tuple[LabNode, ...]
    cables: tuple[LabCable, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data for lab.json."""
        return asdict(self)


def lab_topology(fabric: Fabric, subset: Sequence[str] = (), boot: Sequence[str] = ()) -> LabTopology:
    """The lab of a fabric. `subset`: globs over device names; hosts follow their RTSW. Planned devices are not booted.

    `boot`: globs over the hosts of the lab that are machines. Each gets an address of the management network that no device has.

    Raises FabricError when a glob fits nothing.
    """
    switches = [switch for switch in fabric.switches if switch.state != "planned"]
    wanted = _chooser([switch.name for switch in switches], subset)
    booted = {switch.name: switch for switch in switches if wanted(switch.name)}
    hosts = {host.name: host for host in fabric.hosts() if host.state != "planned" and _rtsw_of(fabric, host) in booted}
    links = [
        link
        for link in fabric.links()
        if not link.planned and link.a in booted and (link.b in booted or link.b in hosts)
    ]
    ports: dict[str, dict[str, str]] = {name: {} for name in (*booted, *hosts)}
    for link in links:
        ports[link.a][link.a_port] = linux_name(link.a_port)
        ports[link.b][link.b_port] = linux_name(link.b_port)
    nics: dict[str, list[Link]] = {name: [] for name in hosts}
    for link in links:
        if link.tier == "host":
            nics[link.b].append(link)
    free = _free_addresses(fabric)
    machines = dict(zip(_machines(list(hosts), boot), free, strict=False))
    front_ends = dict(zip((name for name in hosts if name not in machines), free, strict=False))
    length = fabric.spec.mgmt.network.prefixlen
    nodes = [
        *_switch_nodes(fabric, booted, [link for link in links if link.b not in machines], ports, length),
        *(
            _host_node(
                name, nics[name], ports[name], f"{fmt4(front_ends[name])}/{length}" if name in front_ends else ""
            )
            for name in hosts
            if name not in machines
        ),
        *(_machine_node(fabric, name, ports[name], f"{fmt4(machines[name])}/{length}") for name in machines),
    ]
    return LabTopology(
        fabric.spec.name,
        f"{fabric.spec.mgmt.gateway}/{length}",
        tuple(nodes),
        tuple(
            LabCable(link.a, link.a_port, link.b, link.b_port, fabric.spec.mtu.ip, link.cabled.speed_gbps)
            for link in links
        ),
    )


def _chooser(names: Sequence[str], subset: Sequence[str]) -> Callable[[str], bool]:
    for glob in subset:
        if not fnmatch.filter(names, glob):
            raise FabricError(f"--subset {glob}: no switch has such a name", hint=near(glob, list(names)))
    return lambda name: not subset or any(fnmatch.fnmatchcase(name, glob) for glob in subset)


def _machines(hosts: Sequence[str], boot: Sequence[str]) -> list[str]:
    for glob in boot:
        if not fnmatch.filter(hosts, glob):
            raise FabricError(f"--boot {glob}: no host of this lab has such a name", hint=near(glob, list(hosts)))
    return [name for name in hosts if any(fnmatch.fnmatchcase(name, glob) for glob in boot)]


def _free_addresses(fabric: Fabric) -> Iterator[int]:
    """Addresses of the management network that no device has, from its end: the design gives hosts none."""
    network = fabric.spec.mgmt.network
    taken = {switch.management for switch in fabric.switches} | {int(IPv4Address(fabric.spec.mgmt.gateway))}
    first, last = int(network.network_address), int(network.broadcast_address)
    return (address for address in range(last - 1, first, -1) if address not in taken)


def _rtsw_of(fabric: Fabric, host: Host) -> str:
    return fabric.rtsw_name(host.zone, host.rack)


def _switch_nodes(
    fabric: Fabric, booted: dict[str, Switch], links: Sequence[Link], ports: dict[str, dict[str, str]], length: int
) -> Iterator[LabNode]:
    sessions: dict[str, list[str]] = {name: [] for name in booted}
    racks: dict[str, list[str]] = {}
    for link in links:
        if link.tier == "host":
            racks.setdefault(link.a, _addresses(link.b4, link.b6))
            continue
        sessions[link.a] += _addresses(link.b4, link.b6)
        sessions[link.b] += _addresses(link.a4, link.a6)
    connected = _components(links, booted)
    for switch in booted.values():
        others = [
            address
            for rack, found in racks.items()
            if switch.role == "rtsw" and rack != switch.name and connected[rack] == connected[switch.name]
            for address in found
        ]
        yield LabNode(
            switch.name, switch.nos, switch.role, f"{fmt4(switch.management)}/{length}", str(fabric.spec.mgmt.gateway),
            ports[switch.name], (), tuple(sessions[switch.name]), tuple(others),
        )  # fmt: skip


def _components(links: Sequence[Link], booted: dict[str, Switch]) -> dict[str, str]:
    """Each switch -> the name of one switch of its connected part: a subset may fall apart."""
    head = {name: name for name in booted}

    def find(name: str) -> str:
        while head[name] != name:
            head[name] = head[head[name]]
            name = head[name]
        return name

    for link in links:
        if link.tier != "host":
            head[find(link.a)] = find(link.b)
    return {name: find(name) for name in booted}


def _addresses(four: int | None, six: int | None) -> list[str]:
    return [*([] if four is None else [fmt4(four)]), *([] if six is None else [fmt6(six)])]


def _host_node(name: str, links: Sequence[Link], ports: dict[str, str], front_end: str) -> LabNode:
    nics = [
        Nic(
            linux_name(link.b_port),
            "" if link.b4 is None else f"{fmt4(link.b4)}/31",
            "" if link.a4 is None else fmt4(link.a4),
            "" if link.b6 is None else f"{fmt6(link.b6)}/{link.len6}",
            "" if link.a6 is None else fmt6(link.a6),
        )
        for link in links
    ]
    return LabNode(name, "host", "host", ports=ports, nics=tuple(nics), front_end=front_end)


def _machine_node(fabric: Fabric, name: str, ports: dict[str, str], management: str) -> LabNode:
    return LabNode(name, "host", "host", management, str(fabric.spec.mgmt.gateway), ports=ports, machine=True)
