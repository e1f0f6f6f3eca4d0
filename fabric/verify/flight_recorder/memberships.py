"""Who is in a process group, each list of ranks kept once: the default group of 24,576 ranks is 170 kB of text in every dump."""

from __future__ import annotations

import re
from array import array
from hashlib import blake2b
from typing import Any

from fabric.errors import FabricError

_RANKS = re.compile(r"\[ *(?:\d{1,8} *, *)*(?:\d{1,8})? *\]", re.ASCII)
_RANK = re.compile(r"\d+", re.ASCII)
_LONGEST = 16 << 20  # characters: a million ranks


class Memberships:
    """Keys for lists of ranks, equal in every process. `fresh` gives those that were not given yet."""

    def __init__(self) -> None:
        self._by_text: dict[str, int] = {}
        self._given: set[int] = set()
        self._fresh: dict[int, tuple[int, ...]] = {}

    def key_of(self, ranks: Any) -> int:
        """The key of "[0, 1]" or [0, 1]; 0 for none and for an empty list. FabricError for what is no list of ranks."""
        if ranks is None:
            return 0
        if isinstance(ranks, list) and all(type(rank) is int for rank in ranks):
            ranks = str(ranks)
        if not isinstance(ranks, str) or len(ranks) > _LONGEST:
            raise FabricError("pg_config does not list the ranks of a group")
        key = self._by_text.get(ranks)
        if key is None:
            key = self._by_text[ranks] = self._add(ranks)
        return key

    def _add(self, ranks: str) -> int:
        if not _RANKS.fullmatch(ranks):
            raise FabricError("pg_config does not list the ranks of a group")
        members = tuple(sorted({int(rank) for rank in _RANK.findall(ranks)}))
        if not members:
            return 0
        key = int.from_bytes(blake2b(array("l", members).tobytes(), digest_size=7).digest()) + 1
        if key not in self._given:
            self._given.add(key)
            self._fresh[key] = members
        return key

    def fresh(self) -> dict[int, tuple[int, ...]]:
        """The memberships that were found since the last time."""
        found, self._fresh = self._fresh, {}
        return found
