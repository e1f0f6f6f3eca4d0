"""Fat trees as wiring, tables for them by destination-mod-k (what ftree gives) and the aliased kind (what updn gives), a slow walk."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fabric.forwarding.tables import Lfts, Routes, routes
from fabric.forwarding.wiring import EndpointRow, Port, SwitchRow, Wiring, wire

SWITCH, HCA = 0x900000000000, 0xA00000000000


@dataclass(frozen=True)
class Shape:
    """Pods of leaves; a leaf has `hosts` endpoints and `uplinks` links to each of its pod's `planes` spines; a spine `stripe` to each core."""

    pods: int
    leaves: int
    hosts: int
    planes: int
    uplinks: int = 1
    cores: int = 0
    stripe: int = 1


SMALL = Shape(1, 8, 8, 4, uplinks=2)  # the reference's example: 64 HCAs, 12 switches
THREE = Shape(8, 8, 8, 8, cores=4, stripe=2)  # 512 HCAs, radix 16
LARGE = Shape(4, 32, 32, 32, cores=2, stripe=16)  # 4,096 HCAs, 320 switches
WHOLE = Shape(24, 32, 32, 32, cores=16, stripe=2)  # 24,576 HCAs, 2,048 switches


def fat_tree(shape: Shape) -> Wiring:
    """Its wiring; levels are worked out from the links."""
    switches: list[SwitchRow] = []
    endpoints: list[EndpointRow] = []
    links: list[tuple[Port, Port]] = []

    def add(name: str, ports: int) -> int:
        switches.append(SwitchRow(SWITCH + len(switches), name, ports))
        return switches[-1].guid

    core = [
        [add(f"core{plane:02d}-{number}", shape.pods * shape.stripe) for number in range(shape.cores)]
        for plane in range(shape.planes)
    ]
    for pod in range(shape.pods):
        spines = [
            add(f"spine{pod:02d}-{plane:02d}", shape.leaves * shape.uplinks + shape.cores * shape.stripe)
            for plane in range(shape.planes)
        ]
        for leaf in range(shape.leaves):
            guid = add(f"leaf{pod:02d}-{leaf:02d}", shape.hosts + shape.planes * shape.uplinks)
            for host in range(shape.hosts):
                node = HCA + 16 * len(endpoints)
                endpoints.append(EndpointRow(node, 1, node + 1, f"gt{len(endpoints):05d} mlx5_0"))
                links.append(((guid, host + 1), (node, 1)))
            for up in range(shape.planes * shape.uplinks):
                plane, copy = divmod(up, shape.uplinks)
                links.append(((guid, shape.hosts + 1 + up), (spines[plane], 1 + leaf * shape.uplinks + copy)))
        for plane, spine in enumerate(spines):
            for up in range(shape.cores * shape.stripe):
                number, copy = divmod(up, shape.stripe)
                port = shape.leaves * shape.uplinks + 1 + up
                links.append(((spine, port), (core[plane][number], 1 + pod * shape.stripe + copy)))
    return wire(switches, endpoints, links)


@dataclass
class _Plan:
    """What the table makers look up: up ports of each switch in order, and the place of each leaf below a spine."""

    wiring: Wiring
    ups: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        wiring = self.wiring
        level = wiring.level
        above = wiring.between & (level[np.maximum(wiring.far, 0)] > level[:, None])
        self.ups = np.full((len(level), max(1, int(above.sum(axis=1).max()))), 255, dtype=np.int64)
        for switch in range(len(level)):
            ports = np.flatnonzero(above[switch])
            if ports.size:
                self.ups[switch] = np.resize(ports, self.ups.shape[1])


