"""Linear forwarding tables as one array: for each switch and LID the output port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from fabric.errors import FabricError
from fabric.forwarding.wiring import Wiring

NO_ROUTE: Final = 255  # what a switch says for a LID without a port
BLOCK: Final = 64  # LIDs in one block of a table
MOST_LIDS: Final = 0xC000  # unicast LIDs are 1 to 0xBFFF


@dataclass(frozen=True, slots=True)
class Lfts:
    """`table[i, lid]` is the output port of the switch with node GUID `guids[i]`, uint8; 255 = no route, 0 = the switch itself.

    `unread` are (GUID, block) of blocks that did not come: their entries stand as 255 and prove nothing.
    """

    guids: tuple[int, ...]
    table: npt.NDArray[np.uint8]
    unread: tuple[tuple[int, int], ...] = ()


class Builder:
    """Tables from blocks as they come, for LIDs up to `top`: at full size 854,016 blocks, which are never held all at once.

    A block that is never put (above a switch's own top) has no routes. FabricError for a top or a block of a wrong size.
    """

    def __init__(self, guids: Sequence[int], top: int) -> None:
        if not 0 <= top < MOST_LIDS:
            raise FabricError(f"a forwarding table up to LID {top}: unicast LIDs end at {MOST_LIDS - 1}")
        self._guids = tuple(guids)
        self._row = {guid: index for index, guid in enumerate(guids)}
        self._count = top // BLOCK + 1
        self._table = np.full((len(guids), self._count * BLOCK), NO_ROUTE, dtype=np.uint8)
        self._unread: list[tuple[int, int]] = []

    def put(self, guid: int, number: int, data: bytes | None) -> None:
        """Block `number` of the switch `guid`: 64 bytes, or None when it did not come."""
        if data is None:
            self._unread.append((guid, number))
            return
        if len(data) != BLOCK or not 0 <= number < self._count:
            raise FabricError(
                f"block {number} of the forwarding table of GUID 0x{guid:016x} has {len(data)} bytes,"
                f" of {self._count} blocks of 64"
            )
        place = number * BLOCK
        self._table[self._row[guid], place : place + BLOCK] = np.frombuffer(data, dtype=np.uint8)

    def done(self) -> Lfts:
        """The whole."""
        return Lfts(self._guids, self._table, tuple(sorted(self._unread)))


def from_rows(rows: Mapping[int, npt.NDArray[np.uint8]]) -> Lfts:
    """Tables from one array a switch, by node GUID; a shorter one has no route beyond its end."""
    top = max((len(row) for row in rows.values()), default=1)
    table = np.full((len(rows), top), NO_ROUTE, dtype=np.uint8)
    for index, row in enumerate(rows.values()):
        table[index, : len(row)] = row
    return Lfts(tuple(rows), table)


@dataclass(frozen=True)
class Routes:
    """Forwarding tables laid over a wiring: `table[s, lid]` for the switches in the wiring's order, `lid[e]` of endpoint e (0 = none)."""

    wiring: Wiring
    table: npt.NDArray[np.uint8]
    lid: npt.NDArray[np.int64]


def routes(wiring: Wiring, lfts: Lfts, lids: Mapping[int, int]) -> Routes:
    """Lays tables over a wiring. `lids`: port GUID of an endpoint -> its (base) LID; one that is not there or 0 cannot be reached.

    A switch of the wiring without a table has no routes. FabricError when two endpoints have one LID or a LID is no unicast LID.
    """
    lid = np.array([lids.get(guid, 0) for guid in wiring.port_guids], dtype=np.int64)
    used = lid[lid != 0]
    if used.size and (used.min() < 0 or used.max() >= MOST_LIDS):
        raise FabricError(f"LIDs from {used.min()} to {used.max()}: unicast LIDs are 1 to {MOST_LIDS - 1}")
    values, counts = np.unique(used, return_counts=True)
    if (counts > 1).any():
        twice = np.flatnonzero(lid == values[counts > 1][0])[:2]
        raise FabricError(
            f"{wiring.endpoints[twice[0]]} and {wiring.endpoints[twice[1]]} both have LID {lid[twice[0]]}"
        )
    row = {guid: index for index, guid in enumerate(lfts.guids)}
    width = max(int(used.max()) + 1 if used.size else 1, lfts.table.shape[1])
    place = np.array([row.get(guid, -1) for guid in wiring.guids], dtype=np.int64)
    table = np.full((len(place), width), NO_ROUTE, dtype=np.uint8)
    table[place >= 0, : lfts.table.shape[1]] = lfts.table[place[place >= 0]]
    table[:, 0] = NO_ROUTE  # LID 0 stands for "none": nothing is forwarded to it
    return Routes(wiring, table, lid)
