"""`fabric lab shape`: link rates for a lab in which bandwidth is measured."""

from __future__ import annotations

from pathlib import Path

import click

from fabric.cli import lab_ib
from fabric.cli.lab import lab_spec, running_lab
from fabric.errors import FabricError
from fabric.lab import control
from fabric.words import counted


@click.command("shape")
@lab_spec
@click.option(
    "--kbit-per-gbps",
    default=50.0,
    show_default=True,
    type=click.FloatRange(0, 1e6),
    help="What each host cable carries: kbit/s for each Gb/s of its designed speed; 0 = no limit.",
)
def shape(spec: Path, *, kbit_per_gbps: float) -> None:
    """Let every host cable of the lab of SPEC carry its designed speed, scaled down: what a test measures is then the cables and not this
    machine. Cables between switches carry what it can.
    """
    lab = running_lab(spec)
    if lab_ib.is_infiniband(lab):
        raise FabricError("an InfiniBand lab carries no traffic: there is nothing to shape")
    ends = control.ask(lab.folder, "shape", bps_per_gbps=int(kbit_per_gbps * 1000))["ends"]
    if not ends:
        click.echo("cables carry what this machine can")
        return
    click.echo(f"{counted(ends, 'cable end')} shaped; 400 Gb/s are {400 * kbit_per_gbps / 1000:g} Mbit/s here")
