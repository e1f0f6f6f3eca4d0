"""Fractional split: every switch spreads what it gets for a destination evenly over its equal-cost channels."""

from __future__ import annotations

import numpy as np

from fabric.predict.loops import loop_error, no_path
from fabric.predict.net import Floats, Ints, Net

_CELLS = 1 << 22  # switch x group amounts held at once


def split_loads(net: Net, start: Ints, group: Ints, weight: Floats, most_hops: int) -> Floats:
    """Load of each channel for `weight[f]` from switch `start[f]` to destination `group[f]`; NICs' channels stay 0."""
    total = np.zeros(net.channels)
    switches = len(net.switches)
    wide = max(1, _CELLS // switches)
    used, place = np.unique(group, return_inverse=True)
    for first in range(0, used.size, wide):
        mine = np.flatnonzero((place >= first) & (place < first + wide)) if used.size > wide else slice(None)
        _block(net, used[first : first + wide], start[mine], place[mine] - first, weight[mine], total, most_hops)
    return total


def _block(net: Net, groups: Ints, start: Ints, place: Ints, weight: Floats, total: Floats, most_hops: int) -> None:
    """Adds the loads towards some groups."""
    tables, home = net.tables, net.groups.home[groups]
    wide = groups.size
    amount = np.bincount(start * wide + place, weight, len(net.switches) * wide)
    for _ in range(most_hops):
        cells = np.flatnonzero(amount)
        at, place = cells // wide, cells % wide
        left = at != home[place]
        cells, at, place = cells[left], at[left], place[left]
        if not cells.size:
            return
        chosen = net.look_up(at, groups[place])
        size = tables.size[chosen]
        if not size.all():
            lost = int(np.flatnonzero(size == 0)[0])
            raise no_path(net, int(at[lost]), int(groups[place[lost]]))
        each = np.repeat(amount[cells] / size, size)
        ends = np.cumsum(size)
        member = np.arange(int(ends[-1])) - np.repeat(ends - size, size) + np.repeat(tables.start[chosen], size)
        channel = tables.members[member]
        total += np.bincount(channel, each, total.size)
        amount = np.bincount(net.target[channel] * wide + np.repeat(place, size), each, amount.size)
    left_at, left_place = divmod(int(np.flatnonzero(amount)[0]), wide)
    raise loop_error(net, int(groups[left_place]), left_at)
