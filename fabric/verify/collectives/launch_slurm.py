"""Slurm: a task as one `srun`; and a whole plan as a batch script, to be looked at or handed in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fabric.spec.collectives import SlurmRuns
from fabric.targets.host.hostlist import hostlist
from fabric.verify.collectives.engines import Task
from fabric.verify.collectives.processes import FOLDER, Command, shell_line


@dataclass(frozen=True, slots=True)
class SlurmWay:
    """How srun is called. `job` is the name of all jobs of this run, by which they are cancelled."""

    own: SlurmRuns
    job: str = "fabric-collectives"

    @property
    def name(self) -> str:
        """As --launcher has it."""
        return "slurm"

    def command(self, task: Task, limit_s: float) -> Command:
        """The command; nothing is started. Hosts that are busy for too long end it, and the test was not made."""
        job = f"{self.job}-{task.groups[0].stage}"
        argv = ["srun", f"--job-name={job}", *self.where(), f"--immediate={self.own.wait_s}"]
        argv += [*self._shape(task), "--exclusive", f"--time={_minutes(limit_s)}"]
        argv += ["--cpu-bind=none", f"--mpi={self.own.mpi if task.mpi else 'none'}", "--label", "--kill-on-bad-exit=1"]
        env = {**{f"OMPI_MCA_{name}": value for name, value in task.mca}, **dict(task.env)}
        files = {}
        if task.ordered:
            files["hosts"] = "".join(f"{host}\n" * task.ranks for host in task.hosts)
            env["SLURM_HOSTFILE"] = f"{FOLDER}/hosts"
        stop = ("scancel", f"--name={job}", f"--nodelist={hostlist(task.hosts)}")
        return Command((*argv, *task.argv), limit_s + self.own.wait_s, env, files, stop)

    def where(self) -> Iterator[str]:
        """Partition, account and the like, as options."""
        for name in ("partition", "account", "qos", "reservation"):
            value = getattr(self.own, name)
            if value is not None:
                yield f"--{name}={value}"

    def _shape(self, task: Task) -> Iterator[str]:
        yield f"--nodes={len(task.hosts)}"
        if task.ordered:
            yield from (f"--ntasks={task.ranks * len(task.hosts)}", "--distribution=arbitrary")
        else:
            yield from (f"--ntasks-per-node={task.ranks}", f"--nodelist={hostlist(task.hosts)}")
        if task.gpus == "rank":
            yield "--gpus-per-task=1"
        elif task.gpus == "node":
            yield from (f"--gpus-per-node={task.cards}", "--gpu-bind=none")


def batch(way: SlurmWay, rounds: Iterable[Sequence[Task]], hosts: Sequence[str], limit_s: float, minutes: float) -> str:
    """A script for `sbatch`: one allocation, the rounds one after the other, the runs of a round side by side as its steps."""
    lines = ["#!/bin/sh", f"#SBATCH --job-name={way.job}", f"#SBATCH --nodes={len(hosts)}"]
    lines += [f"#SBATCH --nodelist={hostlist(hosts)}", "#SBATCH --exclusive"]
    lines += [f"#SBATCH --time={max(1, math.ceil(minutes))}", *(f"#SBATCH {option}" for option in way.where())]
    for number, tasks in enumerate(rounds, 1):
        lines.append(f"# round {number}: {tasks[0].groups[0].stage} {tasks[0].groups[0].test}")
        for place, task in enumerate(tasks):
            lines += _step(way, task, limit_s, f"round{number:03d}-{place:04d}")
        lines.append("wait")
    return "\n".join(lines) + "\n"


def _step(way: SlurmWay, task: Task, limit_s: float, name: str) -> Iterator[str]:
    """As a step of a job that has its hosts already: nothing to wait for, nobody to be asked."""
    command = way.command(task, limit_s)
    dropped = ("--job-name=", "--immediate=", "--partition=", "--account=", "--qos=", "--reservation=")
    words = [word for word in command.argv if not word.startswith(dropped)]
    env = dict(command.env)
    if command.files:
        listed = " ".join(command.files["hosts"].split())
        yield f"printf '%s\\n' {listed} >{name}.hosts"
        env["SLURM_HOSTFILE"] = f"{name}.hosts"
    line = shell_line(words, env)
    yield f"{line} >{name}.txt 2>&1 &"


def _minutes(seconds: float) -> int:
    return max(1, math.ceil(seconds / 60))
