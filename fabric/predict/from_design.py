"""The network of a design, straight from its numbering: no object a cable, so that any size is a matter of seconds.

Switches stand in the order RTSWs zone by zone, CTSWs zone by zone, ATSWs; a destination group is an RTSW, a block an AI Zone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fabric.design.fabric import Fabric, ZonePlan
from fabric.design.load import Cluster, SubnetCluster
from fabric.design.model import Port, Switch
from fabric.errors import FabricError
from fabric.predict.failures import Gone, prune
from fabric.predict.from_subnet import subnet_net
from fabric.predict.net import Floats, Groups, Ints, Net, Tables

TIERS = ("host up", "rtsw up", "ctsw up", "atsw down", "ctsw down", "rtsw down")
HOST_UP, RTSW_UP, CTSW_UP, ATSW_DOWN, CTSW_DOWN, RTSW_DOWN = range(6)


def design_net(cluster: Cluster | SubnetCluster) -> Net:
    """The network as designed: without what is planned only; drained CTSWs and ATSWs carry nothing where another way leads.

    FabricError when there is no host.
    """
    return subnet_net(cluster.subnet) if isinstance(cluster, SubnetCluster) else fabric_net(cluster.fabric)


def fabric_net(fabric: Fabric) -> Net:
    """`design_net` of a RoCE fabric."""
    plan = _Layout(fabric)
    net = plan.net()
    planned = [index for index, switch in enumerate(plan.switches) if switch.state == "planned"]
    if planned:
        net = prune(net, Gone(switches=tuple(planned)), strict=False)
    return _drained(net, plan.drained())


def _drained(net: Net, tiers: list[tuple[int, ...]]) -> Net:
    """The network without the drained switches of each tier; where they are the only way, they forward on."""
    for gone in tiers:
        try:
            net = prune(net, Gone(switches=gone))
        except FabricError:
            continue
    return net


@dataclass(frozen=True, slots=True)
class _Wires:
    """Cables of one kind as numbers of switches, sorted by the lower end; `far` sorts them by the upper end."""

    low: Ints
    high: Ints
    capacity: Floats
    far: Ints


class _Layout:
    """Who has which number, and the arrays that follow."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.plans: list[ZonePlan] = list(fabric.zones.values())
        self.unit = max(plan.ports.host_speed_gbps for plan in self.plans)
        self.spines = [fabric.tiers.get(("ctsw", plan.number), []) for plan in self.plans]
        rtsws = [switch for plan in self.plans for switch in fabric.tiers.get(("rtsw", plan.number), [])]
        ctsws = [switch for tier in self.spines for switch in tier]
        self.switches: list[Switch] = [*rtsws, *ctsws, *fabric.tiers.get(("atsw", 0), [])]
        self.leaves, self.tops = len(rtsws), len(rtsws) + len(ctsws)
        self.racks = np.array([plan.racks for plan in self.plans])
        self.width = np.array([len(tier) for tier in self.spines])
        self.first_rack = np.cumsum(self.racks) - self.racks
        self.first_ctsw = self.leaves + np.cumsum(self.width) - self.width
        self.zone_of_ctsw = np.repeat(np.arange(len(self.plans)), self.width)
        self.plane = np.array([switch.plane for switch in ctsws], dtype=np.int64)
        ctsw = fabric.spec.roce.ctsw
        self.leaf_of_host: list[int] = []
        self.uplinks = ctsw.uplinks if ctsw is not None and fabric.wiring is not None else 0

    def net(self) -> Net:
        """The network with everything, whatever its state."""
        hosts, host_leaf = self._hosts()
        rails = len(self.fabric.nic_names)
        nics = len(hosts) * rails
        leaf_of, nic = np.repeat(host_leaf, rails), np.arange(nics)
        lower, upper = self._rack_wires(), self._spine_wires()
        speed = self._by_zone(lambda plan: plan.ports.host_speed_gbps)[leaf_of]
        source = [-1 - nic, leaf_of, lower.low, lower.high[lower.far], upper.low, upper.high[upper.far]]
        target = [leaf_of, -1 - nic, lower.high, lower.low[lower.far], upper.high, upper.low[upper.far]]
        capacity = [speed, speed, lower.capacity, lower.capacity[lower.far], upper.capacity, upper.capacity]
        tiers = (HOST_UP, RTSW_DOWN, RTSW_UP, CTSW_DOWN, CTSW_UP, ATSW_DOWN)
        block = np.repeat(np.arange(len(self.plans)), self.racks)
        levels = np.repeat(np.arange(3), [self.leaves, self.tops - self.leaves, len(self.switches) - self.tops])
        return Net(
            switches=tuple(switch.name for switch in self.switches), level=levels.astype(np.int8), hosts=tuple(hosts), rails=rails,
            leaf_of=leaf_of, up_of=nic, down_of=nics + nic, source=np.concatenate(source), target=np.concatenate(target),
            capacity=np.concatenate(capacity), tier=np.repeat(tiers, [part.size for part in source]).astype(np.int8), tiers=TIERS,
            groups=Groups.of(leaf_of, np.arange(self.leaves), block), tables=self._tables(2 * nics, lower, upper),
            label=_Labels(self, hosts, lower, upper),
        )  # fmt: skip

    def drained(self) -> list[tuple[int, ...]]:
        """Drained CTSWs of each zone, then drained ATSWs. A drained RTSW is the only way to its rack."""
        found: dict[tuple[str, int], list[int]] = {}
        for index, switch in enumerate(self.switches):
            if switch.state == "drained" and switch.role != "rtsw":
                found.setdefault((switch.role, switch.zone), []).append(index)
        return [tuple(numbers) for numbers in found.values()]

    def _hosts(self) -> tuple[list[str], Ints]:
        """Hosts that are there, and the number of the RTSW of each."""
        first = {plan.number: int(start) - 1 for plan, start in zip(self.plans, self.first_rack, strict=True)}
        names: list[str] = []
        leaf: list[int] = []
        for host in self.fabric.hosts():
            index = first[host.zone] + host.rack
            if host.state != "planned" and self.switches[index].state != "planned":
                names.append(host.name)
                leaf.append(index)
        if not names:
            raise FabricError("the design has no host that is more than planned", hint="see `state` in the spec")
        self.leaf_of_host = leaf
        return names, np.array(leaf, dtype=np.int64)

    def _by_zone(self, speed: Callable[[ZonePlan], int]) -> Floats:
        """A speed as capacity, for each rack."""
        return np.repeat([speed(plan) / self.unit for plan in self.plans], self.racks)

    def _rack_wires(self) -> _Wires:
        """RTSW to CTSW: one cable a pair of a zone."""
        width = np.repeat(self.width, self.racks)
        low = np.repeat(np.arange(self.leaves), width)
        spine = np.arange(low.size) - np.repeat(np.cumsum(width) - width, width)
        high = np.repeat(np.repeat(self.first_ctsw, self.racks), width) + spine
        capacity = np.repeat(self._by_zone(lambda plan: plan.ports.uplink_speed_gbps), width)
        return _Wires(low, high, capacity, np.argsort(high, kind="stable"))

    def _spine_wires(self) -> _Wires:
        """CTSW to ATSW: by the plane rule, several a pair where there are more uplinks than ATSWs of a plane."""
        wiring, count = self.fabric.wiring, self.tops - self.leaves
        low = np.repeat(np.arange(self.leaves, self.tops), self.uplinks)
        if wiring is None or not low.size:
            none = np.zeros(0, dtype=np.int64)
            return _Wires(none, none, np.zeros(0), none)
        place = np.tile(np.arange(self.uplinks) % wiring.per_plane, count)
        high = self.tops + place * wiring.planes + np.repeat(self.plane, self.uplinks)
        capacity = np.full(low.size, self.fabric.spine_speed / self.unit)
        return _Wires(low, high, capacity, np.argsort(high, kind="stable"))

    def _tables(self, first: int, lower: _Wires, upper: _Wires) -> Tables:
        """Sets: 0 empty; each RTSW's uplinks; each CTSW's ports down, one by one; each CTSW's uplinks; each ATSW's ports by zone.

        As channels stand in the order of their sets, the members are a plain count from `first` on.
        """
        zones, ctsws = len(self.plans), self.tops - self.leaves
        width = np.repeat(self.width, self.racks)
        by_zone = self._ports_by_zone(upper)
        ups = np.full(ctsws if self.uplinks else 0, self.uplinks)
        size: Ints = np.concatenate([np.zeros(1), width, np.ones(lower.low.size), ups, by_zone.ravel()]).astype(
            np.int64
        )
        table = np.zeros((len(self.switches), zones), dtype=np.int32)
        table[: self.leaves] = np.where(width > 0, 1 + np.arange(self.leaves), 0)[:, None]
        down = 1 + self.leaves
        up = down + lower.low.size
        if self.uplinks:
            table[self.leaves : self.tops] = (up + np.arange(ctsws))[:, None]
            tops = (up + ctsws + np.arange(by_zone.size)).reshape(by_zone.shape)
            table[self.tops :] = np.where(by_zone > 0, tops, 0)
        racks = self.racks[self.zone_of_ctsw]
        table[self.leaves + np.arange(ctsws), self.zone_of_ctsw] = -1 - (np.cumsum(racks) - racks)
        dense = (down + np.arange(lower.low.size)).astype(np.int32)
        return Tables(table, dense, np.cumsum(size) - size, size, first + np.arange(int(size.sum())))

    def _ports_by_zone(self, upper: _Wires) -> Ints:
        """[ATSW, zone]: ports down."""
        zones, tops = len(self.plans), len(self.switches) - self.tops
        zone = self.zone_of_ctsw[upper.low - self.leaves]
        found: Ints = np.bincount((upper.high - self.tops) * zones + zone, minlength=tops * zones).reshape(tops, zones)
        return found


