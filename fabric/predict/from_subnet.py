"""The network of an InfiniBand design. Its tables are the subnet manager's work; what its routing engine would do stands in for them.

`ftree`: the port by the destination (D-mod-K), as OpenSM's fat-tree engine balances it. Any other engine: all shortest paths, for the hash,
or for adaptive routing (`spray`), to choose from. Forwarding tables that were read (`lft_net`) tell the truth where there are some.
"""

from __future__ import annotations

import numpy as np

from fabric.design.ib.model import Subnet
from fabric.forwarding.wiring import Wiring, from_subnet
from fabric.predict.from_lfts import wired
from fabric.predict.from_wiring import Cabling, net_of
from fabric.predict.net import NO_PATH, Groups, Ints, Net
from fabric.predict.sets import ANY, Compressor, singles
from fabric.predict.shortest import shortest_tables


def subnet_net(subnet: Subnet) -> Net:
    """The network as designed, without what is planned only."""
    wiring = from_subnet(subnet)
    cabling, _ = wired(wiring)
    there = cabling.nic_leaf >= 0
    home, index = np.unique(cabling.nic_leaf[there], return_inverse=True)
    of_nic = np.full(there.size, -1, dtype=np.int64)
    of_nic[there] = index
    unit = np.array([subnet.switch[wiring.switches[leaf]].unit for leaf in home.tolist()])
    groups = Groups.of(of_nic, home.astype(np.int64), np.unique(unit, return_inverse=True)[1])
    tables = shortest_tables(len(wiring.switches), cabling.first, cabling.source, cabling.target, groups)
    net = net_of(cabling, groups, tables)
    return _by_destination(subnet, wiring, cabling, net) if subnet.routing.engines[0] == "ftree" else net


def _by_destination(subnet: Subnet, wiring: Wiring, cabling: Cabling, net: Net) -> Net:
    """Every NIC a group by itself, whose port at each switch follows from its place: in its leaf, and of the leaf in its pod."""
    nics = np.flatnonzero(cabling.nic_leaf >= 0)
    leaf = net.groups.of_nic[nics]
    of_nic = np.full(cabling.nic_leaf.size, -1, dtype=np.int64)
    of_nic[nics] = np.arange(nics.size)
    groups = Groups.of(of_nic, net.groups.home[leaf], leaf)
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
