"""ECMP sets while tables are made: each set of channels once, numbered from 1; 0 is the empty set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from fabric.predict.net import Groups, Ints, Tables

ANY = -1  # an entry that is never asked: a switch's own group


class SetStore:
    """Sets by their members; may begin with those of a table."""

    def __init__(self, start: Ints | None = None, size: Ints | None = None, members: Ints | None = None) -> None:
        self._start = np.zeros(1, dtype=np.int64) if start is None else start
        self._size = np.zeros(1, dtype=np.int64) if size is None else size
        self._members = np.zeros(0, dtype=np.int64) if members is None else members
        self._new: list[tuple[int, ...]] = []
        self._known: dict[tuple[int, ...], int] = {(): 0}

    def add(self, members: Iterable[int]) -> int:
        """The number of a set; its members keep the order in which they are given."""
        key = tuple(members)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._start.size + len(self._new)
            self._new.append(key)
        return found

    def members(self, number: int) -> Sequence[int]:
        """The members of a set."""
        if number >= self._start.size:
            return self._new[number - self._start.size]
        first = int(self._start[number])
        found: list[int] = self._members[first : first + int(self._size[number])].tolist()
        return found

    def arrays(self) -> tuple[Ints, Ints, Ints]:
        """(start, size, members) of all sets."""
        size = np.concatenate([self._size, np.array([len(key) for key in self._new], dtype=np.int64)])
        new = np.array([channel for key in self._new for channel in key], dtype=np.int64)
        behind = self._members.size + np.cumsum(size[self._start.size :]) - size[self._start.size :]
        return np.concatenate([self._start, behind]), size, np.concatenate([self._members, new])


def singles(first: int, count: int) -> SetStore:
    """Sets of one channel: set k has channel first + k - 1, for k from 1 to `count`."""
    size = np.ones(count + 1, dtype=np.int64)
    size[0] = 0
    return SetStore(np.maximum(np.arange(count + 1) - 1, 0), size, first + np.arange(count))


class Compressor:
    """Rows of sets, one a switch, to `Tables`: a block with one set for all of its groups takes one number."""

    def __init__(self, groups: Groups, switches: int) -> None:
        self._table = np.zeros((switches, groups.size.size), dtype=np.int32)
        self._order = np.argsort(groups.block, kind="stable")
        self._first = np.cumsum(groups.size) - groups.size
        self._size = groups.size
        self._dense: list[np.ndarray[tuple[int], np.dtype[np.int32]]] = []
        self._long = 0

    @classmethod
    def begun(cls, groups: Groups, tables: Tables) -> Compressor:
        """One that begins with tables; rows that are put replace theirs."""
        made = cls(groups, tables.table.shape[0])
        made._table = tables.table.copy()
        made._dense = [tables.dense]
        made._long = tables.dense.size
        return made

    def put(self, switch: int, row: Ints) -> None:
        """The sets of a switch for every group; ANY where it does not matter."""
        sorted_row = row[self._order].astype(np.int32)
        high = np.maximum.reduceat(sorted_row, self._first)
        low = np.minimum.reduceat(np.where(sorted_row == ANY, np.int32(2**31 - 1), sorted_row), self._first)
        self._table[switch] = np.maximum(high, 0)
        several = (high != low) & (high > ANY)
        if several.any():
            size = self._size * several
            self._table[switch, several] = (-1 - self._long - (np.cumsum(size) - size))[several]
            piece = np.maximum(sorted_row[np.repeat(several, self._size)], 0)
            self._dense.append(piece)
            self._long += piece.size

    def done(self, store: SetStore) -> Tables:
        """The tables."""
        dense = np.concatenate(self._dense) if self._dense else np.zeros(0, dtype=np.int32)
        return Tables(self._table, dense, *store.arrays())
