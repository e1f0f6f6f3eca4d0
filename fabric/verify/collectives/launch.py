"""Launchers: groups in, results out, as they come. The seam between the plan and what runs it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from fabric.design.seats import Seating
from fabric.spec.collectives import Collectives
from fabric.targets.host.scratch import scratch
from fabric.verify.collectives.engines import Around, Task, tasks
from fabric.verify.collectives.model import Clue, Measurement
from fabric.verify.collectives.processes import Command, Ended, Pool
from fabric.verify.collectives.reading import read
from fabric.verify.collectives.stages import Group, Seats


class Launcher(Protocol):
    """Runs the groups of one round at the same time, as far as it can, and tells each result as it comes.

    Every group gets a measurement, `unmade` where it could not be run; clues are what the programs said beside it.
    Ends what it has started when its iterator is closed. FabricError when nothing can be started at all.
    """

    def run(self, groups: Sequence[Group]) -> Iterator[Measurement | Clue]:
        """One round."""


class Way(Protocol):
    """How a launcher makes one command of one task."""

    @property
    def name(self) -> str:
        """As --launcher has it."""

    def command(self, task: Task, limit_s: float) -> Command:
        """The command; nothing is started."""


@dataclass(frozen=True, slots=True)
class CommandLauncher:
    """A launcher whose every run is a command on this machine: mpirun, srun."""

    how: Collectives
    seats: Seats
    way: Way
    seating: Seating
    around: Around

    def tasks(self, groups: Sequence[Group]) -> list[Task]:
        """The programs of one round."""
        return tasks(groups, self.how, self.seats, self.around)

    def command(self, task: Task) -> Command:
        """The command of one run."""
        return self.way.command(task, self.how.limit_s)

    def run(self, groups: Sequence[Group]) -> Iterator[Measurement | Clue]:
        """See Launcher."""
        waiting = deque((task, self.command(task)) for task in self.tasks(groups))
        done: dict[int, list[Ended]] = {}
        again: set[int] = set()
        with scratch("collectives") as held, Pool[tuple[int, Task, Command]](held) as pool:
            while waiting or len(pool):
                while waiting and len(pool) < self.how.parallel:
                    task, command = waiting.popleft()
                    pool.start((len(done), task, command), command)
                    done[len(done)] = []
                for key, ended in pool.ended():
                    number, task, command = key
                    if number not in again and torn(ended):
                        again.add(number)
                        pool.start(key, command)
                        continue
                    done[number].append(ended)
                    if ended.code == 0 and len(done[number]) < repeats(task, self.how):
                        pool.start(key, command)
                    else:
                        yield from read(task, done[number], self.seating)


def torn(ended: Ended) -> bool:
    """Whether Open MPI did not begin since another of its runs on one of the hosts removed the common session folder just then.

    It removes the folder of host and user when it is empty; who makes one of his own in it at that moment fails (words of 4.1's help texts).
    """
    return bool(ended.code) and any(words in text for words in _TORN for text in (ended.err, ended.out))


_TORN = ("A call to mkdir was unable to create the desired directory", "in file util/session_dir.c")


def repeats(task: Task, how: Collectives) -> int:
    """How often a program is started: those of ours repeat by themselves, as starting them is what costs most."""
    if task.kind in ("dcgm", "path") or (task.kind == "rows" and how.engine == "mpi"):
        return 1
    return how.repeats
