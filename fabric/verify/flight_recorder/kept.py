"""What stays of an analysis: a run of the history, and what a report reads back from `fabric flight-recorder --json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from fabric.errors import FabricError
from fabric.verify.collectives.model import Part, PartKind
from fabric.verify.finding import Finding
from fabric.verify.flight_recorder.place import Located
from fabric.verify.flight_recorder.report import SCHEMA
from fabric.verify.outcome import Outcome
from fabric.verify.report_read import findings_in, load_document, texts_of

CHECK = "flight-recorder"
"""The kind of check, as the history knows it."""


def outcome_of(cluster: str, located: Sequence[Located], findings: Sequence[Finding]) -> Outcome:
    """The outcome of an analysis; `findings` as of `findings_of`. Parts are named without their ranks, which differ from job to job."""
    named = [replace(found, subject=item.part.name) for found, item in zip(findings, located, strict=False)]
    return Outcome(cluster, (CHECK,), [*named, *findings[len(named) :]], parts=[item.part for item in located])


def read_analysis(path: Path) -> tuple[list[Finding], list[Part]]:
    """Findings and located parts of a document of version `fabric.flight-recorder/1`; FabricError in one line for what is none."""
    data = load_document(path, SCHEMA)
    culprits = data.get("culprits")
    if not isinstance(culprits, list):
        raise FabricError(f"{path} is no document of the version {SCHEMA}")
    parts = [_part(item, f"{path}: culprits[{number}]") for number, item in enumerate(culprits)]
    return findings_in(data, path), parts


def _part(item: Any, place: str) -> Part:
    if not isinstance(item, dict) or item.get("kind") not in get_args(PartKind):
        raise FabricError(f"{place} has no kind of fabric's")
    for name in ("name", "place", "next"):
        if not isinstance(item.get(name), str):
            raise FabricError(f"{place}.{name} is no text")
    confidence = item.get("confidence")
    if not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise FabricError(f"{place}.confidence is no number from 0 to 1")
    seats = item.get("seats")
    if not isinstance(seats, list) or not all(isinstance(seat, dict) for seat in seats):
        raise FabricError(f"{place}.seats is no list of seats")
    hosts = texts_of([seat.get("host") for seat in seats], f"{place}.seats.host")
    evidence, others = (texts_of(item.get(name), f"{place}.{name}") for name in ("evidence", "others"))
    return Part(
        item["kind"],
        item["name"],
        confidence,
        item["place"],
        evidence,
        others,
        item["next"],
        tuple(dict.fromkeys(hosts)),
    )
