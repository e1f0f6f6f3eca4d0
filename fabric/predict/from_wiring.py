"""What networks from explicit cables have in common: NICs of hosts, channels with a tier by the levels at their ends, their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fabric.predict.net import Floats, Groups, Ints, Net, Tables


@dataclass(frozen=True, slots=True)
class Cabling:
    """Switches and what is plugged into them. Trunks are directed channels; names are `switch:port`.

    `nic_leaf[n]` is the leaf of NIC n, -1 without a cable; `nic_ends(n)` is (the NIC's end, the switch's end), `ends(t)` those
    of trunk t from its source on.
    """

    switches: Sequence[str]
    level: Ints
    level_names: Sequence[str]
    hosts: Sequence[str]
    rails: int
    nic_leaf: Ints
    nic_ends: Callable[[int], tuple[str, str]]
    source: Ints
    target: Ints
    capacity: Floats
    ends: Callable[[int], tuple[str, str]]

    @property
    def first(self) -> int:
        """Number of the first channel between switches."""
        return 2 * self.nic_leaf.size


def net_of(cabling: Cabling, groups: Groups, tables: Tables) -> Net:
    """The network of a cabling and its tables. Channels: NICs up, NICs down, then the trunks as given."""
    nic = np.arange(cabling.nic_leaf.size)
    there = cabling.nic_leaf
    tiers, between = _tiers(cabling)
    return Net(
        switches=tuple(cabling.switches), level=cabling.level.astype(np.int8), hosts=tuple(cabling.hosts), rails=cabling.rails,
        leaf_of=there, up_of=nic, down_of=nic.size + nic,
        source=np.concatenate([-1 - nic, there, cabling.source]), target=np.concatenate([there, -1 - nic, cabling.target]),
        capacity=np.concatenate([np.ones(2 * nic.size), cabling.capacity]),
        tier=np.concatenate([np.zeros(nic.size), np.ones(nic.size), 2 + between]).astype(np.int8),
        tiers=("host up", f"{cabling.level_names[0]} down", *tiers), groups=groups, tables=tables,
        label=lambda channel: _label(cabling, channel),
    )  # fmt: skip


def _tiers(cabling: Cabling) -> tuple[tuple[str, ...], Ints]:
    """Names of the tiers of trunks, and which each trunk is of."""
    low, high = cabling.level[cabling.source], cabling.level[cabling.target]
    way = np.sign(high - low)
    codes, index = np.unique(low * 3 + way + 1, return_inverse=True)
    words = ("down", "across", "up")
    return tuple(f"{_level(cabling, code // 3)} {words[code % 3]}" for code in codes.tolist()), index


def _level(cabling: Cabling, level: int) -> str:
    return cabling.level_names[level] if 0 <= level < len(cabling.level_names) else f"level {level}"


def _label(cabling: Cabling, channel: int) -> str:
    nics = cabling.nic_leaf.size
    if channel >= cabling.first:
        return " -> ".join(cabling.ends(channel - cabling.first))
    ends = cabling.nic_ends(channel % nics)
    return " -> ".join(ends if channel < nics else ends[::-1])
