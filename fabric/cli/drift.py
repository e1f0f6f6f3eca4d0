"""`fabric drift`: do the live devices still hold what the spec declares? For a cron job. `--json`: see `fabric.change.drift`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from fabric.change.drift import drift_document, drift_exit
from fabric.change.show import show_plan
from fabric.cli.live import live_options, open_live
from fabric.cli.rendering import selection


@click.command("drift")
@selection
@live_options
@click.pass_context
def drift(context: click.Context, /, *, spec: Path, workers: int | None, as_json: bool, **options: Any) -> None:
    """Say which live devices differ from SPEC, and in what. Reads only.

    Exit codes: 0 none, 2 at least one differs, 1 it could not be found out.
    """
    plan = open_live(spec, **options).plan(workers=workers)
    if as_json:
        click.echo(json.dumps(drift_document(plan), ensure_ascii=False))
    else:
        for line in show_plan(plan):
            click.echo(line)
    context.exit(drift_exit(plan))
