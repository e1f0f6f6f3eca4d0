"""The network of an InfiniBand design. Its tables are the subnet manager's work, so the design's own are shortest paths."""

from __future__ import annotations

import numpy as np

from fabric.design.ib.model import Subnet
from fabric.forwarding.wiring import from_subnet
from fabric.predict.from_lfts import wired
from fabric.predict.from_wiring import net_of
from fabric.predict.net import Groups, Net
from fabric.predict.shortest import shortest_tables


def subnet_net(subnet: Subnet) -> Net:
    """Every switch over all of its shortest paths. Read forwarding tables (`lft_net`) tell the truth where there are some."""
    wiring = from_subnet(subnet)
    cabling, _ = wired(wiring)
    there = cabling.nic_leaf >= 0
    home, index = np.unique(cabling.nic_leaf[there], return_inverse=True)
    of_nic = np.full(there.size, -1, dtype=np.int64)
    of_nic[there] = index
    unit = np.array([subnet.switch[wiring.switches[leaf]].unit for leaf in home.tolist()])
    groups = Groups.of(of_nic, home.astype(np.int64), np.unique(unit, return_inverse=True)[1])
    tables = shortest_tables(len(wiring.switches), cabling.first, cabling.source, cabling.target, groups)
    return net_of(cabling, groups, tables)
