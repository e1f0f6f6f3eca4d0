"""`fabric validate collectives`: collectives and point-to-point tests on the hosts, by stages, until the faulty part has a name.

`--json` prints the findings, version `fabric.validate/1`; with `--dry-run` the plan, version `fabric.collectives-plan/1`: {schema, spec,
engine, launcher, hosts, seconds, stages: [{stage, rounds, groups, seconds}], left_out: [{stage, why}], rounds: [{stage, test, runs:
[{hosts, rails, argv, env, files}]}], batch}.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabric.cli.common import Seconds, keep_inputs, spec_argument
from fabric.cli.conclude import report_options
from fabric.cli.live import state_option
from fabric.errors import FabricError
from fabric.words import counted, duration

if TYPE_CHECKING:
    from fabric.verify.collectives.job import Job
    from fabric.verify.collectives.model import Clue, Measurement
    from fabric.verify.collectives.run import Progress
    from fabric.verify.outcome import Outcome

_ENGINES = ("nccl-tests", "mpi")
_LAUNCHERS = ("slurm", "mpirun", "ansible")
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("collectives")
@spec_argument
@click.option("--engine", type=click.Choice(_ENGINES), help="GPUs, or MPI without GPUs (default: collectives.engine).")
@click.option(
    "--launcher", type=click.Choice(_LAUNCHERS), help="What starts the tests (default: collectives.launcher)."
)
@click.option("--stage", "stages", multiple=True, metavar="STAGE", help="Only this stage; may be repeated.")
@click.option("--test", "tests", multiple=True, metavar="TEST", help="Only this test; may be repeated.")
@click.option("--sizes", metavar="FIRST:LAST[:FACTOR]", help="Sizes, for example 64M:1G:4.")
@click.option("--iterations", type=click.IntRange(1, 100_000), help="Iterations of each size.")
@click.option("--warmup", type=click.IntRange(0, 10_000), help="Iterations before those that count.")
@click.option("--repeats", type=click.IntRange(1, 100), help="Runs of each test; their median counts.")
@click.option(
    "--limit", "limit_s", type=click.IntRange(5, 86_400), metavar="SECONDS", help="Seconds that a run may take."
)
@click.option("--max-parallel", type=click.IntRange(1, 4096), help="Runs at once.")
@click.option(
    "--budget", type=Seconds(0.1, 100_000), metavar="MINUTES", help="Choose stages that fit into so many minutes."
)
@click.option("--device", "devices", multiple=True, metavar="GLOB", help="Only these hosts; may be repeated.")
@click.option("--zone", "zones", multiple=True, type=int, help="Only hosts of this zone; may be repeated.")
@click.option("--python", metavar="PROGRAM", help="Engine mpi: Python with mpi4py on the hosts.")
@click.option("--results", type=_FILE, metavar="FILE", help="Write every result there as it comes, for fabric locate.")
@click.option("--dry-run", is_flag=True, help="Print the plan, its time, the commands and their files; start nothing.")
@state_option
@report_options
@click.pass_context
def collectives(
    context: click.Context,
    /,
    *,
    spec: Path,
    dry_run: bool,
    results: Path | None,
    budget: float | None,
    **options: Any,
) -> None:
    """Run collectives on the hosts of SPEC by stages, and name the part that is at fault: a GPU, NIC, cable, host, switch or uplink.

    Stages, in their order: node (one host, NVLink), pairs (two hosts under one switch), rails (a pair, NIC by NIC), retest (suspects with
    proven partners), paths (flows whose way is known), groups (4, 8, 16, ... hosts), zone, zones, diag (DCGM). Suspects are followed up until
    the smallest explanation is found. Tests: all_gather, all_reduce, reduce_scatter, alltoall, sendrecv; ib_write_bw in rails.

    What could not be run is unknown, and nobody is blamed for it. Exit codes: 2 a fault was found, 0 none, 1 nothing could be measured.
    """
    from fabric.change.clock import SystemClock
    from fabric.cli.conclude import conclude, selection, wanted
    from fabric.verify.collectives.job import make_job

    clock = SystemClock()
    want = wanted(spec, clock.now(), options)
    keep_inputs((want.junit, want.html, results), (spec,))
    job = make_job(spec, _changes(options), options["devices"], options["zones"], os.environ)
    if dry_run:
        _dry_run(job, budget, as_json=want.as_json, full=want.full)
        return
    found = _outcome(job, budget, clock.now, results, selection(options))
    code = conclude(found, want)
    _compare(job, found, options["state"])
    context.exit(code)


def _changes(options: Mapping[str, Any]) -> dict[str, Any]:
    """The command's options as changes to the spec's section."""
    names = ("engine", "launcher", "stages", "tests", "iterations", "warmup", "repeats", "limit_s", "python")
    found: dict[str, Any] = {name: options[name] for name in names}
    found["parallel"] = options["max_parallel"]
    if options["sizes"] is not None:
        first, _, rest = options["sizes"].partition(":")
        last, _, factor = rest.partition(":")
        found["sizes"] = {"smallest": first, "largest": last or first, "factor": int(factor) if factor.isdigit() else 4}
        if (factor and not factor.isdigit()) or options["sizes"].count(":") > 2:
            raise FabricError(
                f"--sizes {options['sizes']!r} is not FIRST:LAST or FIRST:LAST:FACTOR", hint="--sizes 64M:1G:4"
            )
    return found


def _outcome(
    job: Job, minutes: float | None, now: Callable[[], float], results: Path | None, narrowed: tuple[str, ...]
) -> Outcome:
    """Runs it, telling progress, and keeping each result in the file as it comes."""
    from fabric.verify.collectives import run as running
    from fabric.verify.collectives.job import in_short
    from fabric.verify.outcome import Outcome

    plan = job.plan(minutes)
    if not plan.stages:
        why = "; ".join(f"{stage}: {said}" for stage, said in plan.left_out)
        raise FabricError(f"there is nothing to measure: {why}", hint="a larger --budget, other stages or more hosts")
    _say(f"{in_short(job, plan)}; about {duration(plan.seconds)}")
    for stage, why in plan.left_out:
        _say(f"{stage} is left out: {why}")
    until = None if minutes is None else now() + minutes * 60
    with nullcontext() if results is None else _recorder(results, job) as kept:
        asked = running.Run(
            job.places, job.seats, job.tests, job.launcher, job.expected, now, until, job.how.engine == "nccl-tests",
            _Teller(), (lambda _: None) if kept is None else _Keeper(kept.add),
        )  # fmt: skip
        found = running.run(asked, plan)
    return Outcome(
        job.seating.name, ("collectives",), found.findings, narrowed, found.measurements, found.clues, found.parts
    )


def _compare(job: Job, found: Outcome, state: Path | None) -> None:
    """Says how far what was measured is from what the design promises; a design that cannot be predicted costs no finding."""
    from fabric.cli.live import state_folder
    from fabric.cli.predict_measured import after_run

    try:
        for line in after_run(job.seating, found.measurements, state_folder(job.spec, state)):
            _say(line)
    except FabricError as error:
        _say(f"not compared with a prediction: {error.message}")


def _recorder(path: Path, job: Job) -> Any:
    from fabric.verify.collectives.results import Recorder

    return Recorder(path, job.seating.name)


class _Keeper:
    """Keeps results until one cannot be kept, a disk is full say: that is told, and the measuring goes on."""

    def __init__(self, add: Callable[[Measurement | Clue], None]) -> None:
        self._add, self._whole = add, True

    def __call__(self, one: Measurement | Clue) -> None:
        """Keeps one."""
        if self._whole:
            try:
                self._add(one)
            except FabricError as error:
                self._whole = False
                _say(f"WARNING: from here on no results are kept: {error.message}")


class _Teller:
    """Progress on stderr: on a terminal in one line that changes, else a line a round."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._round = 0

    def __call__(self, progress: Progress) -> None:
        """Tells where the run stands."""
        p = progress
        text = f"round {p.round}: {p.stage} {p.test}, {p.done:,} of {counted(p.total, 'group')}"
        left = f"; about {duration(p.left_s)} left" if p.left_s > 0 else ""
        if self._live:
            click.echo(f"\r\033[K{text}{left}{'' if p.done < p.total else chr(10)}", nl=False, err=True)
        elif p.round != self._round:
            _say(f"round {p.round}: {p.stage} {p.test}, {counted(p.total, 'group')}{left}")
        self._round = p.round


def _say(text: str) -> None:
    click.echo(text, err=True)


def _dry_run(job: Job, minutes: float | None, *, as_json: bool, full: bool) -> None:
    """The plan for people or as data."""
    from fabric.verify.collectives import dry_run

    made = job.plan(minutes)
    if as_json:
        click.echo(json.dumps(dry_run.document(job, made), ensure_ascii=False))
    else:
        for line in dry_run.lines(job, made, full=full):
            click.echo(line)
