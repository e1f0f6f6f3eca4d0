"""A plan as it would be run: its stages and times, every command with its files, and for Slurm the batch script of all."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterator, Sequence
from typing import Any

from fabric.verify.collectives.budget import Plan
from fabric.verify.collectives.budget import lines as plan_lines
from fabric.verify.collectives.engines import Task
from fabric.verify.collectives.job import Job, in_short, launcher_name
from fabric.verify.collectives.launch_slurm import SlurmWay, batch
from fabric.verify.collectives.processes import FOLDER, Command, shell_line
from fabric.words import counted

SCHEMA = "fabric.collectives-plan/1"
SHOWN = 2
"""Commands of a round that are shown in short."""
_LINES = 4
"""Lines of a file that are shown in short."""


def lines(job: Job, made: Plan, *, full: bool) -> Iterator[str]:
    """For people; in short, or `full` with every command and every line of their files."""
    yield in_short(job, made)
    yield from plan_lines(made)
    for number, (stage, test, runs) in enumerate(_rounds(job, made), 1):
        yield ""
        yield f"# round {number}: {stage} {test}, {counted(len(runs), 'run')}"
        shown = runs if full else runs[:SHOWN]
        for task, command in shown:
            yield f"# {task.what}"
            yield shell_line(
                _here(command.argv), {name: value.replace(FOLDER, ".") for name, value in command.env.items()}
            )
            for name, text in command.files.items():
                yield f"# ./{name}:"
                rows = text.splitlines()
                kept = rows if full else rows[:_LINES]
                yield from (f"#   {row}" for row in kept)
                if len(kept) < len(rows):
                    yield f"#   ... and {len(rows) - len(kept):,} more lines (--full)"
        if len(shown) < len(runs):
            yield f"# ... and {len(runs) - len(shown):,} more (--full)"
    if job.how.engine == "mpi":
        yield ""
        yield f"# mpi_rows.py: {importlib.resources.files('fabric.verify.collectives.node') / 'mpi_rows.py'}"
    if (script := _batch(job, made)) and full:
        yield ""
        yield "# as one job: sbatch collectives.sbatch"
        yield from script.splitlines()


def document(job: Job, made: Plan) -> dict[str, Any]:
    """As data, version `fabric.collectives-plan/1`; FOLDER stands for the folder of a command's files."""
    return {
        "schema": SCHEMA,
        "spec": str(job.spec),
        "engine": job.how.engine,
        "launcher": launcher_name(job.launcher),
        "hosts": list(job.seats),
        "seconds": round(made.seconds),
        "stages": [
            {"stage": one.stage, "rounds": len(one.rounds), "groups": sum(map(len, one.rounds)), "seconds": round(one.seconds)}
            for one in made.stages
        ],
        "left_out": [{"stage": stage, "why": why} for stage, why in made.left_out],
        "rounds": [
            {"stage": stage, "test": test, "runs": [_run(task, command) for task, command in runs]}
            for stage, test, runs in _rounds(job, made)
        ],
        "batch": _batch(job, made),
    }  # fmt: skip


def _run(task: Task, command: Command) -> dict[str, Any]:
    return {
        "hosts": list(task.hosts),
        "rails": list(task.rails),
        "argv": list(command.argv),
        "env": dict(command.env),
        "files": dict(command.files),
    }


def _rounds(job: Job, made: Plan) -> Iterator[tuple[str, str, Sequence[tuple[Task, Command]]]]:
    for one in made.stages:
        for groups in one.rounds:
            yield one.stage, groups[0].test, list(job.commands(groups))


def _here(argv: Sequence[str]) -> list[str]:
    return [word.replace(FOLDER, ".") for word in argv]


def _batch(job: Job, made: Plan) -> str:
    """The batch script of all fixed rounds; "" with other launchers than Slurm."""
    way = getattr(job.launcher, "way", None)
    if not isinstance(way, SlurmWay):
        return ""
    rounds = [[task for task, _ in runs] for _, _, runs in _rounds(job, made)]
    return batch(way, rounds, list(job.seats), job.how.limit_s, made.seconds / 60)
