"""Shift permutations: each compute endpoint sends to the one k places on, all at once, as rings and all-to-all steps do.

The places count by (leaf, port). On a balanced fat tree no link between switches carries more than one flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fabric.errors import FabricError
from fabric.forwarding.follow import Choose, follow
from fabric.forwarding.tables import Routes
from fabric.forwarding.wiring import Ints


@dataclass(frozen=True, slots=True)
class Contention:
    """One shift by k places: flows on the busiest link between switches, that link by name ("" = none is used), flows that got lost."""

    shift: int
    flows: int
    busiest: str
    lost: int


def shifts(endpoints: int) -> tuple[int, ...]:
    """The 19 shifts of the reference measurements: 1, 8, N/2 and N x j/17 for j = 1 to 16; those that N is too small for left out."""
    wanted = [1, 8, endpoints // 2, *(endpoints * j // 17 for j in range(1, 17))]
    return tuple(dict.fromkeys(k for k in wanted if 0 < k < endpoints))


def contention(routes: Routes, ks: Sequence[int] | None = None) -> tuple[Contention, ...]:
    """The contention of each shift (`shifts` when not given), in order. FabricError for a shift that is not 1 to N - 1."""
    wiring, order = routes.wiring, routes.wiring.order
    ks = shifts(order.size) if ks is None else ks
    found = []
    for k in ks:
        if not 0 < k < order.size:
            raise FabricError(f"a shift by {k} of {order.size} endpoints: it must be 1 to {order.size - 1}")
        target = np.roll(order, -k)
        trail = follow(wiring, _ports_to(routes, target), wiring.home[order], target)
        load = trail.load(wiring.far.size, np.ones(order.size, dtype=np.int64))
        top = int(np.argmax(load))
        name = wiring.channel_name(top) if load[top] else ""
        found.append(Contention(k, int(load[top]), name, int(np.count_nonzero(trail.outcome < 0))))
    return tuple(found)


def _ports_to(routes: Routes, target: Ints) -> Choose:
    """The choice of ports by LFT, straight from the tables: N flows use few of their entries."""
    lid, flat, wide, width = routes.lid[target], routes.table.ravel(), routes.table.shape[1], routes.wiring.width

    def choose(at: Ints, flow: Ints) -> Ints:
        port = flat.take(at.astype(np.int64) * wide + lid[flow])
        return np.where(port < width, port, 0).astype(np.int32)

    return choose
