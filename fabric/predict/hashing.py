"""The hash by which a switch picks one of its equal-cost channels, as far as it is known: uniform, by flow, seed and tier.

The real function of an ASIC (CRC and how it is folded) is not published; so results are spreads over seeds, never one number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from fabric.predict.model import Hash
from fabric.predict.net import Ints

Words = npt.NDArray[np.uint32]
Reduction = Literal["mod", "shift"]

# Constants of the finaliser of MurmurHash3 (A. Appleby, public domain) and of Weyl's sequence: only their mixing matters here.
_MIX_1: Final = np.uint32(0x85EBCA6B)
_MIX_2: Final = np.uint32(0xC2B2AE35)
_WEYL: Final = 0x9E3779B9
_WORD: Final = 0xFFFFFFFF
_UNIT: Final = np.float32(2.0**-20)


@dataclass(frozen=True, slots=True)
class HashPolicy:
    """How flows choose. `subflows`: flows with a hash of their own between two NICs (1 with plain `ecmp`). `seed_per_tier`: False = every
    tier repeats the hash of the one below; `groups`: tiers with an equal number (by level) do, others do not. `reduction`: hash to
    member by remainder, or by its high bits.
    """

    kind: Hash = "e-ecmp"
    subflows: int = 1
    seed_per_tier: bool = True
    reduction: Reduction = "mod"
    groups: tuple[int, ...] = ()

    @property
    def apart(self) -> bool:
        """Whether no tier repeats the hash of another one."""
        return self.seed_per_tier and not self.groups

    @property
    def paths(self) -> int:
        """Paths that one pair of NICs uses at most."""
        return 1 if self.kind in ("ecmp", "pinned") else self.subflows

    @property
    def splits(self) -> bool:
        """Whether switches split what they get instead of choosing."""
        return self.kind in ("spray", "dlb")


def mix(word: Words) -> Words:
    """Scrambles 32-bit words; one to one: the finaliser of MurmurHash3."""
    word = word ^ (word >> np.uint32(16))
    word *= _MIX_1
    word ^= word >> np.uint32(13)
    word *= _MIX_2
    word ^= word >> np.uint32(16)
    return word


def flow_keys(src: Ints, dst: Ints, seed: int) -> Words:
    """What stands for the addresses of each flow, for one seed."""
    salt = np.uint32((seed * _WEYL + 0x7F4A7C15) & _WORD)
    return mix(mix(src.astype(np.uint32) * np.uint32(_WEYL) + salt) ^ dst.astype(np.uint32))


def subflow_keys(keys: Words, first: int, count: int) -> Words:
    """What stands for the addresses and the queue pair: the keys of subflow `first` of all flows, then those of the next, `count` of them."""
    step = (np.arange(first, first + count, dtype=np.uint64) * np.uint64(_WEYL)).astype(np.uint32)
    return (keys[None, :] + step[:, None]).ravel()


def tier_salt(level: int, seed: int, policy: HashPolicy) -> int:
    """The seed of a tier: the same for all of them without `seed_per_tier`, and for those of one of `groups`."""
    own = policy.groups[level] if level < len(policy.groups) else level + 1
    tier = own if policy.seed_per_tier else 0
    return (tier * 0x6C8E9CF5 + seed * 0x2545F491 + 0x5BD1E995) & _WORD


def pick(hashed: Words, size: Ints | int, policy: HashPolicy) -> Ints:
    """A member of each set (0 to size - 1; sets below 65,536) by the upper 20 bits of its hash: far more than there are members.

    In float32, which holds 24 bits, both are exact to the member. The remainder only differs from the high bits where tiers repeat
    each other's hash, so elsewhere the cheaper high bits stand for both.
    """
    top = (hashed >> np.uint32(12)).astype(np.float32)
    wide = np.float32(size) if isinstance(size, int) else size.astype(np.float32)
    if policy.reduction == "shift" or policy.apart:
        top *= wide * _UNIT
        return top.astype(np.int64)
    top += np.float32(0.5)
    turns = (top / wide).astype(np.int32)
    return ((hashed >> np.uint32(12)).astype(np.int32) - turns * np.asarray(size, dtype=np.int32)).astype(np.int64)