class _Labels:
    """Names of channels, worked out when they are asked for."""

    def __init__(self, layout: _Layout, hosts: list[str], lower: _Wires, upper: _Wires) -> None:
        self._fabric, self._layout, self._hosts = layout.fabric, layout, hosts
        self._rails = len(layout.fabric.nic_names)
        self._nics = len(hosts) * self._rails
        self._wires = (lower, upper)
        self._ports = lru_cache(maxsize=64)(layout.fabric.ports)

    def __call__(self, channel: int) -> str:
        """`switch:port -> switch:port`."""
        if channel < 2 * self._nics:
            return self._host(channel % self._nics, up=channel < self._nics)
        channel -= 2 * self._nics
        for wires in self._wires:
            if channel < 2 * wires.low.size:
                up = channel < wires.low.size
                return self._trunk(wires, channel if up else int(wires.far[channel - wires.low.size]), up=up)
            channel -= 2 * wires.low.size
        raise IndexError(channel)

    def _trunk(self, wires: _Wires, cable: int, *, up: bool) -> str:
        low = int(wires.low[cable])
        index = cable - int(np.searchsorted(wires.low, low))
        return self._shown(
            low, [port for port in self._ports(self._layout.switches[low]) if port.role == "up"][index], out=up
        )

    def _host(self, nic: int, *, up: bool) -> str:
        host, rail = self._hosts[nic // self._rails], nic % self._rails
        leaf = self._layout.leaf_of_host[nic // self._rails]
        ifname = self._fabric.nic_names[rail]
        ports = self._ports(self._layout.switches[leaf])
        port = next(port for port in ports if port.role == "host" and (port.peer, port.peer_port) == (host, ifname))
        return self._shown(leaf, port, out=not up)

    def _shown(self, switch: int, port: Port, *, out: bool) -> str:
        ends = f"{self._layout.switches[switch].name}:{port.slot.name}", f"{port.peer}:{port.peer_port}"
        return " -> ".join(ends if out else ends[::-1])
