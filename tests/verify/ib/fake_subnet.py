"""A live subnet in memory, made of a design, that can be broken: implements `Reads` by what its cables, tables and texts are now."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fabric.design.ib.build import design_subnet
from fabric.design.ib.model import Subnet, SubnetManager
from fabric.errors import FabricError
from fabric.forwarding.tables import Lfts
from fabric.spec.cluster import ClusterSpec
from fabric.targets.opensm.keys import known_keys
from fabric.targets.opensm.mad_model import End, Node, NodeInfo, PortCounters, PortInfo, SmInfo, SwitchInfo, Topology
from fabric.targets.opensm.partitions import read_partitions
from fabric.targets.opensm.paths import PARTITIONS
from fabric.targets.opensm.rendering import render
from fabric.verify.ib.reads import Path, PortQos, SmText, Unread
from fabric.verify.ib.sm_keys import declared
from tests.conftest import edited

Place = tuple[str, int]  # node name, port
UP = PortInfo(0, 0, 1, 0, False, "active", True, 4, 106.25, 4096, 4096, 15, 2, 255, 8, 8)
DOWN = dataclasses.replace(UP, state="down", link_up=False, width=0, speed=0.0)
SMALL: dict[str, Any] = {
    "backend.hosts": 15, "backend.growth": None, "backend.core_stripe": None, "backend.subnet_manager.hosts.1.host": "gt0009",
    "backend.partitions.0.members": [{"units": "1"}], "backend.partitions.1.members": [{"units": "2"}],
}  # fmt: skip
"""Two tiers, 15 hosts in units of 8, so that port 8 of the leaves of unit 2 is free."""
NVIDIA: dict[str, Any] = {
    "backend.subnet_manager.flavour": "nvidia", "backend.routing.engines": ["ar_updn"], "backend.routing.fallback": None,
}  # fmt: skip


@functools.cache
def subnet_of(size: str) -> Subnet:
    """`small` (120 HCAs, two tiers), `nvidia` (the same for NVIDIA's OpenSM) or `lab` (384 HCAs, three tiers)."""
    changes = {"small": SMALL, "nvidia": SMALL | NVIDIA, "lab": {}}[size]
    return design_subnet(ClusterSpec.model_validate(edited("ib-lab", changes)))


class FakeSubnet:
    """What is there. Change `cables` (both directions), `description`, `guid`, `ports`, `routes`, `sms`, `pkeys_of`, ... to break it."""

    simulated = False

    def __init__(self, subnet: Subnet) -> None:
        self.subnet = subnet
        self.cables: dict[Place, Place] = {}
        for link in subnet.links:
            self.plug((link.a, link.a_port), (link.b, link.b_port))
        self.guid = {**{s.name: s.guid for s in subnet.switches}, **{h.name: h.node_guid for h in subnet.hcas}}
        self.size = {s.name: s.ports for s in subnet.switches}
        self.description = {name: name for name in self.guid}
        self.lid = {name: number for number, name in enumerate([*subnet.hca, *subnet.switch], 1)}
        self.port: dict[Place, PortInfo] = {}
        self.gaps: tuple[str, ...] = ()
        self.routes: dict[tuple[str, str], int] = {}
        self.aliased = False
        self.unread: tuple[tuple[int, int], ...] = ()
        self.sms = [
            SmInfo(m.hca.port_guid, 99, m.priority, "standby" if number else "master")
            for number, m in enumerate(subnet.managers)
        ]
        text = next(a.content for a in render(subnet, subnet.managers[0]) if a.path == PARTITIONS)
        tables = read_partitions(
            text, ports=[h.port_guid for h in subnet.hcas], manager=subnet.managers[0].hca.port_guid
        )
        self.pkeys_of: dict[str, tuple[int, ...] | None] = {}
        for hca in subnet.hcas:
            mine = {key: ports[hca.port_guid] for key, ports in tables.items() if hca.port_guid in ports}
            self.pkeys_of[hca.name] = tuple(key if how == "limited" else key | 0x8000 for key, how in mine.items())
        self.qos_of: dict[Place, PortQos | None] = {}
        self.count: dict[Place, PortCounters | None] = {}
        self.stdout = {m.host: stdout_of(subnet, m) for m in subnet.managers}
        self.log: dict[str, str | None] = {m.host: None for m in subnet.managers}
        self.dead: set[str] = set()
        self.no_is_sm: set[int] = set()
        self.levels: dict[int, int] | None = {0x1001: 1}

    def plug(self, one: Place, other: Place) -> None:
        """Joins two ports."""
        self.cables[one], self.cables[other] = other, one

    def cut(self, one: Place) -> Place:
        """Takes the cable out at both ends; the far end."""
        other = self.cables.pop(one)
        del self.cables[other]
        return other

    def move(self, source: Place, to: Place) -> None:
        """Moves one plug."""
        self.plug(to, self.cut(source))

    def swap(self, *places: Place) -> None:
        """Exchanges the plugs in these ports, each going to the next one."""
        far = [self.cut(place) for place in places]
        for place, other in zip(places, [far[-1], *far[:-1]], strict=True):
            self.plug(place, other)

    def off(self, *names: str) -> None:
        """Nodes without power."""
        self.dead.update(names)

    # ------------------------------------------------------------------------------------------------------------ Reads

    def topology(self) -> Topology:
        """See Reads: what is reached from the first SM's HCA that has power."""
        home = next(m.hca.name for m in self.subnet.managers if m.hca.name not in self.dead)
        reached, front = {home}, [home]
        far = {a: b for a, b in self.cables.items() if a[0] not in self.dead and b[0] not in self.dead}
        beside: dict[str, list[str]] = {}
        for a, b in far.items():
            beside.setdefault(a[0], []).append(b[0])
        while front:
            front = list({other for name in front for other in beside.get(name, ())} - reached)
            reached |= set(front)
        nodes = {self.guid[name]: self._node(name) for name in self.guid if name in reached}
        ports: dict[End, PortInfo] = {}
        for name in self.guid:
            if name in reached:
                for number in range(self.size[name] + 1) if name in self.size else (1,):
                    ports[self.guid[name], number] = self._port(far, name, number)
        links = sorted({
            tuple(sorted(((self.guid[a[0]], a[1]), (self.guid[b[0]], b[1]))))
            for a, b in far.items() if a[0] in reached and b[0] in reached
        })  # fmt: skip
        return Topology((self.guid[home], 1), nodes, ports, tuple(links), self.gaps)  # type: ignore[arg-type]

    def _node(self, name: str) -> Node:
        switch = name in self.size
        guid = self.guid[name]
        info = NodeInfo(
            "switch" if switch else "hca",
            self.size.get(name, 1),
            guid,
            guid,
            guid if switch else guid + 1,
            128,
            0x2C9,
            1,
            0 if switch else 1,
        )
        table = SwitchInfo(49152, len(self.lid), 128, enhanced_port0=True) if switch else None
        return Node(info, self.description[name], (), self.lid[name], table)

    def _port(self, far: Mapping[Place, Place], name: str, number: int) -> PortInfo:
        if number and (name, number) not in far:
            return DOWN
        info = self.port.get((name, number), UP)
        return dataclasses.replace(info, lid=self.lid[name]) if number == 0 or name not in self.size else info

    def managers(self, topology: Topology, declared: Sequence[End]) -> Sequence[SmInfo]:
        """See Reads: those that are reached, and whose port says that it holds one or is asked anyway."""
        there = set(topology.port_guid.values())
        asked = {topology.port_guid[end] for end in declared}
        return [
            sm
            for sm in self.sms
            if sm.guid not in self.subnet.name_of
            or (sm.guid in there and (sm.guid not in self.no_is_sm or sm.guid in asked))
        ]

    def lfts(self, topology: Topology) -> Lfts:
        """See Reads: as a good engine routes what is there, then `routes` over it."""
        names = {self.guid[name]: name for name in self.guid}
        switches = [names[node.guid] for node in topology.switches]
        far = {(names[a[0]], a[1]): (names[b[0]], b[1]) for a, b in topology.far.items()}
        table = np.full((len(switches), len(self.lid) + 1), 255, dtype=np.uint8)
        row = {name: index for index, name in enumerate(switches)}
        up = {name: [(p, far[name, p]) for p in range(1, self.size[name] + 1) if (name, p) in far] for name in switches}
        groups: dict[str, list[tuple[int, str]]] = {}
        for name in switches:
            groups[name] = [(port, end[0]) for port, end in up[name] if end[0] not in row]
        leaves = [name for name in switches if groups[name]]
        inside = {name: number % 8 for number, name in enumerate(leaves)}
        for leaf in leaves:
            distance = _distances(leaf, up, row)
            for place, (port, hca) in enumerate(groups[leaf]):
                lid = self.lid[hca]
                table[row[leaf], lid] = port
                for name in switches:
                    if name == leaf or name not in distance:
                        continue
                    ways = [
                        p for p, end in up[name] if end[0] in row and distance.get(end[0], 99) == distance[name] - 1
                    ]
                    key = 0 if self.aliased else place if groups[name] else inside[leaf]
                    table[row[name], lid] = ways[key % len(ways)]
        for (switch, hca), port in self.routes.items():
            table[row[switch], self.lid[hca]] = port
        return Lfts(tuple(self.guid[name] for name in switches), table, self.unread)

    def pkeys(self, _: Topology, ports: Sequence[End]) -> Mapping[End, tuple[int, ...] | None]:
        """See Reads."""
        names = {self.guid[name]: name for name in self.guid}
        return {end: self.pkeys_of[names[end[0]]] for end in ports}

    def qos(self, _: Topology, ports: Sequence[End]) -> Mapping[End, PortQos | None]:
        """See Reads."""
        names, tables = {self.guid[name]: name for name in self.guid}, self.subnet.qos
        assert tables is not None
        good = PortQos(tables.sl2vl or (), tables.vlarb_high or (), tables.vlarb_low or ())
        return {end: self.qos_of.get((names[end[0]], end[1]), good) for end in ports}

    def counters(self, _: Topology, ports: Sequence[End]) -> Mapping[End, PortCounters | None]:
        """See Reads."""
        names = {self.guid[name]: name for name in self.guid}
        return {end: self.count.get((names[end[0]], end[1]), PortCounters(*[0] * 17)) for end in ports}

    def paths(self, _: Topology, pairs: Sequence[tuple[End, End]]) -> Sequence[Path | None]:
        """See Reads: the shared partition that is not the default one, its SL by `levels` (None: no answer), and the rate."""
        names = {self.guid[name]: name for name in self.guid}
        found: list[Path | None] = []
        for a, b in pairs:
            keys = [set(self.pkeys_of[names[end[0]]] or ()) for end in (a, b)]
            key = min(keys[0] & keys[1], key=lambda key: (key & 0x7FFF == 0x7FFF, key))
            found.append(
                None
                if self.levels is None
                else Path(key, self.levels.get(key & 0x7FFF, 0), 17 if self.simulated else 21)
            )
        return found

    def texts(self, managers: Sequence[SubnetManager]) -> Mapping[str, SmText]:
        """See Reads: as printed; the log as set, else that of a good start with what is there."""
        return {m.host: SmText(self.stdout[m.host], self.log[m.host] or self.good_log(m)) for m in managers}

    def good_log(self, manager: SubnetManager) -> str:
        """The log of an SM that knows the design's GUIDs, as far as they are there."""
        there = self.topology().nodes
        roots = sum(switch.guid in there for switch in self.subnet.roots)
        compute = sum(hca.node_guid in there for hca in self.subnet.compute)
        master = any(sm.state == "master" and sm.guid == manager.hca.port_guid for sm in self.sms)
        lost = [
            f"0x04 -> osm_prtn_add_port: port {h.port_guid:#x} not found"
            for h in self.subnet.hcas
            if h.node_guid not in there
        ]
        lost += [
            f"0x01 -> rank_root_sw_by_guid: ERR AB24: Root switch GUID {s.guid:#x} not found"
            for s in self.subnet.roots
            if s.guid not in there
        ]
        return log_of(self.subnet, master=master, roots=roots, compute=compute) + (logged(*lost) if master else "")


class DeafSubnet(FakeSubnet):
    """One that cannot be asked at all."""

    def topology(self) -> Topology:
        """No HCA."""
        raise FabricError("no InfiniBand device on this machine")

    def texts(self, managers: Sequence[SubnetManager]) -> Mapping[str, SmText]:
        """Nothing."""
        return {m.host: SmText(Unread("not asked for"), Unread("not asked for")) for m in managers}


def _distances(leaf: str, up: Mapping[str, list[tuple[int, Place]]], row: Mapping[str, int]) -> dict[str, int]:
    distance, front = {leaf: 0}, [leaf]
    while front:
        reached = []
        for name in front:
            for _, (other, _) in up[name]:
                if other in row and other not in distance:
                    distance[other] = distance[name] + 1
                    reached.append(other)
        front = reached
    return distance


def stdout_of(subnet: Subnet, manager: SubnetManager) -> str:
    """What opensm prints at a good start: every option that differs from its default (the form is measured, opensm 3.3.23)."""
    conf, known = declared(subnet, manager), known_keys(subnet.flavour)
    lines = [
        "OpenSM 3.3.23",
        "Config file is `/etc/opensm/opensm.conf`:",
        " Reading Cached Option File: /etc/opensm/opensm.conf",
    ]
    lines += [
        f" Loading Cached Option:{name} = {value}"
        for name, value in conf.values.items()
        if value != known[name].default
    ]
    return "\n".join([*lines, "Entering DISCOVERING state", ""])


def log_of(
    subnet: Subnet, *, master: bool, engine: str | None = None, roots: int | None = None, compute: int | None = None
) -> str:
    """The log of a good start (the form is measured, opensm 3.3.23)."""
    lines = [
        "0x80 -> OpenSM 3.3.23", "0x80 -> Entering DISCOVERING state", "0x04 -> dump_routing_engine:     name: none - Type: 0",
        "0x01 -> setup_routing_engines: Failed to setup routing engine 'no_fallback'",
        f"0x02 -> osm_opensm_bind: Setting IS_SM on port {subnet.managers[0].hca.port_guid:#018x}",
    ]  # fmt: skip
    if master:
        count = len(subnet.roots) if roots is None else roots
        compute = len(subnet.compute) if compute is None else compute
        lines += [
            "0x80 -> Entering MASTER state",
            f"0x02 -> fabric_dump_general_info:   - Fabric has {compute} CAs, {compute} CA ports ({compute} of them CNs), 24 switches",
            f"0x02 -> fabric_dump_general_info:   - Fabric has {count} switches at rank 0 (roots)",
            f"0x02 -> osm_ucast_mgr_process: {engine or subnet.routing.engines[0]} tables configured on all switches",
            "0x02 -> SUBNET UP",
        ]
    else:
        lines += ["0x80 -> Entering STANDBY state"]
    return logged(*lines)


def logged(*lines: str) -> str:
    """Lines with the time and thread that opensm puts before them."""
    return "".join(f"Nov 30 12:04:37 060301 [9E353740] {line}\n" for line in lines)
