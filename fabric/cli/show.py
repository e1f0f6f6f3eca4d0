"""`fabric show`: the design as tables, JSON or CSV.

`--json` prints, version `fabric.show.<table>/1`: {schema, rows: [{column: value}]}; for `summary`: {schema, ...figures}.
"""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fabric.cli.common import json_option, print_csv, print_json, print_table, spec_option
from fabric.errors import FabricError

if TYPE_CHECKING:
    from fabric.design.fabric import Fabric
    from fabric.design.tables import Table

F = TypeVar("F", bound=Callable[..., Any])


@click.group("show")
def show() -> None:
    """Show the design that follows from a spec; nothing is written."""


def _table_options(command: F) -> F:
    options = (
        click.argument("devices", nargs=-1, metavar="[DEVICE]..."),
        spec_option,
        json_option,
        click.option("--csv", "as_csv", is_flag=True, help="Print CSV."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@show.command("devices")
@_table_options
def devices(**options: Any) -> None:
    """Switches and hosts: role, place, model, AS number, addresses, state; of devices that match DEVICE (z01-*), or of all."""
    _print("devices", **options)


@show.command("links")
@_table_options
def links(**options: Any) -> None:
    """Cables, both ends with port, cable model, length and addresses; of devices that match DEVICE (z01-*), or of all."""
    _print("links", **options)


@show.command("addresses")
@_table_options
def addresses(**options: Any) -> None:
    """Addresses with the device and interface that has them; of devices that match DEVICE (z01-*), or of all."""
    _print("addresses", **options)


@show.command("racks")
@_table_options
def racks(**options: Any) -> None:
    """Racks: switch, hosts, prefix, power. DEVICE, which may be a pattern, names the rack by its RTSW or a host."""
    _print("racks", **options)


@show.command("summary")
@spec_option
@json_option
def summary(*, spec: Path, as_json: bool) -> None:
    """Counts, oversubscription by port and by bandwidth, spare, cables, power."""
    from fabric.cli.summary import roce_lines
    from fabric.cli.summary_ib import infiniband_lines
    from fabric.design.figures import figures
    from fabric.design.load import design_loaded, load_spec, subnet_of

    loaded = load_spec(spec)
    if loaded.value.backend.kind == "infiniband":
        subnet = subnet_of(loaded).subnet
        body, lines = dataclasses.asdict(subnet.figures), infiniband_lines(subnet)
    else:
        fabric = design_loaded(loaded).fabric
        known = figures(fabric)
        body, lines = _plain(dataclasses.asdict(known)), roce_lines(fabric, known)
    if as_json:
        print_json("fabric.show.summary/1", {"name": loaded.value.name, "kind": loaded.value.backend.kind, **body})
        return
    for line in lines:
        click.echo(line)


def _plain(value: Any) -> Any:
    """Fractions as [numerator, denominator], so that JSON loses nothing."""
    if isinstance(value, Fraction):
        return [value.numerator, value.denominator]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _print(name: str, *, devices: Sequence[str], spec: Path, as_json: bool, as_csv: bool) -> None:
    from fabric.design import tables
    from fabric.design.load import load_cluster

    if as_json and as_csv:
        raise FabricError("--json and --csv cannot both be printed")
    fabric = load_cluster(spec).fabric
    make: Callable[[Fabric, frozenset[str] | None], Table] = getattr(tables, name)
    table = make(fabric, _chosen(fabric, devices) if devices else None)
    if as_json:
        print_json(f"fabric.show.{name}/1", {"rows": [dict(zip(table.header, row, strict=True)) for row in table.rows]})
    elif as_csv:
        print_csv(table.header, table.rows)
    else:
        print_table(table.header, table.rows)


def _chosen(fabric: Fabric, patterns: Iterable[str]) -> frozenset[str]:
    """Names of the switches and hosts that the patterns choose; FabricError for a pattern that chooses none."""
    from fabric.design.suggest import near

    names = [*fabric.by_name, *(host.name for host in fabric.hosts())]
    found: set[str] = set()
    for pattern in patterns:
        hits = fnmatch.filter(names, pattern)
        if not hits:
            hint = near(pattern, names)
            raise FabricError(
                f"no device matches {pattern!r}",
                hint=hint if hint.startswith("did") else f"devices are named like {names[0]}",
            )
        found.update(hits)
    return frozenset(found)
