"""`fabric plan`: what would change, device by device, equal changes grouped. `--json` and `-o`: see `fabric.change.planfile`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fabric.change.plan import Plan, make_plan
from fabric.change.planfile import plan_document, save_plan
from fabric.change.show import show_plan
from fabric.change.source import TreeSource
from fabric.cli.common import keep_inputs
from fabric.cli.host_options import plan_options, require_fitting
from fabric.cli.hosts import plan_hosts
from fabric.cli.live import live_options, open_live
from fabric.cli.rendering import open_job, progress, selection, target_set

_COLOURS = {"+": "green", "-": "red", "~": "yellow"}


@click.command("plan")
@selection
@live_options
@click.option("--strict", is_flag=True, help="A live device that cannot be read is an error.")
@click.option(
    "--against", type=click.Path(path_type=Path), metavar="DIR",
    help="Not the live devices, but what DIR holds: a tree of fabric render, or configurations (DIR/<device>/<path> or DIR/<device>.cfg).",
)  # fmt: skip
@plan_options
@click.option("--full", is_flag=True, help="Show every line of every device; cut no long value.")
@click.option("--summary", is_flag=True, help="Show only which devices and files, and how many lines.")
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="PLANFILE", help="Also write the plan to a file.")
@click.pass_context
def plan(
    context: click.Context,
    /,
    *,
    spec: Path,
    against: Path | None,
    full: bool,
    summary: bool,
    out: Path | None,
    **options: Any,
) -> None:
    """Show what would change on each device so that it holds what SPEC declares. Reads the live devices, and changes nothing.

    With --hosts: the GPU hosts, by Ansible in check mode.

    Exit code: 0 nothing to do, 2 there are changes, 1 it could not be found out.
    """
    if full and summary:
        raise click.UsageError("--full and --summary exclude each other")
    keep_inputs((out,), (spec,))
    if options["hosts"]:
        plan_hosts(context, spec, out, {**options, "full": full, "summary": summary})
        return
    require_fitting(context, hosts=False)
    if against is None:
        strict, workers = options["strict"], options["workers"]
        made = open_live(spec, **options).plan(strict=strict, full=full, workers=workers)
    else:
        made = _offline(spec, against, options, full=full)
    if out is not None:
        save_plan(made, out)
    if options["as_json"]:
        click.echo(json.dumps(plan_document(made), ensure_ascii=False))
    else:
        for line in show_plan(made, "full" if full else "summary" if summary else "groups"):
            click.secho(line, fg=_COLOURS.get(line[4:5]) if line.startswith("    ") else None)
    context.exit(made.exit_code)


def _offline(spec: Path, against: Path, options: Mapping[str, Any], *, full: bool) -> Plan:
    """The plan against a folder."""
    if options["roles"] or options["zones"]:
        raise click.UsageError("--role and --zone are for live devices; with --against use --device")
    source = TreeSource(against)
    chosen = target_set(options["targets"])
    job, only = open_job(spec, options["devices"], chosen)
    return make_plan(
        job,
        source,
        only=only,
        extras=chosen is None,
        full=full,
        workers=options["workers"],
        progress=progress("planned"),
    )
