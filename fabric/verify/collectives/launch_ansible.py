"""Ansible: where the control machine has neither Slurm nor a way to run mpirun, the first host of each group runs it.

A group of several hosts needs logins from its first host to the others; groups of one host need none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.design.seats import Seating
from fabric.spec.collectives import Collectives
from fabric.verify.collectives.engines import Around, Task, tasks
from fabric.verify.collectives.launch import repeats
from fabric.verify.collectives.launch_mpi import MpiWay
from fabric.verify.collectives.model import Clue, Measurement
from fabric.verify.collectives.processes import Command, Ended
from fabric.verify.collectives.reading import read
from fabric.verify.collectives.stages import Group, Seats
from fabric.verify.hosts.ansible import Job, ask

PLAYBOOK = "collectives.yml"
_MARGIN_S = 30.0


@dataclass(frozen=True, slots=True)
class AnsibleLauncher:
    """A launcher that needs nothing but logins. `spec` is the inventory."""

    how: Collectives
    seats: Seats
    way: MpiWay
    seating: Seating
    around: Around
    spec: Path

    def tasks(self, groups: Sequence[Group]) -> list[Task]:
        """The programs of one round."""
        return tasks(groups, self.how, self.seats, self.around)

    def command(self, task: Task) -> Command:
        """What the first host runs."""
        if task.kind == "dcgm":
            return Command(task.argv, self.how.limit_s)
        return self.way.command(task, self.how.limit_s)

    def _argvs(self, task: Task) -> list[list[str]]:
        return [list(self.command(task).argv)] * repeats(task, self.how)

    def run(self, groups: Sequence[Group]) -> Iterator[Measurement | Clue]:
        """One round by one play: every host runs what it leads, one after the other; all hosts at once."""
        leading: dict[str, list[Task]] = {}
        for task in self.tasks(groups):
            leading.setdefault(task.hosts[0], []).append(task)
        runs = {host: [argv for task in mine for argv in self._argvs(task)] for host, mine in leading.items()}
        most = max(len(mine) for mine in runs.values())
        texts = {host: json.dumps(mine).encode() for host, mine in runs.items()}
        host_s = self.how.limit_s + _MARGIN_S  # mpirun ends by itself before, and says what it has
        all_s = (host_s + _MARGIN_S) * most * -(-len(runs) // self.how.parallel) + _MARGIN_S
        answers = ask(Job(self.spec, texts, forks=self.how.parallel, host_s=host_s, all_s=all_s, book=PLAYBOOK))
        for host, mine in leading.items():
            yield from _results(mine, answers.get(host), self)


def _results(
    mine: Sequence[Task], answer: Mapping[str, Any] | None, by: AnsibleLauncher
) -> Iterator[Measurement | Clue]:
    """What each task of a host came to, by the loop's results, which stand in the order of the runs."""
    given = answer.get("results") if answer is not None else None
    said = given if isinstance(given, list) else []
    why = "Ansible had no answer" if answer is None else str(answer.get("msg", "its answer is not understood"))
    place = 0
    for task in mine:
        count = repeats(task, by.how)
        ended = [_ended(one) for one in said[place : place + count]]
        place += count
        yield from read(task, ended or [Ended(1, "", why)], by.seating)


def _ended(answer: object) -> Ended:
    if not isinstance(answer, dict):
        return Ended(1, "", "its answer is not understood")
    out, err, code = (answer.get(key) for key in ("stdout", "stderr", "rc"))
    if not isinstance(code, int) or not isinstance(out, str):
        told = str(answer.get("msg", "it gave no result"))[:400]
        return Ended(None, "", told, cut=told if "second" in told or "time" in told else "")
    return Ended(code, out, err if isinstance(err, str) else "")
