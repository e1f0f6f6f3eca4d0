"""Paths that a controller fixes, flow by flow: by edge colouring, or by the index of the destination at its leaf (Meta's first way).

Only which member of each equal-cost set a flow takes is said; the walk of the forwarding tables does the rest, failures included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from fabric.predict.colouring import edge_colours
from fabric.predict.net import Ints, Net

HOPS: Final = 4  # switches of a path that choose: leaf, CTSW, ATSW, CTSW (the last leaf has one port to the NIC)


@dataclass(frozen=True)
class PathPlan:
    """`choice[h, f]`: the member of the equal-cost set that flow f takes at its h-th switch (the leaf is 0); -1 = left to the hash."""

    choice: npt.NDArray[np.int32]


def plan_by_destination(net: Net, src: Ints, dst: Ints) -> PathPlan:
    """The CTSW is that of the destination's index at its leaf ("slice"): good only while racks are whole and nothing has failed.

    Leaves and ATSWs choose so; uplinks of CTSWs stay with the hash, as Meta's zones were joined by ECMP. The senders play no part; they
    are asked for as `plan_paths` asks for them.
    """
    del src
    order = np.lexsort((np.arange(net.nics), net.leaf_of))
    leaf = net.leaf_of[order]
    place = np.empty(net.nics, dtype=np.int64)
    place[order] = np.arange(net.nics) - np.searchsorted(leaf, leaf)
    choice = np.full((HOPS, dst.size), -1, dtype=np.int32)
    choice[0] = choice[2] = place[dst]
    return PathPlan(choice)


def plan_paths(net: Net, src: Ints, dst: Ints) -> PathPlan:
    """The plan of a controller that knows all flows: no link carries more than it must.

    Uplinks of leaves are the colours of edges (leaf, leaf); the way up ends at a CTSW and the way down begins at that of the same colour
    in the receiver's zone. Uplinks of CTSWs are then the colours of edges (CTSW, CTSW) over the flows that leave their zone.
    A set that lacks members, as a link has failed, takes the choice modulo its size.
    """
    choice = np.full((HOPS, src.size), -1, dtype=np.int32)
    start, end = net.leaf_of[src], net.leaf_of[dst]
    far = np.flatnonzero((start != end) & (start >= 0) & (end >= 0))
    far = far[net.sets(start[far], dst[far]) >= 0]
    if not far.size:
        return PathPlan(choice)
    twins = _Twins(net)
    here, there = dst[far], src[far]
    up, back = net.sets(start[far], here), net.sets(end[far], there)
    back = np.where(back < 0, up, back)  # tables that were read back need not lead both ways
    zones = net.groups.block[net.groups.of_nic[here]] != net.groups.block[net.groups.of_nic[there]]
    colour = _colours(start[far], end[far], int(net.set_size[up].max()), zones.astype(np.int64))
    choice[0, far] = colour
    spine, last = twins.target(up, colour), twins.target(back, colour)
    second = net.sets(spine, here)
    crossing = np.flatnonzero((second >= 0) & (twins.target(second, np.zeros_like(second)) != end[far]))
    straight = np.setdiff1d(np.arange(far.size), crossing)
    lane = twins.rank(back, colour)
    choice[1, far[straight]] = twins.among(second[straight], end[far[straight]], lane[straight])
    if crossing.size:
        _cross(net, twins, choice, far[crossing], (spine[crossing], last[crossing]), dst, lane[crossing])
    return PathPlan(choice)


def _cross(
    net: Net, twins: _Twins, choice: npt.NDArray[np.int32], flows: Ints, ends: tuple[Ints, Ints], dst: Ints, lane: Ints
) -> None:
    """The choices between the CTSWs of two zones, and down from the far one."""
    spine, last = ends
    up = net.sets(spine, dst[flows])
    colour = _colours(spine, last, int(net.set_size[up].max()))
    choice[1, flows] = colour
    core = twins.target(up, colour)
    down = net.sets(core, dst[flows])
    choice[2, flows] = twins.among(down, last, twins.rank(up, colour))
    choice[3, flows] = twins.among(net.sets(last, dst[flows]), net.leaf_of[dst[flows]], lane)


def _colours(left: Ints, right: Ints, colours: int, kind: Ints | None = None) -> Ints:
    _, lefts = np.unique(left, return_inverse=True)
    _, rights = np.unique(right, return_inverse=True)
    return edge_colours(lefts.astype(np.int64), rights.astype(np.int64), colours, left_kind=kind, right_kind=kind)


class _Twins:
    """Members of sets by where they lead: parallel links to one switch are twins."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self.base = len(net.switches) + 1
        sets = np.repeat(np.arange(net.set_start.size), net.set_size)
        self.first = (
            np.cumsum(net.set_size) - net.set_size
        )  # where the members of each set stand in the arrays of this class
        place = np.arange(sets.size) - self.first[sets]
        self.leads = net.target[net.set_members[net.set_start[sets] + place]]
        key = sets * self.base + np.maximum(self.leads, -1) + 1
        order = np.argsort(key, kind="stable")
        self.key, self.place = key[order], place[order]
        self.twin = np.empty_like(place)
        self.twin[order] = np.arange(order.size) - np.searchsorted(self.key, self.key)

    def _at(self, sets: Ints, choice: Ints) -> Ints:
        return self.first[sets] + choice % np.maximum(self.net.set_size[sets], 1)

    def target(self, sets: Ints, choice: Ints) -> Ints:
        """The switch to which a choice in a set leads."""
        found: Ints = self.leads[self._at(sets, choice)]
        return found

    def rank(self, sets: Ints, choice: Ints) -> Ints:
        """How many twins stand before the chosen member."""
        found: Ints = self.twin[self._at(sets, choice)]
        return found

    def among(self, sets: Ints, target: Ints, rank: Ints) -> Ints:
        """The choice in each set that leads to a switch, by its rank among the twins; -1 where none does."""
        wanted = np.where(sets < 0, -1, sets * self.base + target + 1)
        low, high = np.searchsorted(self.key, wanted), np.searchsorted(self.key, wanted, side="right")
        count = high - low
        found = self.place[np.minimum(low + rank % np.maximum(count, 1), self.place.size - 1)]
        return np.where(count > 0, found, -1)
