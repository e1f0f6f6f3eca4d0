"""Which rank runs where, by Slurm's layout: the list of nodes and how many tasks each has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from fabric.errors import FabricError
from fabric.targets.host.hostlist import MOST, expand

_COUNT = re.compile(r"(\d{1,6})(?:\(x(\d{1,6})\))?")
VARIABLE = re.compile(r"\b(SLURM_[A-Z_]+|NodeList|NumNodes|NumTasks|NtasksPerN:B:S:C)=(\S*)")
"""What `env | grep SLURM` and `scontrol show job` print."""


def layout(said: Mapping[str, str]) -> list[str]:
    """The node of each rank, by rank, from variables of the job or from `scontrol show job`; FabricError when that is not enough."""
    listed = said.get("SLURM_JOB_NODELIST") or said.get("SLURM_NODELIST") or said.get("NodeList")
    if not listed:
        raise FabricError(
            "Slurm's layout has no SLURM_JOB_NODELIST", hint="env | grep SLURM, or scontrol show job, in the job"
        )
    nodes = expand(listed)
    tasks = _tasks(said, len(nodes))
    kind = said.get("SLURM_DISTRIBUTION", "block").partition(":")[0].partition(",")[0]
    if kind == "block":
        return [node for node, count in zip(nodes, tasks, strict=True) for _ in range(count)]
    if kind == "cyclic":
        return list(_cyclic(nodes, tasks))
    raise FabricError(
        f"SLURM_DISTRIBUTION={kind[:40]} does not tell which rank runs where", hint="give a rank file: rank host gpu"
    )


def _cyclic(nodes: Sequence[str], tasks: Sequence[int]) -> Iterator[str]:
    for turn in range(max(tasks, default=0)):
        yield from (node for node, count in zip(nodes, tasks, strict=True) if turn < count)


def _tasks(said: Mapping[str, str], nodes: int) -> list[int]:
    """Tasks of each node."""
    if per_node := said.get("SLURM_TASKS_PER_NODE"):
        counts = _counts(per_node)
        if len(counts) != nodes:
            raise FabricError(f"SLURM_TASKS_PER_NODE is for {len(counts):,} nodes, the list has {nodes:,}")
        return counts
    each = said.get("SLURM_NTASKS_PER_NODE") or said.get("NtasksPerN:B:S:C", "").partition(":")[0]
    if not each.isdecimal() or int(each) == 0:
        total = said.get("SLURM_NTASKS") or said.get("NumTasks", "")
        if not total.isdecimal() or int(total) % nodes:
            raise FabricError(
                "Slurm's layout does not say how many tasks a node has", hint="SLURM_TASKS_PER_NODE=8(x4)"
            )
        each = str(int(total) // nodes)
    return [_bounded(int(each))] * nodes


def _counts(text: str) -> list[int]:
    counts: list[int] = []
    for part in text.split(","):
        match = _COUNT.fullmatch(part.strip())
        if match is None:
            raise FabricError(f"SLURM_TASKS_PER_NODE={text[:40]} is not of the form 8(x4)")
        counts += [int(match[1])] * _bounded(int(match[2] or 1))
        _bounded(len(counts))
    return counts


def _bounded(number: int) -> int:
    if number > MOST:
        raise FabricError(f"Slurm's layout has more than {MOST:,} nodes or tasks")
    return number
