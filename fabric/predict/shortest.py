"""Shortest paths with all equal-cost channels: what a design says of a fabric whose tables are made by somebody else."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabric.predict.net import Groups, Ints, Tables
from fabric.predict.sets import ANY, Compressor, SetStore

_FAR = 127  # not reached
_WIDE = 256  # destinations at once


def distances(switches: int, source: Ints, target: Ints, home: Ints) -> npt.NDArray[np.int8]:
    """[switch, group]: channels on the shortest way from a switch to the home of a group; 127 = no way."""
    order = np.argsort(source, kind="stable")
    near, far = source[order], target[order]
    some, first = np.unique(near, return_index=True)
    found = np.full((switches, home.size), _FAR, dtype=np.int8)
    for start in range(0, home.size, _WIDE):
        mine = home[start : start + _WIDE]
        piece = found[:, start : start + mine.size]
        piece[mine, np.arange(mine.size)] = 0
        for step in range(1, _FAR):
            reached = piece == step - 1
            if not reached.any():
                break
            ways = np.logical_or.reduceat(reached[far], first, axis=0)
            new = ways & (piece[some] == _FAR)
            piece[some] = np.where(new, np.int8(step), piece[some])
    return found


def shortest_tables(switches: int, first: int, source: Ints, target: Ints, groups: Groups) -> Tables:
    """The tables of all switches; channel t of `source` and `target` has the number first + t."""
    distance = distances(switches, source, target, groups.home)
    order = np.argsort(source, kind="stable")
    begin = np.searchsorted(source[order], np.arange(switches + 1))
    store, put = SetStore(), Compressor(groups, switches)
    for switch in range(switches):
        out = order[begin[switch] : begin[switch + 1]]
        if not out.size:
            continue
        nearer = distance[target[out]] + np.int8(0) == distance[switch] - 1
        nearer[:, distance[switch] == _FAR] = False
        columns, which = np.unique(np.packbits(nearer, axis=0), axis=1, return_inverse=True)
        bits = np.unpackbits(columns, axis=0, count=out.size).astype(np.bool_)
        numbers = np.array([store.add((first + out[bits[:, column]]).tolist()) for column in range(bits.shape[1])])
        put.put(switch, np.where(groups.home == switch, ANY, numbers[which.ravel()]))
    return put.done(store)
