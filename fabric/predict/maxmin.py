"""Max-min sharing: who gets what when nobody can get more without taking from somebody who has less. Slow; only where it is asked for.

The smallest rate is the bottleneck's (`norm`); what this adds is the rates of all others, for means and for several jobs at once.
"""

from __future__ import annotations

import numpy as np

from fabric.errors import FabricError
from fabric.predict.hashing import HashPolicy
from fabric.predict.load import flows, paths
from fabric.predict.net import Floats, Ints, Net

MOST = 1 << 24  # (subflow, channel) pairs; more takes minutes and gigabytes


def max_min(
    net: Net, src: Ints, dst: Ints, policy: HashPolicy, seed: int, *, rounds: int = 1000
) -> tuple[Floats, bool]:
    """(rate of each flow, whether the rounds were enough), in units of the NIC's rate: the sum over its subflows, which share alike.

    Progressive filling: all rates grow together; at each round those over the channels that become full stop. After `rounds` the others keep
    what they have, which is a lower bound. FabricError for policies that split, and for more than can be held.
    """
    if policy.splits or policy.kind == "pinned":
        raise FabricError("max-min sharing is for flows that are hashed, each on one path")
    flow, channel = _incidence(net, src, dst, policy, seed)
    count = src.size * policy.paths
    rate, active, left = np.zeros(count), np.ones(count, dtype=np.bool_), net.capacity.copy()
    for _ in range(rounds):
        users = np.bincount(channel, minlength=left.size)
        busy = users > 0
        if not busy.any():
            break
        share = np.full(left.size, np.inf)
        share[busy] = left[busy] / users[busy]
        grown = float(share.min())
        rate[active] += grown
        left -= grown * users
        full = share <= grown * (1 + 1e-12)
        active[flow[full[channel]]] = False
        kept = active[flow]
        flow, channel = flow[kept], channel[kept]
    return rate.reshape(policy.paths, src.size).sum(axis=0), not active.any()


def _incidence(net: Net, src: Ints, dst: Ints, policy: HashPolicy, seed: int) -> tuple[Ints, Ints]:
    """(subflow, channel) of every step, those of NICs too; subflow q of flow f has the number q * flows + f."""
    if src.size * policy.paths * 6 > MOST:
        raise FabricError(
            f"max-min sharing of {src.size * policy.paths:,} subflows would take too long",
            hint="fewer queue pairs, or a smaller job",
        )
    ready = flows(net, src, dst, 1.0)
    every = np.arange(src.size * policy.paths)
    numbers = [every, every]
    channels = [np.tile(net.up_of[ready.src], policy.paths), np.tile(net.down_of[ready.dst], policy.paths)]
    for subflow, flow, channel in paths(ready, policy, seed):
        numbers.append(subflow * src.size + flow)
        channels.append(channel)
    return np.concatenate(numbers), np.concatenate(channels)
