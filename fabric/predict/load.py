"""What each channel carries when many flows go at once: the sum of the weights of the subflows that the walk leads over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fabric.errors import FabricError
from fabric.predict.hashing import HashPolicy, Words, flow_keys, subflow_keys
from fabric.predict.net import Floats, Ints, Net, norm
from fabric.predict.split import split_loads
from fabric.predict.walk import MOST_HOPS, SUBFLOWS_AT_ONCE, Part, Plan, walk


@dataclass(frozen=True)
class Flows:
    """Flows made ready for many walks. `fixed`: loads that no choice changes: those of NICs. `parts`: the flows that leave their leaf."""

    net: Net
    src: Ints
    dst: Ints
    weight: Floats
    even: float | None
    fixed: Floats
    parts: tuple[Part, ...]


def flows(net: Net, src: Ints, dst: Ints, weight: Floats | float) -> Flows:
    """Flows from NIC `src[f]` to NIC `dst[f]` of `weight[f]` (1 = the rate of a NIC). FabricError for NICs that are not there."""
    src, dst = np.asarray(src, dtype=np.int64), np.asarray(dst, dtype=np.int64)
    weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), src.shape).astype(np.float64)
    _known(net, src, dst)
    fixed = np.bincount(net.up_of[src], weights, net.channels).astype(np.float64)
    fixed += np.bincount(net.down_of[dst], weights, net.channels)
    even = float(weights[0]) if weights.size and bool((weights == weights[0]).all()) else None
    return Flows(net, src, dst, weights, even, fixed, _parts(net, src, dst))


def link_loads(
    net: Net, src: Ints, dst: Ints, weight: Floats | float, policy: HashPolicy, seed: int, plan: Plan | None = None
) -> Floats:
    """Load of each channel, in units of the NIC's rate: each flow's weight in equal parts over its subflows, each on the path of its hash.

    `plan`: fixed choices, for `pinned`. FabricError where there is no path, or a routing loop.
    """
    return loads(flows(net, src, dst, weight), policy, seed, plan)


def spray_loads(net: Net, src: Ints, dst: Ints, weight: Floats | float) -> Floats:
    """Load of each channel when every switch spreads what it gets evenly over its equal-cost channels: the placement bound."""
    return spread(flows(net, src, dst, weight))


def spread(ready: Flows) -> Floats:
    """`spray_loads` of flows made ready."""
    net, total = ready.net, ready.fixed.copy()
    if ready.parts:
        start, group, flow = (
            np.concatenate([getattr(part, name) for part in ready.parts]) for name in ("leaf", "group", "flow")
        )
        total += split_loads(net, start, group, ready.weight[flow], MOST_HOPS)
    return total


def loads(ready: Flows, policy: HashPolicy, seed: int, plan: Plan | None = None) -> Floats:
    """`link_loads` of flows made ready: the part that differs from seed to seed."""
    if policy.splits:
        return spread(ready)
    if policy.kind == "pinned" and plan is None:
        raise FabricError("pinned paths need the path plan of a controller")
    found = _Sum(ready.net.channels, counts=ready.even is not None)
    for part, times, keys in _batches(ready, policy, seed):
        whole = part.tiled(times)
        pins = None if plan is None else np.tile(plan.choice[:, part.flow], (1, times))
        weights = None if ready.even is not None else ready.weight[whole.flow] / policy.paths
        for hop, (places, channel) in enumerate(walk(ready.net, whole, keys, policy, seed, pins)):
            found.add(hop, channel, weights if places is None or weights is None else weights[places])
    total: Floats = ready.fixed + found.total() * (1.0 if ready.even is None else ready.even / policy.paths)
    return total


def seed_norms(ready: Flows, policy: HashPolicy, seeds: Sequence[int], plan: Plan | None = None) -> Floats:
    """`norm` of the loads of each seed."""
    return np.array([norm(ready.net, loads(ready, policy, seed, plan)) for seed in seeds], dtype=np.float64)


def crossing(
    net: Net, src: Ints, dst: Ints, policy: HashPolicy, seed: int, channel: int, plan: Plan | None = None
) -> Ints:
    """The flows (places in `src`) of which a subflow is on the channel. Where switches split, those of 16 subflows by hash."""
    ready = flows(net, src, dst, 1.0)
    if policy.splits:
        policy = HashPolicy("e-ecmp", max(16, policy.subflows))
    found = [np.flatnonzero((net.up_of[ready.src] == channel) | (net.down_of[ready.dst] == channel))]
    found += [flow[taken == channel] for _, flow, taken in paths(ready, policy, seed, plan)]
    return np.unique(np.concatenate(found))


def paths(ready: Flows, policy: HashPolicy, seed: int, plan: Plan | None = None) -> Iterator[tuple[Ints, Ints, Ints]]:
    """(subflows, flows, channels) of every step between switches; the steps of one subflow come in the order of its way."""
    before: tuple[int, int] = (-1, 0)
    for part, times, keys in _batches(ready, policy, seed):
        number = before[1] if before[0] == id(part) else 0
        before = id(part), number + times
        whole = part.tiled(times)
        subflow = np.repeat(np.arange(number, number + times), part.flow.size)
        pins = None if plan is None else np.tile(plan.choice[:, part.flow], (1, times))
        for places, channel in walk(ready.net, whole, keys, policy, seed, pins):
            mine = slice(None) if places is None else places
            yield subflow[mine], whole.flow[mine], channel


class _Sum:
    """What goes over each channel: the sum of the weights, or the number, of the subflows.

    Those of one hop are of one tier mostly, whose channels stand side by side. In a large network their numbers wait until they are worth
    a look at all of the tier.
    """

    def __init__(self, channels: int, *, counts: bool) -> None:
        self._total: Floats | Ints = np.zeros(channels, dtype=np.int64) if counts else np.zeros(channels)
        self._enough = channels // 8
        self._waiting: dict[int, Ints] = {}
        self._size: dict[int, int] = {}

    def add(self, hop: int, channel: Ints, weights: Floats | None) -> None:
        """Adds the subflows of a step; without weights, counts them."""
        size = self._size.get(hop, 0)
        if weights is not None or channel.size + size > self._enough:
            self._put(channel, weights)
            return
        if hop not in self._waiting:
            self._waiting[hop] = np.empty(self._enough, dtype=np.int64)
        self._waiting[hop][size : size + channel.size] = channel
        self._size[hop] = size + channel.size
        if self._enough - self._size[hop] < channel.size:
            self._flush(hop)

    def total(self) -> Floats | Ints:
        """All of it, for each channel."""
        for hop in self._waiting:
            self._flush(hop)
        return self._total

    def _flush(self, hop: int) -> None:
        if self._size[hop]:
            self._put(self._waiting[hop][: self._size[hop]], None)
            self._size[hop] = 0

    def _put(self, channel: Ints, weights: Floats | None) -> None:
        low, high = int(channel.min()), int(channel.max()) + 1
        self._total[low:high] += np.bincount(channel - low, weights, high - low)


def _batches(ready: Flows, policy: HashPolicy, seed: int) -> Iterator[tuple[Part, int, Words]]:
    """(part, how many of its subflows at once, their keys)."""
    for part in ready.parts:
        keys = flow_keys(ready.src[part.flow], ready.dst[part.flow], seed)
        most = max(1, SUBFLOWS_AT_ONCE // part.flow.size)
        for first in range(0, policy.paths, most):
            times = min(most, policy.paths - first)
            yield part, times, subflow_keys(keys, first, times)


def _known(net: Net, src: Ints, dst: Ints) -> None:
    for nics in (src, dst):
        if nics.size and (int(nics.min()) < 0 or int(nics.max()) >= net.nics):
            raise FabricError(f"flows between NICs {nics.min()} to {nics.max()}: the fabric has 0 to {net.nics - 1}")
        loose = np.flatnonzero(net.leaf_of[nics] < 0)
        if loose.size:
            raise FabricError(f"{net.nic_name(int(nics[loose[0]]))} has no cable to a switch that is there")


def _parts(net: Net, src: Ints, dst: Ints) -> tuple[Part, ...]:
    """Flows that leave their leaf, those that stay in their block apart: they have as many switches to pass, mostly."""
    start, group = net.leaf_of[src], net.groups.of_nic[dst]
    far = net.groups.home[group] != start
    near = net.block_of_switch[start] == net.groups.block[group]
    pieces: list[Ints] = []
    for flow in (np.flatnonzero(far & near), np.flatnonzero(far & ~near)):
        count = -(-flow.size // SUBFLOWS_AT_ONCE)
        pieces += [piece for piece in np.array_split(flow, max(1, count)) if piece.size]
    return tuple(Part.of(net, piece, start[piece], group[piece]) for piece in pieces)


__all__ = [
    "Flows", "HashPolicy", "Plan", "crossing", "flows", "link_loads", "loads", "paths", "seed_norms", "spray_loads", "spread",
]  # fmt: skip
