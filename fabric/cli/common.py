"""What several commands share: the spec, as an argument and as an option, tables, JSON, CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from fabric.errors import FabricError
from fabric.words import printable

F = TypeVar("F", bound=Callable[..., Any])

_NAMED = "fabric.cli.common.spec"


def _keep_named(context: click.Context, _: click.Parameter, value: Path | None) -> None:
    if value is not None:
        context.meta[_NAMED] = value


def _argument_or_named(context: click.Context, param: click.Parameter, value: Path) -> Path:
    named: Path | None = context.meta.get(_NAMED)
    if named is None:
        return value
    if context.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE:
        raise click.UsageError(f"The spec is given twice: {value}, and {named} by --spec.", context)
    return named


# Eager, so that it is read before the argument whatever their order. Not exposed: a command sees one spec, however it was named.
named_spec_option: Callable[[F], F] = click.option(
    "-s",
    "--spec",
    "named_spec",
    type=click.Path(path_type=Path),
    is_eager=True,
    expose_value=False,
    callback=_keep_named,
    help="SPEC as an option, as `fabric show` takes it.",
)
_positional_spec: Callable[[F], F] = click.argument(
    "spec",
    envvar="FABRIC_SPEC",
    default="cluster.yaml",
    type=click.Path(path_type=Path),
    callback=_argument_or_named,
)


def spec_argument(command: F) -> F:
    """SPEC, an argument or `-s`: else the file that FABRIC_SPEC names, else cluster.yaml."""
    return _positional_spec(named_spec_option(command))


def named_spec() -> Path | None:
    """The spec that `--spec` names."""
    named: Path | None = click.get_current_context().meta.get(_NAMED)
    return named


def spec_and_files(words: Sequence[Path]) -> tuple[Path, tuple[Path, ...]]:
    """Spec and files of a command that takes [SPEC] FILE...: the first word is the spec when it ends in .yaml or .yml.

    `-s` leaves no doubt. Where there is no default to fall back to, the first of several words is the spec whatever its name.
    """
    if (named := named_spec()) is not None:
        return named, tuple(words)
    default = Path(os.environ.get("FABRIC_SPEC") or "cluster.yaml")
    if words and (words[0].suffix in (".yaml", ".yml") or (len(words) > 1 and not default.exists())):
        return words[0], tuple(words[1:])
    return default, tuple(words)


spec_option: Callable[[F], F] = click.option(
    "-s",
    "--spec",
    envvar="FABRIC_SPEC",
    default="cluster.yaml",
    show_default=True,
    type=click.Path(path_type=Path),
    help="The cluster's spec; the environment variable FABRIC_SPEC names another default.",
)


def keep_inputs(outputs: Iterable[Path | None], inputs: Iterable[Path]) -> None:
    """Raises FabricError when a file that is to be written is one of those that the command reads, or of the others it writes."""
    read = [path for path in inputs if path.exists()]
    written: list[Path] = []
    for path in outputs:
        if path is None:
            continue
        if path.exists() and any(path.samefile(other) for other in read):
            raise FabricError(f"{path} is read here, and would be written over", hint="name another file to write")
        if path.absolute() in written:
            raise FabricError(f"{path} cannot hold two things", hint="name two files to write")
        written.append(path.absolute())


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
