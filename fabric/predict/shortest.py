"""Shortest paths with all equal-cost channels: what a design says of a fabric whose tables are made by somebody else."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from fabric.predict.net import Groups, Ints, Tables
from fabric.predict.sets import ANY, Compressor, SetStore

FAR: Final = 127  # not reached
_ODD: Final = 0x9E3779B97F4A7C15  # gives each place of a channel a weight of its own, by powers


def distances(switches: int, source: Ints, target: Ints, home: Ints) -> npt.NDArray[np.int8]:
    """[switch, group]: channels on the shortest way from a switch to the home of a group; 127 = no way.

    Groups are bits, 64 in a word: all of them take a step at once.
    """
    order = np.argsort(source, kind="stable")
    near, far = source[order], target[order]
    some, first = np.unique(near, return_index=True)
    at_home = np.zeros((switches, -(-home.size // 64) * 64), dtype=np.bool_)
    at_home[home, np.arange(home.size)] = True
    reached = np.packbits(at_home, axis=1, bitorder="little").view(np.uint64)
    found = np.where(at_home[:, : home.size], np.int8(0), np.int8(FAR))
    for step in range(1, FAR):
        new = np.zeros_like(reached)
        if some.size:
            new[some] = np.bitwise_or.reduceat(reached[far], first, axis=0)
        new &= ~reached
        if not new.any():
            break
        reached |= new
        bits = np.unpackbits(new.view(np.uint8), axis=1, count=home.size, bitorder="little")
        found[bits.astype(np.bool_)] = step
    return found


def shortest_tables(switches: int, first: int, source: Ints, target: Ints, groups: Groups) -> Tables:
    """The tables of all switches; channel t of `source` and `target` has the number first + t."""
    distance = distances(switches, source, target, groups.home)
    order = np.argsort(source, kind="stable")
    begin = np.searchsorted(source[order], np.arange(switches + 1))
    store, put = SetStore(), Compressor(groups, switches)
    for switch in range(switches):
        out = order[begin[switch] : begin[switch + 1]]
        if out.size:
            mine = distance[switch]
            nearer = (distance[target[out]] == mine - 1) & (mine != FAR)
            put.put(switch, np.where(groups.home == switch, ANY, _numbers(store, nearer, first + out)))
    return put.done(store)


@lru_cache(maxsize=64)
def weights(count: int) -> npt.NDArray[np.uint64]:
    """A number for each place in a set: sums over sets are alike where the sets are, as far as 64 bits tell."""
    return np.array([pow(_ODD, place + 1, 1 << 64) for place in range(count)], dtype=np.uint64)


def _numbers(store: SetStore, nearer: npt.NDArray[np.bool_], channels: Ints) -> Ints:
    """The set of each column: the channels that are true in it. Columns are alike when sums of odd powers of 64 bits are."""
    keys = weights(channels.size) @ nearer.astype(np.uint64)
    _, column, which = np.unique(keys, return_index=True, return_inverse=True)
    numbers = [store.add(channels[nearer[:, one]].tolist()) for one in column.tolist()]
    found: Ints = np.array(numbers, dtype=np.int64)[which]
    return found
