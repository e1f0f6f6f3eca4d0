"""`fabric runs`: what was applied, and after a kill or a stop: go on, or go back.

`runs list --json`, version `fabric.runs/1`: {schema, runs: [{run, at, last, verb, kind, status, devices, counts}]}; `kind`: devices, hosts.
`runs show --json`, version `fabric.run/1`: {schema, run, at, verb, kind, status, spec, counts, stopped, problems, devices: {name: {result,
step, detail, token, deferred: [{device, name, port, far, far_port}], leftover}}}.  `leftover`: a staged change, never in force, lies on
it or may do so; the next command that reaches it removes it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from fabric.change.control import Options
from fabric.change.deferred import Deferred, words
from fabric.change.names import compress_names
from fabric.change.runs import RunRecord, list_runs, load_run
from fabric.change.waves import WAVE_SIZE
from fabric.cli.common import json_option, print_json, print_table, spec_option
from fabric.cli.confirm import ask
from fabric.cli.host_options import resume_options
from fabric.cli.hosts import resume_hosts
from fabric.cli.live import (
    approve_option,
    events_option,
    gate_option,
    max_failed_option,
    open_live,
    parallel_option,
    state_folder,
    state_option,
    timeout_option,
)
from fabric.cli.running import carry_out, operator
from fabric.errors import FabricError, FabricErrors


@click.group("runs")
def runs() -> None:
    """The journal of what was applied: list, show, resume, roll back. RUN is a run's id, or `last`."""


@runs.command("list")
@spec_option
@state_option
@json_option
def list_(*, spec: Path, state: Path | None, as_json: bool) -> None:
    """All runs on the cluster, the oldest first. Exit code 1 when a journal is damaged; the other runs are listed."""
    damaged: list[FabricError] = []
    found = list(list_runs(state_folder(spec, state), damaged.append))
    if as_json:
        print_json("fabric.runs/1", {"runs": [_row(run) for run in found]})
    else:
        rows = [
            (run.id, f"{run.verb} hosts" if run.of_hosts else run.verb, run.status, len(run.devices), _counts(run))
            for run in found
        ]
        print_table(("run", "last", "status", "devices", "result"), rows)
    if damaged:
        raise FabricErrors(damaged)


@runs.command("show")
@click.argument("run")
@spec_option
@state_option
@json_option
def show(*, run: str, spec: Path, state: Path | None, as_json: bool) -> None:
    """How each device of a run ended."""
    record = load_run(state_folder(spec, state), run)
    if as_json:
        print_json("fabric.run/1", _document(record))
        return
    click.echo(f"run {record.id} of {record.started.spec}: {record.status} ({_counts(record)})")
    if record.ended is not None and record.ended.stopped:
        click.echo(f"stopped: {record.ended.stopped}")
    for problem in record.problems:
        click.echo(f"unhealthy: {problem}")
    groups: dict[tuple[str, str], list[str]] = {}
    for device in record.devices.values():
        result = device.result or (f"open after {device.step}" if device.step else "not-started")
        groups.setdefault((result, device.detail), []).append(device.name)
    for (result, detail), names in groups.items():
        click.echo(f"  {result}: {compress_names(names)}{f': {detail}' if detail else ''}")
    littered = [device.name for device in record.devices.values() if device.littered]
    if littered:
        click.echo(
            f"  staged and not in force, may hold secrets, until it is reached again: {compress_names(littered)}"
        )
    for device in record.devices.values():
        if device.deferred:
            click.echo(f"  {device.name}: {words([Deferred.of(item) for item in device.deferred])}")


_AGAIN: tuple[Callable[[Any], Any], ...] = (
    click.argument("run"),
    spec_option,
    state_option,
    parallel_option,
    timeout_option,
    gate_option,
    max_failed_option,
    approve_option,
    events_option,
)


def _again(command: Any) -> Any:
    """The options of `resume` and `rollback`."""
    for option in reversed(_AGAIN):
        command = option(command)
    return command


def _resume(command: Any) -> Any:
    """The options of `resume` alone."""
    for option in reversed(resume_options):
        command = option(command)
    return command


@runs.command("resume")
@_again
@_resume
@click.pass_context
def resume(context: click.Context, /, *, run: str, **options: Any) -> None:
    """Find out how the devices of RUN stand, finish or return what is in force, and go on with the rest of its plan.

    By the spec that the run was made of, also when SPEC has been edited since.
    """
    record = load_run(state_folder(options["spec"], options["state"]), run)
    if record.of_hosts:
        context.exit(resume_hosts(record, options))
    if options["allow_reboot"] or options["executor"]:
        raise click.UsageError("--allow-reboot and --executor are for runs on hosts")
    context.exit(_carry_on(run, "resume", options))


@runs.command("rollback")
@_again
@click.pass_context
def rollback(context: click.Context, /, *, run: str, **options: Any) -> None:
    """Return every device of RUN to the state that it had before.

    EOS by the checkpoint that it has kept itself; FBOSS by its old files, which the run's folder holds (never with a secret in them).
    What has been changed since the run is left alone and told. By the waves of RUN, the last first: after each, what was up must still
    be up, and in the end what was up before RUN. A wave that makes it worse, or --max-failed devices that cannot go back, stop the rest;
    then ask for it again. GPU hosts keep no old state: they go back by applying an earlier spec, and asking here says which.
    """
    context.exit(_carry_on(run, "rollback", options))


def _carry_on(run: str, verb: str, options: dict[str, Any]) -> int:
    state = state_folder(options["spec"], options["state"])
    record = load_run(state, run)
    if record.of_hosts:
        from fabric.change.hosts.operate import earlier_runs, way_back

        raise way_back(record, earlier_runs(state))
    live = open_live(**options)
    kept = record.spec_text() if live.job.spec_sha256 != record.started.spec_sha256 else None
    if kept is not None and verb == "resume":
        live = open_live(text=kept, **options)
        note = f"{options['spec']} is another one now: the run is finished by the spec that it was made of"
        click.echo(note, err=True)
    run_options = Options(
        record.started.timer_s, options["gate_timeout"], options["max_parallel"], options["max_failed"]
    )
    one = operator(live, run_options, WAVE_SIZE, None, as_json=options["as_json"])
    text = f"{verb.capitalize()} run {record.id} ({record.status}: {_counts(record)})?"
    if not (options["auto_approve"] or ask(text)):
        return 1
    if verb == "resume":
        return carry_out(one, lambda: one.resume(record.id), as_json=options["as_json"])
    return carry_out(one, lambda: one.rollback(record.id), as_json=options["as_json"])


def _counts(run: RunRecord) -> str:
    return ", ".join(f"{number:,} {result}" for result, number in sorted(run.counts.items()))


def _row(run: RunRecord) -> dict[str, Any]:
    return {
        "run": run.id,
        "at": run.at,
        "last": run.last,
        "verb": run.verb,
        "kind": run.started.kind,
        "status": run.status,
        "devices": len(run.devices),
        "counts": run.counts,
    }


def _document(run: RunRecord) -> dict[str, Any]:
    return {
        **_row(run),
        "spec": run.started.spec,
        "stopped": run.ended.stopped if run.ended else "",
        "problems": run.problems,
        "devices": {
            d.name: {
                "result": d.result or "open",
                "step": d.step,
                "detail": d.detail,
                "token": d.token,
                "deferred": list(d.deferred),
                "leftover": d.littered,
            }
            for d in run.devices.values()
        },
    }
