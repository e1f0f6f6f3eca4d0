"""What the `fabric lab` commands do for an InfiniBand spec."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fabric.lab.state import Lab


def is_infiniband(lab: Lab) -> bool:
    """Is a running lab one of InfiniBand?"""
    return lab.read().get("kind") == "infiniband"


def up(spec: Path, *, blank: bool, aggregation_nodes: bool, timeout_s: float) -> None:
    """`lab up`."""
    from fabric.design.load import load_subnet
    from fabric.lab.ib.up import up as bring_up
    from fabric.lab.state import Lab

    cluster = load_subnet(spec)
    name = cluster.subnet.spec.name
    took = bring_up(
        Lab.of(spec, name), cluster.subnet, spec, blank=blank, aggregation_nodes=aggregation_nodes, timeout_s=timeout_s,
        say=lambda text: click.echo(text, err=True),
    )  # fmt: skip
    click.echo(f"lab {name} is up in {took:.1f} s")


def sweep(lab: Lab) -> None:
    """Before `lab down`: what killed clients left where they ran."""
    from fabric.lab.ib.seat import sweep_seats

    sweep_seats(lab)


def execute(lab: Lab, spec: Path, node: str | None, command: Sequence[str]) -> int:
    """`lab exec`."""
    from fabric.lab.ib import seat

    return seat.run(command, lab, {})
