"""Fractional split: every switch spreads what it gets for a destination evenly over its equal-cost channels."""

from __future__ import annotations

from typing import Final

import numpy as np

from fabric.predict.loops import loop_error, no_path
from fabric.predict.net import Floats, Ints, Net

_CELLS: Final = 1 << 22  # switch x group amounts held at once
_FULL: Final = 8  # a set that one in so many groups goes by is multiplied as a matrix; fewer go one by one
_MATRIX: Final = 1 << 22  # sets x their targets


def split_loads(net: Net, start: Ints, group: Ints, weight: Floats, most_hops: int) -> Floats:
    """Load of each channel for `weight[f]` from switch `start[f]` to destination `group[f]`; NICs' channels stay 0."""
    total = np.zeros(net.channels)
    switches = len(net.switches)
    wide = max(1, _CELLS // switches)
    used, place = np.unique(group, return_inverse=True)
    for first in range(0, used.size, wide):
        mine = np.flatnonzero((place >= first) & (place < first + wide)) if used.size > wide else slice(None)
        _Block(net, used[first : first + wide], total).run(start[mine], place[mine] - first, weight[mine], most_hops)
    return total


def _sums(place: Ints, amount: Floats, count: int) -> Floats:
    """The sum of the amounts at each place. Floats also where there is nothing to add."""
    return np.bincount(place, amount, count).astype(np.float64, copy=False)


class _Block:
    """The loads towards some groups. What stands at switches and goes on: `amount[s - low, group]` for switches from `low` on."""

    def __init__(self, net: Net, groups: Ints, total: Floats) -> None:
        self.net, self.groups, self.total = net, groups, total
        self.home, self.wide = net.groups.home[groups], groups.size

    def run(self, start: Ints, place: Ints, weight: Floats, most_hops: int) -> None:
        """All of it, hop by hop."""
        cells, which = np.unique(start * self.wide + place, return_inverse=True)
        amount = _sums(which, weight, cells.size)
        for _ in range(most_hops):
            at, place = cells // self.wide, cells % self.wide
            low, found = self._hop(at, place, amount)
            cells = np.flatnonzero(found != 0.0)
            if not cells.size:
                return
            amount = found[cells]
            cells += low * self.wide
        stuck, where = divmod(int(cells[0]), self.wide)
        raise loop_error(self.net, int(self.groups[where]), stuck)

    def _hop(self, at: Ints, place: Ints, amount: Floats) -> tuple[int, Floats]:
        """(first switch, what comes to each switch from there on) after one more hop; what has arrived is left out."""
        tables = self.net.tables
        chosen = self.net.look_up(at, self.groups[place])
        size = tables.size[chosen]
        if not size.all():
            lost = int(np.flatnonzero(size == 0)[0])
            raise no_path(self.net, int(at[lost]), int(self.groups[place[lost]]))
        each = amount / size
        sets, which, count = np.unique(chosen, return_inverse=True, return_counts=True)
        targets = self.net.target[self._members(sets, tables.size[sets])]
        low = int(targets.min())
        found = np.zeros((int(targets.max()) - low + 1, self.wide))
        full = (count * _FULL >= self.wide) & (tables.size[sets] > 1) & (self.wide > _FULL)
        many = full[which]
        few = np.flatnonzero(~many)
        self._one_by_one(chosen[few], each[few], place[few], found, low)
        if full.any():
            rows = np.zeros((int(full.sum()), self.wide))
            rows[(np.cumsum(full) - 1)[which[many]], place[many]] = each[
                many
            ]  # a switch has an amount for a group once
            self._as_matrix(sets[full], rows, found, low)
        here = np.flatnonzero((self.home >= low) & (self.home < low + found.shape[0]))
        found[self.home[here] - low, here] = 0.0
        return low, found.ravel()

    def _one_by_one(self, chosen: Ints, each: Floats, place: Ints, found: Floats, low: int) -> None:
        """Every amount to every member of its set."""
        size = self.net.tables.size[chosen]
        channel, parts = self._members(chosen, size), np.repeat(each, size)
        self._carry(channel, parts)
        cell = (self.net.target[channel] - low) * self.wide + np.repeat(place, size)
        found += _sums(cell, parts, found.size).reshape(found.shape)

    def _as_matrix(self, sets: Ints, rows: Floats, found: Floats, low: int) -> None:
        """Whole rows of amounts, one a set, to the switches that the set leads to."""
        size = self.net.tables.size[sets]
        channel, from_set = self._members(sets, size), np.repeat(np.arange(sets.size), size)
        self._carry(channel, rows.sum(axis=1)[from_set])
        targets, to = np.unique(self.net.target[channel], return_inverse=True)
        step = max(1, _MATRIX // sets.size)
        for first in range(0, targets.size, step):
            mine = (to >= first) & (to < first + step)
            leads = np.zeros((min(step, targets.size - first), sets.size))
            np.add.at(leads, (to[mine] - first, from_set[mine]), 1.0)
            found[targets[first : first + step] - low] += leads @ rows

    def _carry(self, channel: Ints, amount: Floats) -> None:
        """Adds to the loads of channels, of which those of one hop stand near each other."""
        if channel.size:
            low, high = int(channel.min()), int(channel.max()) + 1
            self.total[low:high] += _sums(channel - low, amount, high - low)

    def _members(self, sets: Ints, size: Ints) -> Ints:
        """The members of sets, one set after the other."""
        tables, ends = self.net.tables, np.cumsum(size)
        count = int(ends[-1]) if ends.size else 0
        found: Ints = tables.members[np.arange(count) + np.repeat(tables.start[sets] - (ends - size), size)]
        return found
