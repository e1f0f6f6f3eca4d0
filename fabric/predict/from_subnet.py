"""The network of an InfiniBand design. Its tables are the subnet manager's work; what its routing engine would do stands in for them.

`ftree`: the port by the destination (D-mod-K), as OpenSM's fat-tree engine balances it. `minhop`, `updn`: the least loaded port of each
switch, entry by entry as OpenSM fills them. Any other engine, and `scatter_ports`: all shortest paths, for the hash to draw from, or for
adaptive routing (`spray`). Forwarding tables that were read (`lft_net`) tell the truth where there are some.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from fabric.design.ib.model import Subnet
from fabric.forwarding.wiring import Wiring, from_subnet
from fabric.predict.from_lfts import wired
from fabric.predict.from_wiring import Cabling, net_of
from fabric.predict.least_loaded import least_loaded_tables
from fabric.predict.net import NO_PATH, Groups, Ints, Net
from fabric.predict.sets import ANY, Compressor, singles
from fabric.predict.shortest import shortest_tables

LEAST_LOADED: Final = ("minhop", "updn")


def subnet_net(subnet: Subnet) -> Net:
    """The network as designed, without what is planned only. `open` has all shortest paths where an engine fixes one."""
    wiring = from_subnet(subnet)
    cabling, endpoint = wired(wiring)
    there = cabling.nic_leaf >= 0
    home, index = np.unique(cabling.nic_leaf[there], return_inverse=True)
    of_nic = np.full(there.size, -1, dtype=np.int64)
    of_nic[there] = index
    unit = np.array([subnet.switch[wiring.switches[leaf]].unit for leaf in home.tolist()])
    groups = Groups.of(of_nic, home.astype(np.int64), np.unique(unit, return_inverse=True)[1])
    net = net_of(
        cabling, groups, shortest_tables(len(wiring.switches), cabling.first, cabling.source, cabling.target, groups)
    )
    engine = subnet.routing.engines[0]
    if engine == "ftree":
        return replace(_by_destination(subnet, wiring, cabling, net), open=net)
    if engine in LEAST_LOADED and not _scattered(subnet):
        each = _each_nic(net, there)
        return replace(net_of(cabling, each, least_loaded_tables(wiring, cabling, endpoint[there], each)), open=net)
    return net


def assumed(subnet: Subnet) -> str:
    """What stands in for the tables of the declared engine, in words."""
    engine = subnet.routing.engines[0]
    if engine == "ftree":
        return f"{engine}: one port a destination, even over every tier"
    if engine in LEAST_LOADED and not _scattered(subnet):
        return f"{engine}: one port a destination, the least loaded of each switch, as OpenSM counts"
    if engine.startswith("ar_"):
        return f"{engine}: adaptive routing reckoned as even over all shortest paths"
    scattered = " with scatter_ports" if _scattered(subnet) else ""
    return f"{engine}{scattered} has no model here: one of the shortest paths by lot for each flow; --live reads its tables"


def _scattered(subnet: Subnet) -> bool:
    return subnet.routing.options.get("scatter_ports", "0") != "0"


def _each_nic(net: Net, there: npt.NDArray[np.bool_]) -> Groups:
    """Every NIC with a cable as a group by itself, those of a leaf as a block."""
    nics = np.flatnonzero(there)
    leaf = net.groups.of_nic[nics]
    of_nic = np.full(there.size, -1, dtype=np.int64)
    of_nic[nics] = np.arange(nics.size)
    return Groups.of(of_nic, net.groups.home[leaf], leaf)


def _by_destination(subnet: Subnet, wiring: Wiring, cabling: Cabling, net: Net) -> Net:
    """Every NIC a group by itself, whose port at each switch follows from its place: in its leaf, and of the leaf in its pod."""
    groups = _each_nic(net, cabling.nic_leaf >= 0)
    leaf = groups.block
    pod = np.array([subnet.switch[wiring.switches[one]].pod for one in net.groups.home.tolist()])
    digits = np.stack([_places(leaf), _places(pod)[leaf]])
    put = Compressor(groups, len(wiring.switches))
    for switch in range(len(wiring.switches)):
        put.put(switch, np.where(groups.home == switch, ANY, _row(net, switch, leaf, digits, cabling.first)))
    return net_of(cabling, groups, put.done(singles(cabling.first, cabling.source.size)))


def _places(kind: Ints) -> Ints:
    """The place of each among those of its kind, in order."""
    order = np.argsort(kind, kind="stable")
    count = np.bincount(kind)
    place = np.empty_like(kind)
    place[order] = np.arange(kind.size) - np.repeat(np.cumsum(count) - count, count)
    return place


def _row(net: Net, switch: int, leaf: Ints, digits: Ints, first: int) -> Ints:
    """For each NIC the set of one channel, as `singles` numbers them: by the digit of the lower end's level."""
    tables, numbers = net.tables, net.row(switch)
    begin, size = tables.start[numbers], tables.size[numbers]
    head = net.target[tables.members[np.where(numbers == NO_PATH, 0, begin)]]
    lower = np.minimum(np.minimum(net.level[head], net.level[switch]), digits.shape[0] - 1)
    place = np.where(lower[leaf] == 0, digits[0], digits[1])
    member = begin[leaf] + place % np.maximum(size, 1)[leaf]
    found = tables.members.take(member, mode="clip") - first + 1
    return np.where((numbers == NO_PATH)[leaf], NO_PATH, found)
