"""Which host and GPU each rank of a job has, as its logs say: NCCL's communicator lines, nccl-tests' device list."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fabric.verify.collectives.launcher_lines import untag

MAX_LINE = 2048
MAX_RANKS = 1 << 20
MAX_COMMUNICATORS = 4096
"""Communicators that are followed; the job's own is the largest, and the first to be made."""

_COMM = re.compile(
    r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]{0,252}):\d{1,9}:\d{1,9} \[-?\d{1,4}\] .*?NCCL INFO .*?comm 0?x?[0-9a-fA-F()nil]+ "
    r"rank (?P<rank>\d{1,7}) n[Rr]anks (?P<nranks>\d{1,7}) cudaDev (?P<cuda>\d{1,4})(?: nvmlDev (?P<nvml>\d{1,4}))?"
    r" busId [0-9a-fA-F]+(?: commId (?P<id>0x[0-9a-fA-F]+))?"
)
_DEVICE = re.compile(r"#\s+Rank\s+(\d{1,7})\s.*?\bon\s+(\S{1,255})\s+device\s+(\d{1,4})\s+\[")


def ranks_in_log(lines: Iterable[str]) -> dict[int, tuple[str, int]]:
    """`rank -> (host, GPU index)` of the job in these lines; empty when they do not say it.

    Of several communicators the largest is taken (of equal ones the first that is nearly whole): ranks of smaller ones are their own.
    The GPU is NVML's index, which CUDA_VISIBLE_DEVICES does not change, where the line has it. A rank that two lines place differently
    is left out.
    """
    found: dict[tuple[int, str], dict[int, tuple[str, int]]] = {}
    torn: set[tuple[int, str, int]] = set()
    for line in lines:
        if "cudaDev" not in line and "Rank" not in line:
            continue
        text = untag(line[:MAX_LINE])[1]
        if match := _COMM.search(text):
            key = (int(match["nranks"]), match["id"] or "")
            rank, place = int(match["rank"]), (match["host"], int(match["nvml"] or match["cuda"]))
        elif match := _DEVICE.match(text):
            key, rank, place = (0, ""), int(match[1]), (match[2], int(match[3]))
        else:
            continue
        if key in found or len(found) < MAX_COMMUNICATORS:
            ranks = found.setdefault(key, {})
            if ranks.setdefault(rank, place) != place:
                torn.add((*key, rank))
            if len(ranks) > MAX_RANKS:
                ranks.pop(rank)
    if not found:
        return {}
    best = max(found, key=lambda key: (key[0] or len(found[key]), len(found[key])))
    return {rank: place for rank, place in sorted(found[best].items()) if (*best, rank) not in torn}
