"""What is measured next: groups of hosts, by stages."""

from __future__ import annotations

from dataclasses import dataclass

from fabric.verify.collectives.model import Stage


@dataclass(frozen=True, slots=True)
class Group:
    """One run of one test. `hosts` in rank order; `rails`: the GPUs and NICs of each host that take part, empty = all.

    Groups of one plan are disjoint in the parts that they load, so they may run at the same time.
    """

    stage: Stage
    test: str
    hosts: tuple[str, ...]
    rails: tuple[int, ...] = ()
