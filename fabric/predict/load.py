"""What each channel carries when many flows go at once: a vectorised walk of the forwarding tables, one subflow of every flow at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from fabric.errors import FabricError
from fabric.predict.hashing import HashPolicy, Words, flow_keys, mix, pick, subflow_keys, tier_salt
from fabric.predict.loops import loop_error, no_path
from fabric.predict.net import Floats, Ints, Net
from fabric.predict.split import split_loads

MOST_HOPS: Final = 63  # switches on a path; more is a loop (InfiniBand's own limit, and no Clos comes near it)
FLOWS_AT_ONCE: Final = 1 << 14  # the arrays of one step stay in the processor's cache


class Plan(Protocol):
    """Paths fixed by a controller: `choice[h, f]` is the member that flow f takes at its h-th switch (the leaf is 0); -1 = by hash."""

    @property
    def choice(self) -> npt.NDArray[np.int32]:
        """int32 [hops, flows]."""
        ...


@dataclass(frozen=True)
class Flows:
    """Flows made ready for many walks. `fixed`: loads that no choice changes: NICs. `parts`: places of the flows that leave their leaf,
    in parts of similar length of way.
    """

    net: Net
    src: Ints
    dst: Ints
    weight: Floats
    fixed: Floats
    parts: tuple[Ints, ...]


def flows(net: Net, src: Ints, dst: Ints, weight: Floats | float) -> Flows:
    """Flows from NIC `src[f]` to NIC `dst[f]` of `weight[f]` (1 = the rate of a NIC). FabricError for NICs that are not there."""
    src, dst = np.asarray(src, dtype=np.int64), np.asarray(dst, dtype=np.int64)
    weights: Floats = np.broadcast_to(np.asarray(weight, dtype=np.float64), src.shape)
    _known(net, src, dst)
    fixed: Floats = np.bincount(net.up_of[src], weights, net.channels)
    fixed += np.bincount(net.down_of[dst], weights, net.channels)
    far = np.flatnonzero(net.leaf_of[src] != net.groups.home[net.groups.of_nic[dst]])
    return Flows(net, src, dst, weights, fixed, _parts(net, src, dst, far))


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
    every = np.concatenate(ready.parts) if ready.parts else np.zeros(0, dtype=np.int64)
    net = ready.net
    starts, targets = net.leaf_of[ready.src[every]], net.groups.of_nic[ready.dst[every]]
    return ready.fixed + split_loads(net, starts, targets, ready.weight[every], MOST_HOPS)


def loads(ready: Flows, policy: HashPolicy, seed: int, plan: Plan | None = None) -> Floats:
    """`link_loads` of flows made ready: the part that differs from seed to seed."""
    if policy.splits:
        return spread(ready)
    if policy.kind == "pinned" and plan is None:
        raise FabricError("pinned paths need the path plan of a controller")
    total = ready.fixed.copy()
    for part in ready.parts:
        weight = ready.weight[part] / policy.paths
        even = bool(weight.size) and bool((weight == weight[0]).all())
        for _, _, places, channel in _walk(ready, part, policy, seed, plan):
            if even:
                total += np.bincount(channel, minlength=total.size) * weight[0]
            else:
                total += np.bincount(channel, weight[places], total.size)
    return total


def crossing(
    net: Net, src: Ints, dst: Ints, policy: HashPolicy, seed: int, channel: int, plan: Plan | None = None
) -> Ints:
    """The flows (places in `src`) of which a subflow is on the channel."""
    ready = flows(net, src, dst, 1.0)
    found = [np.flatnonzero((net.up_of[ready.src] == channel) | (net.down_of[ready.dst] == channel))]
    if policy.splits:
        policy = HashPolicy("e-ecmp", max(16, policy.subflows), True, "mod")  # some of those that may be there
    for part in ready.parts:
        for _, _, places, taken in _walk(ready, part, policy, seed, plan):
            found.append(part[places[taken == channel]])
    return np.unique(np.concatenate(found))


def paths(ready: Flows, policy: HashPolicy, seed: int, plan: Plan | None = None) -> Iterator[tuple[int, Ints, Ints]]:
    """(subflow, flows, channels) of every step between switches: what `max_min` and comparisons with real switches need."""
    for part in ready.parts:
        for subflow, _, places, channel in _walk(ready, part, policy, seed, plan):
            yield subflow, part[places], channel


def _known(net: Net, src: Ints, dst: Ints) -> None:
    for nics in (src, dst):
        if nics.size and (int(nics.min()) < 0 or int(nics.max()) >= net.nics):
            raise FabricError(f"flows between NICs {nics.min()} to {nics.max()}: the fabric has 0 to {net.nics - 1}")
        loose = np.flatnonzero(net.leaf_of[nics] < 0)
        if loose.size:
            raise FabricError(f"{net.nic_name(int(nics[loose[0]]))} has no cable to a switch that is there")


def _parts(net: Net, src: Ints, dst: Ints, far: Ints) -> tuple[Ints, ...]:
    """Flows that have as many switches to pass, so that a step mostly is one for all; in pieces that stay in the cache."""
    group = net.groups.of_nic[dst[far]]
    near = net.groups.block[net.groups.of_nic[src[far]]] == net.groups.block[group]
    pieces: list[Ints] = []
    for part in (far[near], far[~near]):
        count = -(-part.size // FLOWS_AT_ONCE)
        pieces += [piece for piece in np.array_split(part, max(1, count)) if piece.size]
    return tuple(pieces)


def _walk(
    ready: Flows, part: Ints, policy: HashPolicy, seed: int, plan: Plan | None
) -> Iterator[tuple[int, int, Ints, Ints]]:
    """(subflow, hop, places in the part, channels) of every step from switch to switch."""
    net = ready.net
    src, dst = ready.src[part], ready.dst[part]
    keys = flow_keys(src, dst, seed)
    group, start = net.groups.of_nic[dst], net.leaf_of[src]
    pins = None if plan is None else plan.choice[:, part]
    for subflow in range(policy.paths):
        yield from _one(net, group, start, subflow_keys(keys, subflow), policy, seed, pins, subflow)


def _one(
    net: Net, group: Ints, start: Ints, keys: Words, policy: HashPolicy, seed: int,
    pins: npt.NDArray[np.int32] | None, subflow: int,
) -> Iterator[tuple[int, int, Ints, Ints]]:  # fmt: skip
    tables = net.tables
    home = net.groups.home[group]
    places, at = np.arange(start.size), start
    for hop in range(MOST_HOPS):
        chosen = net.look_up(at, group)
        size = tables.size[chosen]
        if not size.all():
            lost = int(np.flatnonzero(size == 0)[0])
            raise no_path(net, int(at[lost]), int(group[lost]))
        member = _member(net, at, keys, size, policy, seed)
        if pins is not None and hop < pins.shape[0]:
            fixed = pins[hop, places]
            member = np.where(fixed >= 0, fixed % size, member)
        channel = tables.members[tables.start[chosen] + member]
        yield subflow, hop, places, channel
        at = net.target[channel]
        left = at != home
        if not left.any():
            return
        if not left.all():
            places, at, group, home, keys = places[left], at[left], group[left], home[left], keys[left]
    raise loop_error(net, int(group[0]), int(at[0]))


def _member(net: Net, at: Ints, keys: Words, size: Ints, policy: HashPolicy, seed: int) -> Ints:
    """The member that the hash of each flow picks at its switch."""
    if int(size.max()) == 1:
        return np.zeros(size.size, dtype=np.int64)
    levels = net.level[at]
    low, high = int(levels.min()), int(levels.max())
    if low == high or not policy.seed_per_tier:
        return pick(mix(keys ^ np.uint32(tier_salt(low, seed, policy))), size, policy.reduction)
    salts = np.array([tier_salt(level, seed, policy) for level in range(low, high + 1)], dtype=np.uint32)
    return pick(mix(keys ^ salts[levels - low]), size, policy.reduction)
