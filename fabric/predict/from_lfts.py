"""The network of an InfiniBand subnet: by its forwarding tables as they are, or by the shortest paths of its design."""

from __future__ import annotations

import numpy as np

from fabric.errors import FabricError
from fabric.forwarding.tables import Routes
from fabric.forwarding.wiring import LEVELS, Wiring
from fabric.predict.from_wiring import Cabling, net_of
from fabric.predict.net import Groups, Ints, Net
from fabric.predict.sets import ANY, Compressor, singles


def lft_net(routes: Routes) -> Net:
    """The network by linear forwarding tables: one port a destination, each NIC a group by itself. Compute endpoints only.

    FabricError when no compute endpoint is cabled, and when no switch has a route to any of them.
    """
    cabling, endpoint = wired(routes.wiring)
    wiring = routes.wiring
    set_of = np.zeros(wiring.far.shape, dtype=np.int64)  # of each port: trunks in order, from 1
    set_of[wiring.between] = 1 + np.arange(cabling.source.size)
    nics = np.flatnonzero(cabling.nic_leaf >= 0)
    of_nic = np.full(cabling.nic_leaf.size, -1, dtype=np.int64)
    of_nic[nics] = np.arange(nics.size)
    home = cabling.nic_leaf[nics]
    groups = Groups.of(of_nic, home, np.unique(home, return_inverse=True)[1])
    lids = routes.lid[endpoint[nics]]
    put = Compressor(groups, len(wiring.switches))
    some = False
    for switch in range(len(wiring.switches)):
        port = routes.table[switch, lids].astype(np.int64)
        row = set_of[switch, np.where(port < wiring.width, port, 0)]
        some = some or bool(row.any())
        put.put(switch, np.where(home == switch, ANY, row))
    if not some and np.unique(home).size > 1:
        raise FabricError("no switch has a route to any host: the forwarding tables are empty")
    return net_of(cabling, groups, put.done(singles(cabling.first, cabling.source.size)))


def wired(wiring: Wiring) -> tuple[Cabling, Ints]:
    """The cabling of the compute endpoints of a wiring, and the endpoint of each NIC (-1 = none). An endpoint is named "host device"."""
    rows: dict[str, list[int]] = {}
    for index in np.flatnonzero(wiring.compute).tolist():
        rows.setdefault(wiring.endpoints[index].rpartition(" ")[0] or wiring.endpoints[index], []).append(index)
    if not any(wiring.home[index] >= 0 for mine in rows.values() for index in mine):
        raise FabricError("no compute host is cabled to a switch")
    rails = max(map(len, rows.values()))
    endpoint = np.full(len(rows) * rails, -1, dtype=np.int64)
    for place, mine in enumerate(rows.values()):
        endpoint[place * rails : place * rails + len(mine)] = mine
    there = endpoint >= 0
    leaf = np.where(there, wiring.home[endpoint], -1).astype(np.int64)
    at, port = np.nonzero(wiring.between)
    far = wiring.far[at, port].astype(np.int64)

    def nic_ends(nic: int) -> tuple[str, str]:
        index, switch = int(endpoint[nic]), int(leaf[nic])
        near = ":".join(wiring.endpoints[index].rsplit(" ", 1)) if index >= 0 else "no NIC"
        return near, f"{wiring.switches[switch]}:{wiring.home_port[index]}" if switch >= 0 else "nothing"

    def ends(trunk: int) -> tuple[str, str]:
        here = f"{wiring.switches[at[trunk]]}:{port[trunk]}"
        return here, f"{wiring.switches[far[trunk]]}:{wiring.far_port[at[trunk], port[trunk]]}"

    cabling = Cabling(
        wiring.switches, np.maximum(wiring.level.astype(np.int64), 0), LEVELS, tuple(rows), rails, leaf, nic_ends,
        at.astype(np.int64), far, np.ones(at.size), ends,
    )  # fmt: skip
    return cabling, endpoint
