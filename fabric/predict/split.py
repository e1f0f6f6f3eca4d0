"""Fractional split: every switch spreads what it gets for a destination evenly over its equal-cost channels.

No linear algebra library takes part: its threads would wait in loops that burn processor time, and its sums differ with their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from fabric.predict.loops import loop_error, no_path
from fabric.predict.net import Floats, Ints, Net

Bools = npt.NDArray[np.bool_]

_CELLS: Final = 1 << 23  # switch x group amounts held at once
_LEAST: Final = 64  # groups that go together at least: below that, calls cost more than what they do
_FULL: Final = 8  # a set that one in so many groups goes by is added up by whole rows; others amount by amount
_ROWS: Final = 1 << 20  # members x groups added up at once


def split_loads(net: Net, start: Ints, group: Ints, weight: Floats, most_hops: int) -> Floats:
    """Load of each channel for `weight[f]` from switch `start[f]` to destination `group[f]`; NICs' channels stay 0."""
    total = np.zeros(net.channels)
    many = net.groups.home.size
    key, place = np.unique(net.groups.block[group] * many + group, return_inverse=True)
    used = key % many
    order = np.argsort(place, kind="stable")
    start, place, weight = start[order], place[order], weight[order]
    for first, last in _pieces(net.groups.block[used], max(1, _CELLS // len(net.switches))):
        low, high = np.searchsorted(place, (first, last))
        here = slice(int(low), int(high))
        _Block(net, used[first:last], total).run(start[here], place[here] - first, weight[here], most_hops)
    return total


def _pieces(block: Ints, most: int) -> Iterator[tuple[int, int]]:
    """(first, behind the last) group of those that go together: whole blocks, as sets mostly serve these, unless they are small or large."""
    edges = [*(np.flatnonzero(np.diff(block)) + 1).tolist(), block.size]
    first = 0
    for edge in edges:
        if edge - first < _LEAST and edge < block.size:
            continue
        for begin in range(first, edge, most):
            yield begin, min(begin + most, edge)
        first = edge


def _sums(place: Ints, amount: Floats, count: int) -> Floats:
    """The sum of the amounts at each place. Floats also where there is nothing to add."""
    return np.bincount(place, amount, count).astype(np.float64, copy=False)


def _merged(rows: Floats, size: Ints, to: Ints) -> tuple[Floats, Ints, Ints]:
    """Rows of sets that lead to the same switches are one row: in a Clos network those of a plane, or of a unit."""
    raw, ends = to.tobytes(), (np.cumsum(size) * to.itemsize).tolist()
    known: dict[bytes, int] = {}
    kind = np.array([known.setdefault(raw[a:b], len(known)) for a, b in zip([0, *ends], ends, strict=False)])
    if len(known) == size.size:
        return rows, size, to
    order = np.argsort(kind, kind="stable")
    first = order[np.searchsorted(kind[order], np.arange(len(known)))]
    merged = np.zeros((len(known), rows.shape[1]))
    for one, many in zip(kind.tolist(), rows, strict=True):
        merged[one] += many
    return merged, size[first], np.frombuffer(b"".join(known), dtype=to.dtype)


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
            low, found = self._hop(*np.divmod(cells, self.wide), amount)
            cells = np.flatnonzero(found)
            if not cells.size:
                return
            amount = found[cells]
            cells += low * self.wide
        stuck, where = divmod(int(cells[0]), self.wide)
        raise loop_error(self.net, int(self.groups[where]), stuck)

    def _hop(self, at: Ints, place: Ints, amount: Floats) -> tuple[int, Floats]:
        """(first switch, what comes to each switch from there on) after one more hop; what has arrived is left out."""
        chosen = self.net.look_up(at, self.groups[place])
        size = self.net.tables.size[chosen]
        if not size.all():
            lost = int(np.flatnonzero(size == 0)[0])
            raise no_path(self.net, int(at[lost]), int(self.groups[place[lost]]))
        each = amount / size
        many = self._often(chosen, size)
        few = np.flatnonzero(~many)
        to, where, parts = self._one_by_one(chosen[few], each[few], place[few])
        if not many.any():
            return self._placed(to, where, parts)
        rows = np.flatnonzero(many)
        targets, sums = self._by_rows(chosen[rows], each[rows], place[rows])
        here = np.flatnonzero(np.isin(self.home, targets))
        sums[np.searchsorted(targets, self.home[here]), here] = 0.0
        low, found = self._placed(to, where, parts, int(targets[0]), int(targets[-1]) + 1)
        found.reshape(-1, self.wide)[targets - low] += sums
        return low, found

    def _often(self, chosen: Ints, size: Ints) -> Bools:
        """Which amounts go by a set of several channels that a large part of the groups goes by."""
        if self.wide <= _FULL or int(size.max()) == 1:
            return np.zeros(chosen.size, dtype=np.bool_)
        low = int(chosen.min())
        often = np.bincount(chosen - low) * _FULL >= self.wide
        found: Bools = often[chosen - low] & (size > 1)
        return found

    def _placed(self, to: Ints, where: Ints, parts: Floats, low: int = -1, high: int = 0) -> tuple[int, Floats]:
        """(first switch, amounts of it and of those behind it), at least for the switches from `low` to `high`."""
        if to.size:
            low, high = int(to.min()) if low < 0 else min(low, int(to.min())), max(high, int(to.max()) + 1)
        low = max(low, 0)
        return low, _sums((to - low) * self.wide + where, parts, (high - low) * self.wide)

    def _one_by_one(self, chosen: Ints, each: Floats, place: Ints) -> tuple[Ints, Ints, Floats]:
        """Every amount to every member of its set: (switch, group, amount) of those that have not arrived."""
        size = self.net.tables.size[chosen]
        channel, parts, where = self._members(chosen, size), each, place
        if channel.size > chosen.size:
            parts, where = np.repeat(each, size), np.repeat(place, size)
        self._carry(channel, parts)
        to = self.net.target[channel]
        on = np.flatnonzero(to != self.home[where])
        return to[on], where[on], parts[on]

    def _by_rows(self, chosen: Ints, each: Floats, place: Ints) -> tuple[Ints, Floats]:
        """(switches, what comes to each of them for every group) by sets of which each has a whole row of amounts."""
        low = int(chosen.min())
        there = np.bincount(chosen - low) > 0
        sets = np.flatnonzero(there) + low
        rows = np.zeros((sets.size, self.wide))
        rows[(np.cumsum(there) - 1)[chosen - low], place] = each  # a switch has an amount for a group once
        size = self.net.tables.size[sets]
        channel = self._members(sets, size)
        self._carry(channel, np.repeat(rows.sum(axis=1), size))
        to = self.net.target[channel]
        rows, size, to = _merged(rows, size, to)
        from_set = np.repeat(np.arange(size.size), size)
        order = np.argsort(to, kind="stable")
        targets, first = np.unique(to[order], return_index=True)
        from_set, sums = from_set[order], np.empty((targets.size, self.wide))
        step = max(1, _ROWS // from_set.size)
        for begin in range(0, self.wide, step):
            some = slice(begin, begin + step)
            np.add.reduceat(rows[:, some].take(from_set, axis=0), first, axis=0, out=sums[:, some])
        return targets, sums

    def _carry(self, channel: Ints, amount: Floats) -> None:
        """Adds to the loads of channels, of which those of one hop stand near each other."""
        if channel.size:
            low, high = int(channel.min()), int(channel.max()) + 1
            self.total[low:high] += _sums(channel - low, amount, high - low)

    def _members(self, sets: Ints, size: Ints) -> Ints:
        """The members of sets, one set after the other."""
        tables, ends = self.net.tables, np.cumsum(size)
        count = int(ends[-1]) if ends.size else 0
        if count == sets.size:
            return tables.members[tables.start[sets]]
        found: Ints = tables.members[np.arange(count) + np.repeat(tables.start[sets] - (ends - size), size)]
        return found
