"""The walk itself: many subflows at once, switch by switch, each to the member of the equal-cost set that its hash picks.

Written for speed: every number that can be made before is, what is the same for all is one number, and arrays stay in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from fabric.predict.hashing import HashPolicy, Words, mix, pick, tier_salt
from fabric.predict.loops import loop_error, no_path
from fabric.predict.net import Ints, Net

MOST_HOPS: Final = 63  # switches on a path; more is a loop (InfiniBand's own limit, and no Clos comes near it)
SUBFLOWS_AT_ONCE: Final = 1 << 15  # arrays of 256 KiB: several stay in the processor's cache


class Plan(Protocol):
    """Paths fixed by a controller: `choice[h, f]` is the member that flow f takes at its h-th switch (the leaf is 0); -1 = by hash."""

    @property
    def choice(self) -> npt.NDArray[np.int32]:
        """int32 [hops, flows]."""
        ...


@dataclass(frozen=True)
class Part:
    """Flows of about equally long ways, in the order that `flow` gives their places in the whole.

    `group`, `block`, `place`, `home`: where they go. `leaf` and `first` (a set, as `Net.packed` has it): where they start.
    """

    flow: Ints
    group: Ints
    block: Ints
    place: Ints
    home: Ints
    leaf: Ints
    first: Ints
    _tiled: dict[int, Part] = field(default_factory=dict)

    @classmethod
    def of(cls, net: Net, flow: Ints, start: Ints, group: Ints) -> Part:
        """Flows from leaf `start` to a group."""
        groups = net.groups
        first = net.packed[net.look_up(start, group)]
        return cls(flow, group, groups.block[group], groups.place[group], groups.home[group], start, first)

    def tiled(self, times: int) -> Part:
        """The same flows so many times, one after the other."""
        if times == 1:
            return self
        found = self._tiled.get(times)
        if found is None:
            columns = (self.flow, self.group, self.block, self.place, self.home, self.leaf, self.first)
            flow, group, block, place, home, leaf, first = (np.tile(column, times) for column in columns)
            found = self._tiled[times] = Part(flow, group, block, place, home, leaf, first)
        return found


def walk(
    net: Net, part: Part, keys: Words, policy: HashPolicy, seed: int, pins: npt.NDArray[np.int32] | None
) -> Iterator[tuple[Ints | None, Ints]]:
    """(places in the part, or None for all of it; channels) of every step from switch to switch. FabricError: no path, or a loop."""
    places: Ints | None = None
    at, block, place, home, group, packed = part.leaf, part.block, part.place, part.home, part.group, part.first
    for hop in range(MOST_HOPS):
        if hop:
            packed = _packed(net, at, block, place)
        member = _members(net, at, group, keys, packed, policy, seed)
        if pins is not None and hop < pins.shape[0]:
            member = _pinned(pins[hop] if places is None else pins[hop, places], packed, member)
        yield places, net.channel_of(member)
        at = net.target_of_member.take(member)
        left = at != home
        if left.all():
            continue
        on = np.flatnonzero(left)
        if not on.size:
            return
        places = on if places is None else places.take(on)
        at, block, place, home, group = (one.take(on) for one in (at, block, place, home, group))
        keys = keys.take(on)
    raise loop_error(net, int(group[0]), int(at[0]))


def _packed(net: Net, at: Ints, block: Ints, place: Ints) -> Ints:
    """The sets of `Net.look_up` as `Net.packed` has them, without questions."""
    index = at * net.tables.table.shape[1]
    index += block
    found: Ints = net.packed_table.take(index)
    if int(found.min()) < 0:
        if int(found.max()) < 0:
            found = net.packed.take(net.tables.dense.take(place - 1 - found))
        else:
            dense = np.flatnonzero(found < 0)
            single = net.tables.dense.take(place.take(dense) - 1 - found.take(dense))
            found[dense] = net.packed.take(single)
    return found


def _members(net: Net, at: Ints, group: Ints, keys: Words, packed: Ints, policy: HashPolicy, seed: int) -> Ints:
    """Index in all members of the one that each flow takes."""
    start, size = packed >> Net.SIZE_BITS, packed & Net.SIZE_MASK
    low, high = int(size.min()), int(size.max())
    if low == 0:
        lost = int(np.argmin(size))
        raise no_path(net, int(at[lost]), int(group[lost]))
    if high == 1:
        return start
    hashed = mix(keys ^ _salts(net, at, policy, seed))
    start += pick(hashed, high if low == high else size, policy)
    return start


def _salts(net: Net, at: Ints, policy: HashPolicy, seed: int) -> Words | np.uint32:
    """The hash seed of each switch: mostly all are of one tier."""
    level = int(net.level[int(at.min())])
    if not policy.seed_per_tier or (net.levels_sorted and level == int(net.level[int(at.max())])):
        return np.uint32(tier_salt(level, seed, policy))
    top = int(net.level.max()) + 1
    salts = np.array([tier_salt(level, seed, policy) for level in range(top)], dtype=np.uint32)
    return salts.take(net.level.take(at))


def _pinned(fixed: npt.NDArray[np.int32], packed: Ints, member: Ints) -> Ints:
    start, size = packed >> Net.SIZE_BITS, packed & Net.SIZE_MASK
    return np.where(fixed >= 0, start + fixed % size, member)
