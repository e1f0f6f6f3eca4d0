"""What several commands share: the spec argument, tables, JSON, CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from fabric.words import printable

F = TypeVar("F", bound=Callable[..., Any])

spec_argument: Callable[[F], F] = click.argument(
    "spec", envvar="FABRIC_SPEC", default="cluster.yaml", type=click.Path(path_type=Path)
)
spec_option: Callable[[F], F] = click.option(
    "-s",
    "--spec",
    envvar="FABRIC_SPEC",
    default="cluster.yaml",
    show_default=True,
    type=click.Path(path_type=Path),
    help="The cluster's spec; the environment variable FABRIC_SPEC names another default.",
)


class Seconds(click.FloatRange):
    """A time in seconds. A range alone lets `nan` pass, which is neither below nor above anything: no deadline would ever come."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; a usage error when it is out of range, or none."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return number


json_option: Callable[[F], F] = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def print_json(schema: str, body: dict[str, Any]) -> None:
    """One JSON document with its schema name and version first."""
    click.echo(json.dumps({"schema": schema, **body}, indent=2))


def print_csv(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A CSV table with a header line (RFC 4180, line feeds)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(["" if value is None else value for value in row] for row in rows)
    click.echo(out.getvalue(), nl=False)


def print_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A plain table: columns aligned, numbers to the right, nothing wrapped or cut, so that it can be read and grepped."""
    text = [[_cell(value) for value in row] for row in rows]
    numeric = [
        bool(rows) and all(isinstance(row[i], int | float) or row[i] is None for row in rows)
        for i in range(len(header))
    ]
    widths = [max([len(name), *(len(row[i]) for row in text)]) for i, name in enumerate(header)]
    lines = [_line(list(header), widths, numeric), "  ".join("-" * width for width in widths)]
    lines += [_line(row, widths, numeric) for row in text]
    sys.stdout.write("\n".join(lines) + "\n")


def _cell(value: Any) -> str:
    return "-" if value is None else printable(str(value))


def _line(row: list[str], widths: list[int], numeric: list[bool]) -> str:
    cells = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(row, widths, numeric, strict=True)
    )
    return "  ".join(cells).rstrip()
