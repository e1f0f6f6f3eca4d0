"""`fabric report`: one HTML page of what was found.

`--json` prints, version `fabric.report/1`: {schema, file, bytes, sources, failed, unknown, passed, parts, measurements}.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabric.cli.common import json_option, keep_inputs, named_spec_option, print_json, spec_and_files
from fabric.cli.live import state_folder, state_option
from fabric.errors import FabricError
from fabric.words import counted

if TYPE_CHECKING:
    from fabric.design.seats import Seating
    from fabric.export.html_report import Page
    from fabric.export.html_report.sources import Gathered
    from fabric.verify.outcome import Outcome


@click.command("report")
@click.argument("words", nargs=-1, type=click.Path(path_type=Path), metavar="[SPEC] [RESULTS]...")
@named_spec_option
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="The page."
)
@click.option("--run", "run", metavar="RUN", help="Of this run of the history, or `last`.")
@state_option
@json_option
@click.pass_context
def report(
    context: click.Context,
    /,
    *,
    words: tuple[Path, ...],
    out: Path,
    run: str | None,
    state: Path | None,
    as_json: bool,
) -> None:
    """Write one self-contained HTML page: summary, located parts drawn in their rack, bandwidth map, rails, findings. It loads nothing.

    RESULTS: files of `fabric validate collectives --results`, outputs of nccl-tests, perftest, DCGM and NCCL's logs, and documents of
    `fabric validate --json` and `fabric flight-recorder --json`. Without any: the last run of every check in the history.
    SPEC ends in .yaml or .yml (else: --spec).

    Exit codes: 2 something in it is wrong, 0 nothing, 1 there was nothing to write.
    """
    from fabric.change.clock import SystemClock, stamp
    from fabric.design.seats import load_seating
    from fabric.verify.finding import count
    from fabric.verify.history import history_file

    spec, results = spec_and_files(words)
    keep_inputs((out,), (spec, *results))
    if results and run is not None:
        raise FabricError("--run is a run of the history, and files of results are given too", hint="one of the two")
    seating = load_seating(spec)
    path = history_file(state_folder(spec, state), seating.name)
    found = _gathered(seating, results, path, run)
    if not (found.findings or found.measurements):
        raise FabricError(
            "there is nothing to report: no finding and no measurement", hint="fabric validate ..., or files of RESULTS"
        )
    page = _page(seating, found, stamp(SystemClock().now()), path)
    size = write_page(out, page)
    counts = count(found.findings)
    if as_json:
        body = {"failed": counts.failed, "unknown": counts.unknown, "passed": counts.passed, "parts": len(found.parts)}
        made = {"file": str(out), "bytes": size, "sources": found.sources}
        print_json("fabric.report/1", {**made, **body, "measurements": len(found.measurements)})
    else:
        unknown = f", {counts.unknown:,} unknown" if counts.unknown else ""
        measured = counted(len(found.measurements), "measurement")
        click.echo(f"{out}: {counted(counts.failed, 'fault')}{unknown}, {measured}")
    context.exit(2 if counts.failed else 0)


def _gathered(seating: Seating, results: tuple[Path, ...], path: Path, run: str | None) -> Gathered:
    from fabric.export.html_report.sources import from_files, from_history
    from fabric.verify.history import History

    if results:
        return from_files(seating, results)
    with History.read(path) as history:
        return from_history(history, seating.name, run)


def _page(seating: Seating, found: Gathered, at: str, history: Path) -> Page:
    from fabric import __version__
    from fabric.export.html_report import Page
    from fabric.export.html_report.sources import lemons_of

    try:
        lemons = lemons_of(history)
    except FabricError as error:
        click.secho(f"WARNING: no repeat offenders: {error.message}", fg="yellow", err=True)
        lemons = []
    return Page(
        seating.name, at, __version__, seating, found.findings, found.parts, found.measurements, found.sources,
        seating.cluster.loaded.text_sha256, lemons,
    )  # fmt: skip


def write_page(path: Path, page: Page) -> int:
    """Writes a page, all of it or nothing; its bytes."""
    from fabric.change.files import write_atomic
    from fabric.export.html_report import html_report

    text = html_report(page).encode("utf-8", "replace")
    write_atomic(path, text)
    return len(text)


def page_of(spec: Path, outcome: Outcome, at: str, history: Path) -> Page:
    """The page of one validate."""
    from fabric.design.seats import load_seating
    from fabric.export.html_report.sources import Gathered

    found = Gathered(
        list(outcome.findings), list(outcome.measurements), list(outcome.clues), list(outcome.parts),
        [" ".join(("fabric validate", *outcome.checks, *outcome.selection))],
    )  # fmt: skip
    return _page(load_seating(spec), found, at, history)
