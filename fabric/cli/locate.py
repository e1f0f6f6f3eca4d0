"""`fabric locate`: which part is at fault, from files of results.

`--json` prints, version `fabric.locate/1`: {schema, spec, cluster, exit_code, measurements, clues, unmade, foreign, parts: [{kind,
name, confidence, place, evidence, others, next, hosts}]}; `foreign` are hosts in the results that the spec does not have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fabric.cli.common import json_option, named_spec_option, print_json, spec_and_files
from fabric.errors import FabricError
from fabric.words import counted, printable

if TYPE_CHECKING:
    from fabric.design.seats import Seating
    from fabric.verify.collectives.model import Clue, Measurement, Part

SHOWN = 3
"""Sentences of evidence in the short report."""


@click.command("locate")
@click.argument("words", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="[SPEC] RESULTS...")
@named_spec_option
@json_option
@click.option("--full", is_flag=True, help="Show all evidence and all hosts concerned.")
@click.pass_context
def locate(context: click.Context, /, words: tuple[Path, ...], *, as_json: bool, full: bool) -> None:
    """Name the faulty part: from RESULTS, files of measurements, outputs and logs, and from who is cabled to what in SPEC.

    RESULTS are files that `fabric validate collectives --results` wrote, and outputs of nccl-tests, perftest and DCGM, and NCCL's logs;
    what each is shows in its content. Nothing is measured and no device is asked. SPEC ends in .yaml or .yml (else: --spec).

    Exit codes: 2 a fault is named, 0 none, 1 nothing could be judged.
    """
    from fabric.design.seats import load_seating
    from fabric.verify.collectives.results import read_all
    from fabric.verify.locate import locate as find
    from fabric.verify.locate.gates import Gate, judge
    from fabric.verify.locate.places import Places

    spec, results = spec_and_files(words)
    if not results:
        raise FabricError("there are no files of results", hint="fabric locate [SPEC] RESULTS...")
    places = Places(load_seating(spec))
    measurements, clues = read_all(results, places.seating)
    expected = _expected(places.seating)
    parts = find(places, measurements, clues, expected=expected)
    foreign = sorted({host for m in measurements for host in m.hosts if host not in places.seats})
    unmade = sum(m.state == "unmade" for m in measurements)
    judged = any(one.verdict in ("good", "bad") for one in judge(places, measurements, expected, Gate())[0]) or bool(
        clues
    )
    code = 2 if parts else 0 if judged else 1
    if as_json:
        print_json(
            "fabric.locate/1",
            {
                "spec": str(spec), "cluster": places.seating.name, "exit_code": code, "measurements": len(measurements),
                "clues": len(clues), "unmade": unmade, "foreign": foreign, "parts": [asdict(part) for part in parts],
            },
        )  # fmt: skip
    else:
        for part in parts:
            for line in _lines(part, full=full):
                click.secho(printable(line), fg="red" if line.startswith("FAULT") else None)
        click.echo(_summary(parts, measurements, clues, unmade))
    if foreign:
        click.echo(
            f"WARNING: {counted(len(foreign), 'host')} of the results not in {spec}: {printable(', '.join(foreign[:6]))}",
            err=True,
        )
    context.exit(code)


def _expected(seating: Seating) -> dict[tuple[str, str], float]:
    """What the catalog and the spec expect of this cluster."""
    from fabric.verify.collectives.gates import expected_rates, least

    return least(expected_rates(seating, seating.cluster.spec.collectives))


def _lines(part: Part, *, full: bool) -> Iterator[str]:
    """One part for people."""
    word = "UNSURE" if part.kind in ("undecided", "path") else "FAULT"
    yield f"{word:8} {part.kind}: {part.name} ({part.confidence:.0%} sure)"
    if part.place and part.place != part.name:
        yield f"         at        {part.place}"
    for sentence in part.evidence if full else part.evidence[:SHOWN]:
        yield f"         because   {sentence}"
    if not full and len(part.evidence) > SHOWN:
        yield f"         because   {len(part.evidence) - SHOWN:,} more (--full)"
    others = [other for other in part.others if other != part.name]
    if others:
        yield f"         or        {', '.join(others)}"
    if part.next:
        yield f"         next      {part.next}"
    if full and part.hosts:
        yield f"         concerns  {', '.join(part.hosts)}"
    yield ""


def _summary(parts: Sequence[Part], measurements: Sequence[Measurement], clues: Sequence[Clue], unmade: int) -> str:
    seen = f"{counted(len(measurements), 'result')}, {counted(len(clues), 'clue')}"
    could_not = f", {unmade:,} could not be made" if unmade else ""
    why = [f"  {number:,} not made: {text}" for text, number in _reasons(measurements).most_common(SHOWN)]
    return "\n".join([f"{counted(len(parts), 'part')} located in {seen}{could_not}", *why])


def _reasons(measurements: Sequence[Measurement]) -> Counter[str]:
    """Why results could not be made, and how many for each reason."""
    return Counter(m.reason or "nobody says why" for m in measurements if m.state == "unmade")
