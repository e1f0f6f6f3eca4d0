"""Linear forwarding tables as one array: for each switch and LID the output port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from fabric.errors import FabricError

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


def from_blocks(guids: Sequence[int], top: int, blocks: Mapping[tuple[int, int], bytes | None]) -> Lfts:
    """Tables from blocks of 64 bytes by (GUID, block number), for LIDs up to `top`; None for a block that did not come.

    A block that is not there at all (above a switch's own top) has no routes. FabricError for a top or a block of a wrong size.
    """
    if not 0 <= top < MOST_LIDS:
        raise FabricError(f"a forwarding table up to LID {top}: unicast LIDs end at {MOST_LIDS - 1}")
    count = top // BLOCK + 1
    table = np.full((len(guids), count * BLOCK), NO_ROUTE, dtype=np.uint8)
    row = {guid: index for index, guid in enumerate(guids)}
    unread = []
    for (guid, number), data in blocks.items():
        if data is None:
            unread.append((guid, number))
            continue
        if len(data) != BLOCK or not 0 <= number < count:
            raise FabricError(
                f"block {number} of the forwarding table of GUID 0x{guid:016x} has {len(data)} bytes, of {count} blocks of 64"
            )
        table[row[guid], number * BLOCK : (number + 1) * BLOCK] = np.frombuffer(data, dtype=np.uint8)
    return Lfts(tuple(guids), table, tuple(sorted(unread)))
