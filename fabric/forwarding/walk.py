"""The walk of all pairs: does every endpoint reach every other, over how many links, and what does each link carry.

Endpoints of one leaf share their paths, so one flow a (leaf, destination) stands for all pairs between them. Destinations go in
blocks, which bounds the memory and keeps the piece of the tables that is in use in the processor's cache.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from fabric.forwarding.follow import HOLE, LOOP, MOST_SWITCHES, WRONG_END, Choose, Trail, follow
from fabric.forwarding.tables import Routes
from fabric.forwarding.wiring import LEVELS, Bools, Ints, Wiring

Kind = Literal["hole", "loop", "wrong end"]
KINDS: Final[dict[int, Kind]] = {HOLE: "hole", LOOP: "loop", WRONG_END: "wrong end"}
FLOWS_A_BLOCK: Final = 1 << 17  # measured: half or twice as many cost more processor time
EXAMPLES: Final = 5
END_LINKS: Final = 2  # from the source HCA to its leaf and from the last leaf to the destination HCA


@dataclass(frozen=True, slots=True)
class Failure:
    """A destination that a leaf does not reach: `kind`, both names, the way as (switch, port), which ends where it goes wrong."""

    kind: Kind
    leaf: str
    destination: str
    way: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Walk:
    """What the walk of all pairs found.

    `pairs`: ordered pairs of compute endpoints; `links`: links per path -> pairs, of those delivered; `failed`: kind -> pairs.
    `others`: (leaf, destination) with a destination, or a leaf, that is only of services; `others_failed` of them: kind -> how many.
    `failures`: at most five examples of each kind. `load[s, p]`: compute pairs over each channel from switch to switch.
    `follows[c, p]`: a path goes on from channel c (of `wiring`) through port p of the switch that c leads to.
    """

    wiring: Wiring
    pairs: int
    links: Mapping[int, int]
    failed: Mapping[Kind, int]
    others: int
    others_failed: Mapping[Kind, int]
    failures: tuple[Failure, ...]
    load: npt.NDArray[np.int64]
    follows: Bools

    @property
    def delivered(self) -> int:
        """Compute pairs that arrive where they should."""
        return sum(self.links.values())

    @property
    def whole(self) -> bool:
        """Whether everything is reached from everywhere."""
        return not self.failures


@dataclass(frozen=True, slots=True)
class TierLoad:
    """All-pairs load of the links from one tier to another: how many there are, the pairs on the busiest, the mean over all, which it is."""

    source: str
    target: str
    links: int
    worst: int
    mean: float
    busiest: str

    @property
    def ratio(self) -> float:
        """Worst over mean; 1.0 is perfect balance."""
        return self.worst / self.mean if self.mean else 1.0


class _Sums:
    """What grows over the blocks."""

    def __init__(self, wiring: Wiring) -> None:
        channels = len(wiring.switches) * wiring.width
        self.links: Counter[int] = Counter()
        self.failed: Counter[Kind] = Counter()
        self.others = 0
        self.others_failed: Counter[Kind] = Counter()
        self.failures: list[Failure] = []
        self.load = np.zeros(channels, dtype=np.int64)
        self.follows = np.zeros((channels, wiring.width), dtype=np.bool_)


def walk(routes: Routes) -> Walk:
    """Walks all pairs. 24,576 endpoints on 2,048 switches take seconds and a few hundred MiB."""
    wiring = routes.wiring
    sums = _Sums(wiring)
    _warm_heap()
    leaves = wiring.leaves
    size = max(1, FLOWS_A_BLOCK // max(1, leaves.size))
    hosts = np.bincount(wiring.home[wiring.compute & (wiring.home >= 0)], minlength=len(wiring.switches)).astype(
        np.int64
    )
    by_lid = np.argsort(routes.lid, kind="stable").astype(np.int32)  # neighbours in the tables come in one block
    for first in range(0, by_lid.size if leaves.size else 0, size):
        _block(routes, by_lid[first : first + size], leaves, hosts, sums)
    compute = int(np.count_nonzero(wiring.compute))
    _unattached(wiring, sums, compute)
    return Walk(
        wiring, compute * (compute - 1), dict(sorted(sums.links.items())), dict(sums.failed), sums.others, dict(sums.others_failed),
        tuple(sums.failures), sums.load.reshape(len(wiring.switches), wiring.width), sums.follows,
    )  # fmt: skip


def lft_ports(routes: Routes, destinations: Ints, column: Ints) -> Choose:
    """The choice of ports by LFT: flow f goes to `destinations[column[f]]`."""
    width = routes.wiring.width
    block = routes.table[:, routes.lid[destinations]]  # a copy, small enough for the cache
    block[block >= width] = 0
    flat, wide = block.ravel(), block.shape[1]

    def choose(at: Ints, flow: Ints) -> Ints:
        port: Ints = flat.take(at * wide + column[flow]).astype(np.int32)
        return port

    return choose


def trace(routes: Routes, switch: int, destination: int) -> Iterator[tuple[int, int]]:
    """The way of one flow as (switch index, port), up to where it is delivered or lost, or has gone once around a loop."""
    wiring = routes.wiring
    seen: set[int] = set()
    while switch not in seen and len(seen) <= MOST_SWITCHES:
        seen.add(switch)
        port = int(routes.table[switch, routes.lid[destination]])
        yield switch, port
        to = int(wiring.far[switch, port]) if port < wiring.width else -1
        if to < 0:
            return
        switch = to


def balance(walked: Walk) -> tuple[TierLoad, ...]:
    """Worst and mean load of each tier and direction, over all links between switches, idle ones included."""
    wiring = walked.wiring
    at, port = np.nonzero(wiring.between)
    source, target = wiring.level[at], wiring.level[wiring.far[at, port]]
    load = walked.load[at, port]
    found = []
    for pair in np.unique(np.stack((source, target), axis=1), axis=0):
        mine = np.flatnonzero((source == pair[0]) & (target == pair[1]))
        top = mine[np.argmax(load[mine])]
        channel = int(at[top]) * wiring.width + int(port[top])
        found.append(
            TierLoad(
                level_name(int(pair[0])), level_name(int(pair[1])), mine.size, int(load[top]), float(load[mine].mean()),
                wiring.channel_name(channel),
            )
        )  # fmt: skip
    return tuple(found)


def level_name(level: int) -> str:
    """The tier's name of a level; "unknown" for a switch without a way to a leaf."""
    return LEVELS[level] if 0 <= level < len(LEVELS) else ("unknown" if level < 0 else f"level {level}")