def tree_routes(wiring: Wiring, *, aliased: bool = False) -> Routes:
    """Destination-mod-k on a two- or three-tier tree: the i-th endpoint of a leaf goes over its i-th uplink, down as the mirror image.

    The spine takes the uplink of the leaf's place in its pod; `aliased`, it counts by the endpoint as the leaf did, so that of the
    uplinks of a spine only one is ever used (the reference's account of updn and minhop).
    """
    plan = _Plan(wiring)
    level, far = wiring.level, wiring.far
    lids = np.arange(1, len(wiring.endpoints) + 1)
    table = np.full((len(level), lids.size + 1), 255, dtype=np.uint8)
    for leaf in wiring.leaves:
        mine = np.flatnonzero(wiring.home == leaf)
        mine = mine[np.argsort(wiring.home_port[mine])]
        rank = np.arange(mine.size)
        spines = np.unique(far[leaf][far[leaf] >= 0])
        below = np.unique(far[spines[0]][far[spines[0]] >= 0]) if spines.size else np.array([leaf])
        place = int(np.searchsorted(below[level[below] == 0], leaf)) * np.ones_like(rank)
        counted = rank if aliased else place
        ups = plan.ups
        table[np.ix_(level == 0, lids[mine])] = ups[level == 0][:, rank % ups.shape[1]]
        table[np.ix_(level == 1, lids[mine])] = ups[level == 1][:, counted % ups.shape[1]]
        for tier, goals in ((1, leaf), (2, spines)):
            member = np.zeros(level.size + 1, dtype=np.bool_)  # the last place is what NOTHING and endpoints find
            member[goals] = True
            rows = np.flatnonzero(level == tier)
            hits = member[np.maximum(far[rows], -1)]
            found = hits.any(axis=1)
            table[np.ix_(rows[found], lids[mine])] = hits.argmax(axis=1)[found][:, None]
        _mirror(wiring, plan.ups, table, leaf, mine, lids, counted)
        table[leaf, lids[mine]] = wiring.home_port[mine]
    return routes(wiring, Lfts(wiring.guids, table), dict(zip(wiring.port_guids, lids.tolist(), strict=True)))


def _mirror(wiring: Wiring, ups: npt.NDArray[np.int64], table: npt.NDArray[np.uint8], leaf: int, mine: npt.NDArray[np.int64],
            lids: npt.NDArray[np.int64], counted: npt.NDArray[np.int64]) -> None:  # fmt: skip
    """The way down is the destination's own way up, so that parallel links share as they do upwards."""
    for rank, endpoint in enumerate(mine):
        at, count = leaf, rank
        while (port := int(ups[at][count % ups.shape[1]])) != 255:
            above = int(wiring.far[at, port])
            table[above, lids[endpoint]] = wiring.far_port[at, port]
            at, count = above, int(counted[rank])


@dataclass
class Slow:
    """What the plain walk counted."""

    links: Counter[int] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    others: int = 0
    others_failed: Counter[str] = field(default_factory=Counter)
    load: Counter[tuple[int, int]] = field(default_factory=Counter)
    follows: set[tuple[int, int]] = field(default_factory=set)


def one_way(given: Routes, leaf: int, endpoint: int) -> tuple[str, list[tuple[int, int]]]:
    """How one path ends ("good" or a kind of failure), and the channels between switches that it took."""
    wiring, at = given.wiring, leaf
    taken: list[tuple[int, int]] = []
    while True:
        port = int(given.table[at, given.lid[endpoint]])
        to = int(wiring.far[at, port]) if port < wiring.width else -1
        if to < 0:
            return ("good" if to == -2 - endpoint else "hole" if to == -1 else "wrong end"), taken
        taken.append((at, port))
        at = to
        if len(taken) > len(wiring.switches):
            return "loop", taken


def slow_walk(given: Routes) -> Slow:
    """Every pair on its own, in plain Python."""
    wiring, found = given.wiring, Slow()
    numbers = range(len(wiring.endpoints))
    compute = [e for e in numbers if wiring.compute[e]]
    flows = [(int(wiring.home[a]), b) for a in compute for b in compute if a != b]
    hosted = {int(wiring.home[a]) for a in compute}
    extra = [
        (leaf, b)
        for leaf in {int(home) for home in wiring.home}
        for b in numbers
        if not (wiring.compute[b] and leaf in hosted)
    ]
    for counts, (leaf, endpoint) in [(True, flow) for flow in flows] + [(False, flow) for flow in extra]:
        found.others += not counts
        end, taken = one_way(given, leaf, endpoint)
        if end != "good":
            (found.failed if counts else found.others_failed)[end] += 1
            continue
        if counts:
            found.links[len(taken) + 2] += 1
            found.load.update(taken)
        for (a, p), (_, q) in itertools.pairwise(taken):
            found.follows.add((a * wiring.width + p, q))
    return found
