"""`fabric plan`: what would change, device by device, equal changes grouped. `--json` and `-o`: see `fabric.change.planfile`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from fabric.change.plan import make_plan
from fabric.change.planfile import plan_document, save_plan
from fabric.change.show import show_plan
from fabric.change.source import TreeSource
from fabric.cli.rendering import open_job, progress, selection, target_set

_COLOURS = {"+": "green", "-": "red", "~": "yellow"}


@click.command("plan")
@selection
@click.option(
    "--against", required=True, type=click.Path(path_type=Path), metavar="DIR",
    help="What the devices hold: a tree of fabric render, or pulled configurations (DIR/<device>/<path> or DIR/<device>.cfg).",
)  # fmt: skip
@click.option("--full", is_flag=True, help="Show every line of every device; cut no long value.")
@click.option("--summary", is_flag=True, help="Show only which devices and files, and how many lines.")
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="PLANFILE", help="Also write the plan to a file.")
@click.pass_context
def plan(  # noqa: PLR0913 - one parameter an option
    context: click.Context,
    *,
    spec: Path,
    devices: tuple[str, ...],
    targets: str | None,
    workers: int | None,
    as_json: bool,
    against: Path,
    full: bool,
    summary: bool,
    out: Path | None,
) -> None:
    """Show what would change on each device so that it holds what SPEC (default: $FABRIC_SPEC, else cluster.yaml) declares.

    Exit code: 0 nothing to do, 2 there are changes, 1 it could not be found out.
    """
    if full and summary:
        raise click.UsageError("--full and --summary exclude each other")
    source = TreeSource(against)
    chosen = target_set(targets)
    job, only = open_job(spec, devices, chosen)
    made = make_plan(
        job, source, only=only, extras=chosen is None, full=full, workers=workers, progress=progress("planned")
    )
    if out is not None:
        save_plan(made, out)
    if as_json:
        click.echo(json.dumps(plan_document(made), ensure_ascii=False))
    else:
        for line in show_plan(made, "full" if full else "summary" if summary else "groups"):
            click.secho(line, fg=_COLOURS.get(line[4:5]) if line.startswith("    ") else None)
    context.exit(made.exit_code)