def _warm_heap() -> None:
    """Frees one large array: glibc then keeps blocks of that size in its heap, and does not fetch each from the kernel anew.

    Measured at 24,576 endpoints: 3.8 s of system time less, of 8.8 s in all. Where malloc is another one it does nothing.
    """
    np.empty(1 << 24, dtype=np.uint8)


def _block(routes: Routes, destinations: Ints, leaves: Ints, hosts: npt.NDArray[np.int64], sums: _Sums) -> None:
    """Walks from all leaves to a block of destinations."""
    wiring = routes.wiring
    start = np.repeat(leaves, destinations.size)
    column = np.tile(np.arange(destinations.size, dtype=np.int32), leaves.size)
    target = destinations[column]
    trail = follow(wiring, lft_ports(routes, destinations, column), start, target)
    compute = wiring.compute[target] & (hosts[start] > 0)
    weight = np.where(compute, hosts[start] - (start == wiring.home[target]), 0)
    sums.load += trail.load(sums.load.size, weight)
    _depend(trail, wiring.width, sums.follows)
    _count(trail.outcome, weight, compute, sums)
    bad = np.flatnonzero((trail.outcome < 0) & ((weight > 0) | ~compute))  # not an only endpoint's way to itself
    if bad.size:
        _examples(routes, trail.outcome[bad], start[bad], target[bad], sums.failures)


def _depend(trail: Trail, width: int, follows: Bools) -> None:
    """Marks which channel follows which on the paths that arrive."""
    flat = follows.reshape(-1)
    good = trail.outcome >= 0
    every = bool(good.all())
    for step in trail.steps[1:]:
        at = step.before.astype(np.int64) * width + step.channel % width
        flat[at if every else at[good[step.flow]]] = True


def _count(outcome: npt.NDArray[np.int16], weight: npt.NDArray[np.int64], compute: Bools, sums: _Sums) -> None:
    """Adds pairs by outcome; what has no compute endpoint at one end counts once a (leaf, destination)."""
    pairs = np.bincount(outcome - WRONG_END, weights=weight)
    others = np.bincount(outcome[~compute] - WRONG_END, minlength=pairs.size)
    sums.others += int(others.sum())
    for code in range(pairs.size):
        result, count = code + WRONG_END, int(pairs[code])
        if result >= 0:
            if count:
                sums.links[result + END_LINKS] += count
            continue
        if count:
            sums.failed[KINDS[result]] += count
        if others[code]:
            sums.others_failed[KINDS[result]] += int(others[code])


def _examples(
    routes: Routes, outcome: npt.NDArray[np.int16], start: Ints, target: Ints, failures: list[Failure]
) -> None:
    """Keeps the first few of each kind, by name."""
    wiring = routes.wiring
    for code, kind in KINDS.items():
        have = sum(failure.kind == kind for failure in failures)
        for index in np.flatnonzero(outcome == code)[: EXAMPLES - have]:
            leaf, destination = int(start[index]), int(target[index])
            way = tuple((wiring.switches[at], port) for at, port in trace(routes, leaf, destination))
            failures.append(Failure(kind, wiring.switches[leaf], wiring.endpoints[destination], way))


def _unattached(wiring: Wiring, sums: _Sums, compute: int) -> None:
    """Compute endpoints without a cable reach nothing: their pairs as sources are holes, which no leaf's flows stand for."""
    loose = int(np.count_nonzero(wiring.compute & (wiring.home < 0)))
    if loose and compute > 1:
        # As destinations they were walked to from every cabled endpoint; as sources they were not.
        sums.failed["hole"] += loose * (compute - 1)
        name = wiring.endpoints[int(np.flatnonzero(wiring.compute & (wiring.home < 0))[0])]
        sums.failures.append(Failure("hole", name, "everything", ()))
