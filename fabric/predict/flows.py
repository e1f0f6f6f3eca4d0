"""Which NIC sends to which in a collective: phases of flows between NICs, for hosts in rank order.

Every GPU has one NIC and every rail is used alike: inside a host data moves over NVLink, so a flow always joins NICs of one rail.
NIC n is host x rails + rail (`fabric.predict.net.Net`). All functions are pure; arrays are int64 and float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fabric.errors import FabricError
from fabric.predict.model import Case
from fabric.words import counted, verb

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_SHIFTS = 12
"""Phases of an all-to-all that are walked; of more, so many at even distances stand for all."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Flows at one time. `weight`: rate of each in units of the NIC's when the phase runs at full rate, so that no NIC has more than 1.

    `share`: part of all bytes of a NIC that move now. `count`: how many phases this one stands for.
    """

    src: Ints
    dst: Ints
    weight: Floats
    share: float
    count: float = 1.0


@dataclass(frozen=True, slots=True)
class Pattern:
    """All phases, one after the other. `steps`: phases that there are; more than stand in `phases` when these are a sample."""

    phases: tuple[Phase, ...]
    steps: int

    @property
    def sampled(self) -> bool:
        """Whether some phases stand for others."""
        return self.steps > len(self.phases)

    @property
    def ideal(self) -> float:
        """What is reached when nothing collides, 0 to 1: below 1 where the algorithm moves more than it must."""
        return min(1.0, 1.0 / sum(phase.share * phase.count for phase in self.phases))


def pattern(case: Case, order: Ints, rails: int) -> Pattern:
    """The flows of a case. `order`: hosts by their index, in rank order. FabricError for an algorithm that the collective has not."""
    if len(order) < 2:
        raise FabricError(
            "a job on one host sends nothing over the network", hint=f"give at least {2 * rails} GPUs, two hosts"
        )
    if case.algorithm == "tree":
        if case.collective != "all_reduce":
            raise FabricError(
                f"NCCL's double binary tree is for all_reduce, not for {case.collective}",
                hint="ring or recursive",
            )
        return _tree(order, rails)
    if case.collective in ("all_to_all", "send_recv") and case.algorithm != "ring":
        raise FabricError(f"{case.collective} has no algorithm {case.algorithm}", hint="leave it out")
    if case.collective == "all_to_all":
        return shifts(order, rails)
    if case.algorithm == "recursive":
        return recursive(order, rails, case.far, twice=case.collective == "all_reduce")
    return ring(order, rails)


def _flows(src: Ints, dst: Ints, rails: int, weight: float = 1.0, share: float = 1.0, count: float = 1.0) -> Phase:
    """A phase of which each pair of hosts is one flow a rail."""
    rail = np.arange(rails, dtype=np.int64)
    sources = (src[:, None] * rails + rail).ravel()
    return Phase(
        sources, (dst[:, None] * rails + rail).ravel(), np.full(len(sources), weight, dtype=np.float64), share, count
    )


def ring(order: Ints, rails: int) -> Pattern:
    """Each host sends to the next one in rank order, all the time. Also send_recv of neighbours in a pipeline."""
    return Pattern((_flows(order, np.roll(order, -1), rails),), 1)


def shifts(order: Ints, rails: int, most: int = MOST_SHIFTS) -> Pattern:
    """All-to-all: in phase s each host sends to the one s further on; to GPUs of another rail by NVLink first (NCCL's PXN)."""
    hosts = len(order)
    walked = min(most, hosts - 1)
    chosen = np.unique(np.linspace(1, hosts - 1, walked).round().astype(np.int64))
    count = (hosts - 1) / len(chosen)
    return Pattern(
        tuple(_flows(order, np.roll(order, -int(s)), rails, share=1 / (hosts - 1), count=count) for s in chosen),
        hosts - 1,
    )


def recursive(order: Ints, rails: int, far: str = "small", *, twice: bool = False) -> Pattern:
    """Recursive doubling: pairs at distances that are powers of two exchange what they have, which doubles from phase to phase.

    `far` "small": the small messages go far; "large": the large ones do. Hosts beyond a power of two give what they have to a partner
    first and are given all at the end. `twice`: all_reduce, by halving and doubling.
    """
    hosts = len(order)
    bits = hosts.bit_length() - 1
    power = 1 << bits
    place = np.arange(power, dtype=np.int64)
    phases: list[Phase] = []
    for k in range(bits):
        distance = 1 << (bits - 1 - k if far == "small" else k)
        share = (1 << k) / (power - 1)
        phases.append(_flows(order[:power], order[place ^ distance], rails, share=share / (2 if twice else 1)))
    if twice:
        phases += phases
    extra, partner = order[power:], order[: hosts - power]
    if len(extra):
        first = 0.5 if twice else 1 / (hosts - 1)
        phases = [_flows(extra, partner, rails, share=first), *phases]
        phases.append(_flows(partner, extra, rails, share=0.5 if twice else 1.0))
    return Pattern(tuple(phases), len(phases))


def btree_parents(ranks: int) -> Ints:
    """The parent of each rank in NCCL's binary tree, -1 for the root, which is rank 0 (trees.cc, ncclGetBtree)."""
    rank = np.arange(ranks, dtype=np.int64)
    bit = rank & -rank
    up = (rank ^ bit) | (bit << 1)
    up = np.where(up >= ranks, rank ^ bit, up)
    up[0] = -1
    return up


def dtree_parents(ranks: int) -> tuple[Ints, Ints]:
    """Parents in NCCL's two trees: the second is the first mirrored, or shifted by one rank when their number is odd (ncclGetDtree)."""
    first = btree_parents(ranks)
    if ranks % 2:
        shifted = np.roll(first, 1)
        return first, np.where(shifted < 0, -1, (shifted + 1) % ranks)
    mirrored = first[::-1]
    return first, np.where(mirrored < 0, -1, ranks - 1 - mirrored)


def _tree(order: Ints, rails: int) -> Pattern:
    """Half of the data by each tree, up and down at once: a host has at most four neighbours, so that each edge has a quarter of a NIC.

    What both trees send between the same two NICs shares its queue pairs.
    """
    ranks = len(order)
    ends: list[tuple[Ints, Ints]] = []
    for parents in dtree_parents(ranks):
        child = np.flatnonzero(parents >= 0)
        ends += [(child, parents[child]), (parents[child], child)]
    src, dst = (np.concatenate([pair[side] for pair in ends]) for side in (0, 1))
    pairs, times = np.unique(src * ranks + dst, return_counts=True)
    made = _flows(order[pairs // ranks], order[pairs % ranks], rails)
    return Pattern((replace(made, weight=np.repeat(0.25 * times, rails)),), 1)


def sent_bytes(case: Case, size: int, hosts: int, rails: int) -> float:
    """Bytes that a NIC sends for a message of `size` bytes, as nccl-tests counts sizes: its bus bandwidth is this over the time."""
    if case.collective == "send_recv":
        return float(size)
    part = (hosts - 1) / hosts
    if case.collective == "all_to_all":
        return size * part
    return size * part / rails * (2 if case.collective == "all_reduce" else 1)


def order_of(case: Case, names: Sequence[str], zones: Sequence[int] | Ints, rails: int, seed: int) -> Ints:
    """Hosts of the job by their index in `names`, in rank order. `seed` shuffles where the placement is `zone` or `random`.

    FabricError for unknown hosts, a host twice, more GPUs than there are, GPUs that are no whole hosts.
    """
    if case.hosts:
        from fabric.predict.job import indices

        return indices(case.hosts, names)
    every = np.arange(len(names), dtype=np.int64)
    if case.left_out:
        gone = frozenset(case.left_out)
        every = every[[name not in gone for name in names]]
    total = len(every)
    wanted = total if case.gpus is None else _hosts_for(case.gpus, total, rails)
    if case.placement in ("rack", "given"):
        return every[:wanted]
    shuffled = np.random.default_rng((seed, 0x0FAB)).permutation
    if case.placement == "random":  # drawn of all, so that who is left out changes no other draw
        drawn = shuffled(len(names))
        return drawn[np.isin(drawn, every)][:wanted] if case.left_out else drawn[:wanted]
    chosen = every[:wanted]
    zone = np.asarray(zones, dtype=np.int64)[chosen]
    return np.concatenate([shuffled(chosen[zone == one]) for one in np.unique(zone)])


def _hosts_for(gpus: int, total: int, rails: int) -> int:
    if gpus < 1:
        raise FabricError(f"{gpus} GPUs: a job has at least {2 * rails}", hint=f"{rails} GPUs a host")
    if gpus > total * rails:
        raise FabricError(
            f"{gpus:,} GPUs are wanted, there are {total * rails:,}: {total:,} hosts with {rails} each",
            hint=f"at most --gpus {total * rails}",
        )
    if gpus % rails:
        least, low = 2 * rails, gpus // rails * rails
        raise FabricError(
            f"{counted(gpus, 'GPU')} {verb(gpus, 'is no whole host', 'are no whole hosts')} of {rails}",
            hint=f"--gpus {least}" if low < least else f"--gpus {low} or {low + rails}",
        )
    return gpus // rails
