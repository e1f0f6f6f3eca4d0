"""Which rank runs where, by what torchrun logs on each node: the end of its rendezvous, and the summary of failures.

    restart_count=0 / group_rank=1 / local_ranks=[0, 1] / global_ranks=[8, 9]     (at the start, one block for each node's agent)
    host : gt0002 / rank : 9 (local_rank: 1)                                      (in the summary, for each process that failed)

The form is that of torch.distributed.elastic; the block names no host, so it counts when the same file names it, or is named after it.
"""

from __future__ import annotations

import re

_HOST = re.compile(r"\bhost\s*:\s*([A-Za-z0-9._-]{1,253})\s*$")
_RANK = re.compile(r"\brank\s*:\s*(\d{1,7}) \(local_rank:\s*(\d{1,3})\)")
_LIST = re.compile(r"\b(local_ranks|global_ranks)=\[([\d, ]{0,4000})\]")


class TorchrunLog:
    """Collects what one file says, line by line."""

    def __init__(self) -> None:
        self.seats: dict[int, tuple[str, int]] = {}
        self._host = ""
        self._lists: dict[str, list[int]] = {}
        self.block: dict[int, int] = {}

    def line(self, text: str) -> bool:
        """Takes one line; whether it said something."""
        if host := _HOST.search(text):
            self._host = host[1]
        elif rank := _RANK.search(text):
            if self._host:
                self.seats[int(rank[1])] = (self._host, int(rank[2]))
        elif found := _LIST.search(text):
            self._lists[found[1]] = [int(number) for number in found[2].split(",") if number.strip()]
            local, every = self._lists.get("local_ranks"), self._lists.get("global_ranks")
            if local is not None and every is not None and len(local) == len(every):
                self.block = dict(zip(every, local, strict=True))  # a restart prints it anew: the last one holds
        else:
            return False
        return True

    def result(self, named: str) -> dict[int, tuple[str, int]]:
        """Rank -> (host, local rank). `named`: the host that the file is named after, or empty."""
        home = next((host for rank, (host, _) in self.seats.items() if rank in self.block), named)
        block = {rank: (home, local) for rank, local in self.block.items()} if home else {}
        return {**block, **self.seats}
