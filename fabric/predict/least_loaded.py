"""Static tables as OpenSM's `minhop` and `updn` fill them: for each switch, destination by destination, the least loaded shortest way.

A switch counts by itself and knows nothing of the others. So its own ports are perfectly even, and yet switches fall into step: where the
leaf has chosen by the destination's place and the spine does so again, all of a host's rails meet in one cable to the core
(reference: performance-model.md, section 3; infiniband.md, 4.2: "aliasing"). Held to the tables of a real opensm, entry by entry.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabric.forwarding.wiring import Wiring
from fabric.predict.from_wiring import Cabling
from fabric.predict.net import NO_PATH, Groups, Ints, Tables
from fabric.predict.sets import ANY, Compressor, singles
from fabric.predict.shortest import FAR, distances, weights


def least_loaded_tables(wiring: Wiring, cabling: Cabling, endpoint: Ints, groups: Groups) -> Tables:
    """The tables of all switches, each NIC a group by itself: `endpoint[g]` is the endpoint of group g in the wiring.

    Endpoints that are not compute count too, as they take their turns. Where links fail, `updn` may go other ways than the shortest.
    """
    turns = in_turn(wiring)
    homes, leaf = np.unique(wiring.home[turns].astype(np.int64), return_inverse=True)
    distance = distances(len(wiring.switches), cabling.source, cabling.target, homes)
    turn_of = np.full(len(wiring.endpoints), -1, dtype=np.int64)
    turn_of[turns] = np.arange(turns.size)
    mine = turn_of[endpoint]
    begin = np.searchsorted(cabling.source, np.arange(len(wiring.switches) + 1))  # trunks stand by switch, then port
    put = Compressor(groups, len(wiring.switches))
    for switch in range(len(wiring.switches)):
        out = np.arange(begin[switch], begin[switch + 1])
        here = distance[switch]
        ways = (distance[cabling.target[out]] == here - 1) & (here != FAR)
        port = chosen(ways, leaf, homes[leaf] == switch)
        row = np.where(port < 0, NO_PATH, begin[switch] + port + 1)[mine]
        put.put(switch, np.where(groups.home == switch, ANY, row))
    return put.done(singles(cabling.first, cabling.source.size))


def in_turn(wiring: Wiring) -> Ints:
    """Cabled endpoints in the order in which they get their ways: leaves with most endpoints first, then by GUID; on each by port."""
    cabled = np.flatnonzero(wiring.home >= 0)
    home = wiring.home[cabled]
    on_leaf = np.bincount(home, minlength=len(wiring.switches))[home]
    guid = np.array(wiring.guids, dtype=np.uint64)[home]
    return cabled[np.lexsort((wiring.home_port[cabled], guid, -on_leaf))]


def chosen(ways: npt.NDArray[np.bool_], leaf: Ints, own: npt.NDArray[np.bool_]) -> Ints:
    """The port (row of `ways`) that each destination in turn gets on one switch; -1 for its own and those without a way.

    `ways[p, l]`: does port p lie on a shortest way to leaf l. The least loaded one is taken, of several the first.
    """
    keys = weights(ways.shape[0]) @ ways.astype(np.uint64)
    _, column, which = np.unique(keys, return_index=True, return_inverse=True)
    some = ways.T[column]  # some[k, p]: the kinds of choice
    possible = np.count_nonzero(some, axis=1) > 0
    kind = np.where(own | ~possible[which[leaf]], -1, which[leaf])
    if (some.sum(axis=0) <= 1).all():
        return _round_robin(some, kind)
    return _one_by_one(some, kind)


def _round_robin(some: npt.NDArray[np.bool_], kind: Ints) -> Ints:
    """Choices that share no port: each goes round its own ports."""
    found = np.full(kind.size, -1, dtype=np.int64)
    for number, ports in enumerate(some):
        members = np.flatnonzero(ports)
        mine = np.flatnonzero(kind == number)
        if members.size:
            found[mine] = members[np.arange(mine.size) % members.size]
    return found


def _one_by_one(some: npt.NDArray[np.bool_], kind: Ints) -> Ints:
    """Choices that share ports: counted port by port."""
    found = np.full(kind.size, -1, dtype=np.int64)
    load = np.zeros(some.shape[1], dtype=np.int64)
    members = [np.flatnonzero(ports) for ports in some]
    for turn, number in enumerate(kind.tolist()):
        if number >= 0:
            ports = members[number]
            found[turn] = port = ports[np.argmin(load[ports])]
            load[port] += 1
    return found
