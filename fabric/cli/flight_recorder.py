"""`fabric flight-recorder`: which rank did a hanging job wait for, and where does it sit?

`--json` prints, version `fabric.flight-recorder/1`: {schema, spec, exit_code, world, dumps, entries, versions, groups, stalled, missing,
unread: [{rank, file, reason}], culprits: [{cause, ranks, proven, confidence, waited_by, group, kind, name, place, evidence, others, next,
seats: [{rank, host, gpu, nic, hca, switch, port, zone, rack}]}], waits: [{group, number, how, sure, waiters, waited_for}], lagging,
notes, findings as in `fabric.validate/1`}. Ranks of waits and `missing` are runs: `0-7, 9`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fabric.cli.common import json_option, keep_inputs, spec_option
from fabric.cli.conclude import history_option, junit_option
from fabric.cli.live import state_option
from fabric.errors import FabricError
from fabric.words import counted, printable, verb

if TYPE_CHECKING:
    from fabric.design.seats import Seating
    from fabric.verify.flight_recorder.model import Analysis
    from fabric.verify.flight_recorder.place import Placed

_UNPLACED = "note: no rank is placed: give --ranks (a rank file, Slurm's variables, torchrun or NCCL logs)"


@click.command("flight-recorder")
@click.argument("dumps", nargs=-1, required=True, type=click.Path(path_type=Path))
@spec_option
@click.option(
    "--ranks", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="Which rank runs where: a rank file, Slurm's variables, torchrun or NCCL logs; may be repeated, and a folder.",
)  # fmt: skip
@click.option("--workers", type=click.IntRange(1, 256), help="Processes to read in (default: one a core).")
@json_option
@junit_option
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Also write a page.")
@click.option("--full", is_flag=True, help="Show evidence, all waits, every unknown.")
@history_option
@state_option
@click.pass_context
def flight_recorder(
    context: click.Context,
    /,
    *,
    dumps: tuple[Path, ...],
    spec: Path,
    ranks: tuple[Path, ...],
    workers: int | None,
    **options: Any,
) -> None:
    """Read the PyTorch flight-recorder dumps of a job (files, or folders of them) and name the rank that all others wait for.

    Dumps are not trusted: pickles with anything but plain data are refused. With --ranks each rank becomes GPU, host, NIC and switch
    port of SPEC; without it, hosts of SPEC are known where the dumps lie in one folder a host.

    With --spec or --ranks the run is kept in the state folder, for `fabric history` and `fabric report`.

    Exit codes: 2 a rank is named, 0 no rank waits for another, 1 the evidence is not enough, or nothing could be read.
    """
    from fabric.change.clock import SystemClock
    from fabric.cli.conclude import Forms, conclude, wanted
    from fabric.design.seats import load_seating
    from fabric.verify.flight_recorder import report
    from fabric.verify.flight_recorder.analyse import analyse
    from fabric.verify.flight_recorder.find import find_dumps
    from fabric.verify.flight_recorder.kept import outcome_of
    from fabric.verify.flight_recorder.load import load_dumps
    from fabric.verify.flight_recorder.place import findings_of, locate_culprits
    from fabric.verify.flight_recorder.worlds import one_job

    want = wanted(spec, SystemClock().now(), options)
    files = find_dumps(dumps)
    keep_inputs((want.junit, want.html), (*files.values(), *ranks))
    seating = load_seating(spec) if (named := _given(context) or bool(ranks)) or spec.exists() else None
    placed = _placed(files, seating, ranks)
    loaded = one_job(load_dumps(files, processes=workers, done=_progress(len(files))))
    if not loaded.ranks:
        first = loaded.unread[0]
        raise FabricError(f"no dump can be read: {first.source} {first.reason}")
    analysis = analyse(loaded)
    located = locate_culprits(analysis, placed)
    found = findings_of(analysis, located)
    document = report.document(analysis, located, found, str(spec))

    def show() -> None:
        if want.as_json:
            click.echo(json.dumps(document, ensure_ascii=False))
        else:
            _print(report.lines(analysis, found, full=want.full))
            if note := _unplaced(analysis, placed):
                click.echo(note)

    outcome = outcome_of(seating.name if seating else "", located, found)
    want = replace(want, history=want.history and named)
    context.exit(conclude(outcome, want, Forms(show, lambda path: _write(path, document))))


def _print(lines: Iterable[str]) -> None:
    colours = {"FAIL": "red", "unknown": "yellow", "WARNING:": "yellow"}
    for line in lines:
        click.secho(printable(line), fg=colours.get(line.partition(" ")[0]))


def _unplaced(analysis: Analysis, placed: Mapping[int, Placed]) -> str:
    """A line about the ranks at fault whose place nobody told; empty when there are none."""
    from fabric.verify.flight_recorder.spans import spans

    lost = {rank for culprit in analysis.culprits for rank in culprit.ranks} - set(placed)
    if not lost:
        return ""
    if not placed:
        return _UNPLACED
    known = sum(rank < analysis.world for rank in placed)
    where = f"{verb(len(lost), 'rank', 'ranks')} {spans(lost)} {verb(len(lost), 'has', 'have')} no place"
    return f"note: {where}: --ranks and the folders of the dumps tell that of {known:,} of {counted(analysis.world, 'rank')}"


def _given(context: click.Context) -> bool:
    """Whether a spec was named, by option or environment."""
    return context.get_parameter_source("spec") is not click.core.ParameterSource.DEFAULT


def _placed(files: Mapping[int, Path], seating: Seating | None, ranks: tuple[Path, ...]) -> dict[int, Placed]:
    """Where each rank runs; nowhere without a spec, which only a place needs."""
    from fabric.verify.flight_recorder.place import place_ranks
    from fabric.verify.flight_recorder.ranks import in_folders, read_ranks

    if seating is None:
        return {}
    hosts = seating.by_host
    return place_ranks(read_ranks(ranks, hosts) if ranks else in_folders(files, hosts), seating)


def _progress(total: int) -> Callable[[int], None]:
    """Says on a terminal how many dumps are read."""
    if not sys.stderr.isatty():
        return lambda _: None
    return lambda done: click.echo(
        f"\rread {done:,} of {total:,} dumps{chr(10) if done >= total else ''}", nl=False, err=True
    )


def _write(path: Path, document: dict[str, object]) -> None:
    from fabric.change.files import write_atomic
    from fabric.export.flight_recorder_page import page

    write_atomic(path, page(document))
