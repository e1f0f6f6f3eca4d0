"""What a page is made from: files of results and of findings, or the last runs of the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fabric.design.seats import Seating
from fabric.errors import FabricError
from fabric.verify.collectives.gates import expected_rates, findings, least
from fabric.verify.collectives.model import Clue, Measurement, Part
from fabric.verify.collectives.results import read_all
from fabric.verify.finding import Finding
from fabric.verify.flight_recorder.kept import read_analysis
from fabric.verify.flight_recorder.report import SCHEMA as RECORDED
from fabric.verify.history import History, Offender, Run, offenders, outcome_of
from fabric.verify.locate import locate
from fabric.verify.locate.places import Places
from fabric.verify.report_read import is_document, read_document

LEMONS = 100
"""Runs in which repeat offenders are looked for, the last ones."""


@dataclass(slots=True)
class Gathered:
    """All of it together, and where it came from, in words."""

    findings: list[Finding] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)
    clues: list[Clue] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)


def from_files(seating: Seating, paths: Sequence[Path]) -> Gathered:
    """The findings of files; faults are located from all measurements and clues together. FabricError for a file of no known kind."""
    found = Gathered(sources=[path.name for path in paths])
    others = []
    for path in paths:
        head = _head(path)
        if is_document(head):
            found.findings += read_document(path)
        elif is_document(head, RECORDED):
            told, named = read_analysis(path)
            found.findings += told
            found.parts += named
        else:
            others.append(path)
    found.measurements, found.clues = read_all(others, seating)
    if found.measurements or found.clues:
        places, expected = Places(seating), expected_rates(seating, seating.cluster.spec.collectives)
        parts = locate(places, found.measurements, found.clues, expected=least(expected))
        found.parts += parts
        found.findings += findings(places, found.measurements, parts, expected)
    return found


def _head(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise FabricError(f"cannot read {path}: {'it is no regular file' if path.exists() else 'no such file'}")
        with path.open("rb") as file:
            return file.read(200)
    except OSError as error:
        raise FabricError(f"cannot read {path}: {error.strerror or error}") from error


def from_history(history: History, cluster: str, name: str | None = None) -> Gathered:
    """One run by its name; else of every kind of check the last run, whole ones before narrowed ones. FabricError when there is none."""
    runs = history.runs()
    if name is not None:
        chosen = [run for run in runs if run.run == name or (name == "last" and run is runs[-1])]
        if not chosen:
            known = ", ".join(run.run for run in runs[-3:])
            raise FabricError(
                f"the history has no run {name!r}", hint=f"the last ones are {known}" if runs else "it is empty"
            )
    else:
        chosen = _last(runs)
    found, covered = Gathered(), set[str]()
    for run in chosen:
        outcome = outcome_of(history, run, cluster)
        found.findings += [finding for finding in outcome.findings if finding.kind not in covered]
        found.measurements += outcome.measurements
        found.parts += outcome.parts
        narrowed = f" of {' '.join(run.selection)}" if run.selection else ""
        found.sources.append(f"run {run.run} ({', '.join(run.checks)}{narrowed})")
        covered |= set(run.checks)
    return found


def _last(runs: Sequence[Run]) -> list[Run]:
    """The newest first; an older run only where it made a check that no newer one did."""
    found: list[Run] = []
    covered: set[str] = set()
    for run in sorted(runs, key=lambda run: (bool(run.selection), -run.id)):
        if not set(run.checks) <= covered:
            found.append(run)
            covered |= set(run.checks)
    return found


def lemons_of(path: Path) -> list[Offender]:
    """The repeat offenders of a cluster; none without a history. FabricError for one that cannot be read."""
    if not path.exists():
        return []
    with History.read(path) as history:
        return offenders(history, history.runs(LEMONS))
