"""The ways that a network offers, in names: what two networks from different sources must have in common."""

from __future__ import annotations

import numpy as np

from fabric.predict.net import NO_PATH, Net

Ways = dict[tuple[str, str], frozenset[str]]


def ways(net: Net) -> Ways:
    """(switch, NIC) -> equal-cost channels, for all switches that flows between NICs can come to."""
    found: Ways = {}
    for group, home in enumerate(net.groups.home.tolist()):
        nics = np.flatnonzero((net.groups.of_nic == group) & (net.leaf_of >= 0)).tolist()
        todo = [leaf for leaf in np.unique(net.leaf_of[net.leaf_of >= 0]).tolist() if nics]
        seen = {home}
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            number = int(net.look_up(np.array([at]), np.array([group]))[0])
            first = int(net.tables.start[number])
            members = net.tables.members[first : first + int(net.tables.size[number])]
            names = frozenset(map(net.name, members.tolist())) if number != NO_PATH else frozenset()
            found.update({(net.switches[at], net.nic_name(nic)): names for nic in nics})
            todo += net.target[members].tolist()
    return found
