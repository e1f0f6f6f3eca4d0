"""How every `fabric validate` ends: its outcome into the history, the files that were asked for, the report; then the exit code.

Every kind of validate hands over one `Outcome` here, so that none can be missing in the history or the HTML page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from fabric.change.clock import run_id, stamp
from fabric.change.files import write_atomic
from fabric.cli.common import json_option, keep_inputs
from fabric.cli.live import state_folder
from fabric.errors import FabricError
from fabric.verify import report
from fabric.verify.junit import junit_xml
from fabric.verify.outcome import Outcome
from fabric.words import printable

F = TypeVar("F", bound=Callable[..., Any])
_FILE = click.Path(path_type=Path, dir_okay=False)
junit_option: Callable[[F], F] = click.option("--junit", type=_FILE, metavar="FILE", help="Also write JUnit XML.")
history_option: Callable[[F], F] = click.option(
    "--no-history", is_flag=True, help="Leave this run out of the history (see fabric history)."
)
_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    json_option,
    junit_option,
    click.option("--html", type=_FILE, metavar="FILE", help="Also write a page for the browser (see fabric report)."),
    click.option(
        "--full", is_flag=True, help="Show evidence, every unknown and every pass; with --ping-by ping all pairs."
    ),
    history_option,
)


def report_options(command: F) -> F:
    """--json, --junit, --html, --full, --no-history."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be made of an outcome. `began`: when the run began, seconds since 1970."""

    spec: Path
    began: float
    state: Path | None = None
    as_json: bool = False
    full: bool = False
    junit: Path | None = None
    history: bool = True
    html: Path | None = None


def wanted(spec: Path, began: float, options: dict[str, Any]) -> Wanted:
    """By the command's options; takes those of `report_options` out of them, and leaves --state and --full."""
    as_json, junit, html, left_out = (options.pop(name) for name in ("as_json", "junit", "html", "no_history"))
    keep_inputs((junit, html, options.get("save")), (spec,))
    return Wanted(spec, began, options["state"], as_json, options["full"], junit, not left_out, html)


def selection(options: Mapping[str, Any]) -> tuple[str, ...]:
    """What narrows a run, as it was asked for: patterns of devices, roles, zones, checks, stages and tests of collectives."""
    names = {
        "devices": "device",
        "roles": "role",
        "zones": "zone",
        "only": "only",
        "skip": "skip",
        "stages": "stage",
        "tests": "test",
    }
    return tuple(f"--{flag} {value}" for name, flag in names.items() for value in options.get(name) or ())


@dataclass(frozen=True, slots=True)
class Forms:
    """How a command with a report and a page of its own shows its outcome."""

    show: Callable[[], None]
    page: Callable[[Path], None]


def conclude(outcome: Outcome, want: Wanted, forms: Forms | None = None) -> int:
    """Keeps, writes and prints the outcome; the exit code is that of the findings, whatever becomes of the history."""
    if want.history:
        _keep(outcome, want)
    failed: list[Exception] = []
    for write in (_junit, _html):
        try:
            write(outcome, want, forms)
        except (FabricError, OSError) as error:  # told after the report, which must not be lost with its copy
            failed.append(error)
    if forms is None:
        _print(outcome, want)
    else:
        forms.show()
    if failed:
        sys.stdout.flush()
        raise failed[0]
    return report.exit_code(outcome.findings)


def _junit(outcome: Outcome, want: Wanted, _: Forms | None) -> None:
    if want.junit is not None:
        write_atomic(want.junit, junit_xml(outcome.findings, outcome.cluster))


def _html(outcome: Outcome, want: Wanted, forms: Forms | None) -> None:
    if want.html is not None and forms is not None:
        forms.page(want.html)
    elif want.html is not None:
        from fabric.cli.report import page_of, write_page
        from fabric.verify.history import history_file

        history = history_file(state_folder(want.spec, want.state), outcome.cluster)
        write_page(want.html, page_of(want.spec, outcome, stamp(want.began), history))


def _print(outcome: Outcome, want: Wanted) -> None:
    if want.as_json:
        document = report.document(outcome.findings, str(want.spec), outcome.checks)
        click.echo(json.dumps(document, ensure_ascii=False))
    else:
        for line in report.lines(outcome.findings, full=want.full):
            click.secho(printable(line), fg=_colour(line))


def _keep(outcome: Outcome, want: Wanted) -> None:
    """Into the history. What cannot be kept is one line: the report is worth more than its copy."""
    from fabric import __version__
    from fabric.verify.history import Stamp, history_file, record

    state = state_folder(want.spec, want.state)
    try:
        sha256, text = _spec(want.spec)
        when = Stamp(run_id(want.began), stamp(want.began), __version__, str(want.spec), sha256, text)
        record(history_file(state, outcome.cluster), when, outcome)
    except FabricError as error:
        hint = f" (hint: {error.hint})" if error.hint else ""
        click.secho(f"WARNING: this run is not in the history: {error.message}{hint}", fg="yellow", err=True)


def _spec(path: Path) -> tuple[str, str]:
    """SHA-256 (hex) of the spec's bytes, and its text unless it may hold a secret. FabricError when it cannot be read any more."""
    from fabric.change.keep import without_secrets
    from fabric.design.load import load_spec

    loaded = load_spec(path)
    return loaded.text_sha256, without_secrets(loaded.source.text, loaded.value.secrets)


def _colour(line: str) -> str | None:
    word = line.partition(" ")[0]
    return {"FAIL": "red", "WARN": "yellow", "unknown": "yellow", "WARNING:": "yellow"}.get(word)
