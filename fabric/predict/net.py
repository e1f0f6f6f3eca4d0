"""The network as the walk sees it: directed channels as arrays, and for each switch and destination the set of equal-cost channels.

Destinations go in groups that every switch forwards alike (the NICs of a leaf; with LFTs each NIC by itself), groups in blocks (an AI
Zone). A switch mostly has one set for a whole block; only where it has not, the sets stand one by one. So the tables grow linearly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NO_PATH: Final = 0  # the empty set


@dataclass(frozen=True)
class Groups:
    """Destination groups: group of each NIC, home switch of each group, its block and its place in the block; groups in each block."""

    of_nic: Ints
    home: Ints
    block: Ints
    place: Ints
    size: Ints

    @classmethod
    def of(cls, of_nic: Ints, home: Ints, block: Ints) -> Groups:
        """Groups whose blocks are given as any numbers from 0; the place in a block is by the order of the groups."""
        size = np.bincount(block, minlength=1)
        order = np.argsort(block, kind="stable")
        place = np.empty_like(block)
        place[order] = np.arange(block.size) - np.repeat(np.cumsum(size) - size, size)
        return cls(of_nic, home, block, place, size)


@dataclass(frozen=True)
class Tables:
    """Who sends what where.

    `table[switch, block]` >= 0 is the set for every group of the block; below 0 the sets stand in `dense` from -1 - value on, by the
    group's place. The members of set k are `members[start[k] : start[k] + size[k]]`, channels; set 0 is empty: no path.
    """

    table: npt.NDArray[np.int32]
    dense: npt.NDArray[np.int32]
    start: Ints
    size: Ints
    members: Ints


@dataclass(frozen=True)
class Net:
    """Switches, NICs and directed channels.

    NIC n = index of its host * `rails` + rail. `source` and `target` of a channel: a switch's index, or -1 - n for NIC n.
    `capacity` is in units of the NIC's rate. `level` of a switch: 0 = leaf. `tier` of a channel indexes `tiers` ("rtsw up", ...).
    `leaf_of`, `up_of`, `down_of`: leaf switch and channels of each NIC; -1 for one without a cable. `open`: the same network with all
    shortest paths, where these tables fix one of them; perfect balance is reckoned there.
    """

    SIZE_BITS: ClassVar = 16
    SIZE_MASK: ClassVar = (1 << 16) - 1

    switches: tuple[str, ...]
    level: npt.NDArray[np.int8]
    hosts: tuple[str, ...]
    rails: int
    leaf_of: Ints
    up_of: Ints
    down_of: Ints
    source: Ints
    target: Ints
    capacity: Floats
    tier: npt.NDArray[np.int8]
    tiers: tuple[str, ...]
    groups: Groups
    tables: Tables
    label: Callable[[int], str]
    open: Net | None = None

    @property
    def nics(self) -> int:
        """Number of NICs, also the number of GPUs."""
        return len(self.hosts) * self.rails

    @property
    def channels(self) -> int:
        """Number of channels."""
        return int(self.source.size)

    # --- what the walk asks for again and again
    @cached_property
    def packed(self) -> Ints:
        """Of each set: first member << SIZE_BITS | members."""
        return (self.tables.start << self.SIZE_BITS) | self.tables.size

    @cached_property
    def packed_table(self) -> Ints:
        """`packed` of the set of each switch for each block, flat; below 0 as in the tables."""
        table = self.tables.table
        return np.where(table < 0, table, self.packed[np.maximum(table, 0)]).ravel()

    @cached_property
    def target_of_member(self) -> Ints:
        """Where each member leads."""
        return self.target[self.tables.members]

    @cached_property
    def _shift(self) -> int | None:
        """What turns the index of a member into its channel by addition, where members stand in the order of the channels."""
        members = self.tables.members
        first = int(members[0]) if members.size else 0
        return first if bool((members == first + np.arange(members.size)).all()) else None

    def channel_of(self, member: Ints) -> Ints:
        """The channels of members."""
        return self.tables.members.take(member) if self._shift is None else member + self._shift

    @cached_property
    def levels_sorted(self) -> bool:
        """Whether the switches stand in the order of their tiers."""
        return bool((np.diff(self.level) >= 0).all())

    @cached_property
    def block_of_switch(self) -> Ints:
        """The block of the groups at home at a switch; -1 for one without."""
        found = np.full(len(self.switches), -1, dtype=np.int64)
        found[self.groups.home] = self.groups.block
        return found

    @property
    def set_start(self) -> Ints:
        """First member of each set in `set_members`."""
        return self.tables.start

    @property
    def set_size(self) -> Ints:
        """Members of each set."""
        return self.tables.size

    @property
    def set_members(self) -> Ints:
        """The members of all sets, channels; those of a leaf by the index of the uplink."""
        return self.tables.members

    @cached_property
    def host_index(self) -> Mapping[str, int]:
        """Host -> its index."""
        return {name: index for index, name in enumerate(self.hosts)}

    @cached_property
    def switch_index(self) -> Mapping[str, int]:
        """Switch -> its index."""
        return {name: index for index, name in enumerate(self.switches)}

    def name(self, channel: int) -> str:
        """`switch:port -> switch:port`; a NIC is `host:nic`."""
        return self.label(int(channel))

    def nic_name(self, nic: int) -> str:
        """`host` and rail: "host0001 NIC 3"."""
        return f"{self.hosts[nic // self.rails]} NIC {nic % self.rails}"

    def sets(self, at: Ints, nic: Ints) -> Ints:
        """The set by which each switch sends to each NIC; -1 where the switch is the NIC's own leaf, or has no path."""
        group = self.groups.of_nic[nic]
        found = self.look_up(at, group)
        return np.where((found == NO_PATH) | (self.groups.home[group] == at), -1, found)

    def look_up(self, at: Ints, group: Ints) -> Ints:
        """The set of each switch for each group, as the tables have it."""
        tables, groups = self.tables, self.groups
        found = tables.table[at, groups.block[group]].astype(np.int64)
        dense = np.flatnonzero(found < 0)
        if dense.size:
            found[dense] = tables.dense[-1 - found[dense] + groups.place[group[dense]]]
        return found

    def row(self, switch: int) -> Ints:
        """The set of one switch for every group."""
        every = np.arange(self.groups.home.size)
        return self.look_up(np.full(every.size, switch, dtype=np.int64), every)

    def channels_at(self, switch: int) -> Ints:
        """The channels that leave a switch."""
        starts, order = self._by_source
        return order[starts[switch] : starts[switch + 1]]

    @cached_property
    def _by_source(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.source, kind="stable")
        return np.searchsorted(self.source[order], np.arange(len(self.switches) + 1)), order

    @cached_property
    def into(self) -> tuple[Ints, Ints]:
        """(first, channels): the channels that lead to switch s are `channels[first[s] : first[s + 1]]`."""
        order = np.argsort(self.target, kind="stable")
        return np.searchsorted(self.target[order], np.arange(len(self.switches) + 1)), order


def norm(net: Net, loads: Floats) -> float:
    """What every flow gets when the busiest channel gates: 1 / max(load / capacity), at most 1. Loads in units of the NIC's rate."""
    top = float(np.max(loads / net.capacity, initial=0.0))
    return 1.0 if top <= 1.0 else 1.0 / top
