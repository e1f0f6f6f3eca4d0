"""What `fabric tune` found, for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from fabric.cli.common import print_json, print_table
from fabric.design.hosts.nccl_rules import MOST_QPS as PUBLISHED_QPS
from fabric.predict.calibration import Calibration
from fabric.predict.model import Band
from fabric.predict.source import QPS_KEY
from fabric.predict.telling import band_text, document, percent, size_text
from fabric.predict.trials import Trial, Tuning
from fabric.spec.yaml_source import path_text

_SHOWN = 5  # sizes that are printed


@dataclass(frozen=True, slots=True)
class Shown:
    """A search and what came of it: `nccl` are the lines of nccl.conf that change, `made` the calibration that counts."""

    spec: Path
    cluster: str
    found: Tuning
    nccl: Mapping[str, str]
    made: Calibration | None
    written: bool


def print_document(shown: Shown) -> None:
    """Prints `fabric.tuning/1`."""
    found, chosen = shown.found, shown.found.chosen
    state = "none" if chosen is None else "declared" if found.done else "found"
    rows = [
        {"knobs": asdict(one.knobs), "cost": asdict(one.cost), "reached": None if one.reached is None else asdict(one.reached),
         "bound": one.bound, "said": one.said}
        for one in found.tried
    ]  # fmt: skip
    body = {
        "spec": str(shown.spec),
        "cluster": shown.cluster,
        "target": found.target,
        "state": state,
        "before": document(found.before),
        "after": None if found.after is None else document(found.after),
        "knobs": {"before": asdict(found.start), "after": None if chosen is None else asdict(chosen)},
        "cost": asdict(found.best.cost),
        "edits": [{"path": list(edit.path), "before": edit.before, "after": edit.after} for edit in found.edits],
        "by_hand": list(found.by_hand),
        "nccl": dict(shown.nccl),
        "tried": rows,
        "written": shown.written,
        "calibration": None if shown.made is None else asdict(shown.made),
        "bias": found.before.bias,
    }
    print_json("fabric.tuning/1", body)


def tell(shown: Shown) -> None:
    """Prints it for people."""
    found, case = shown.found, shown.found.before.case
    how = (
        f"{case.collective} by {case.algorithm}"
        if case.collective not in ("all_to_all", "send_recv")
        else case.collective
    )
    click.echo(
        f"{shown.cluster}: {how}, {found.before.gpus:,} GPUs; target {found.target:g} % of line rate for large messages in "
        f"percentile 5 of {case.seeds} seeds\n"
    )
    rows = [("as declared", *_band(found.before.reached), found.start.text)]
    if found.after is not None and found.chosen is not None and not found.done:
        rows.append(("with the changes", *_band(found.after.reached), found.chosen.text))
    print_table(("reaches, %", "p5", "p50", "p95", "setting"), rows)
    for note in (found.after or found.before).notes:
        click.echo(f"note: {note}")
    click.echo("")
    _tell_changes(shown)
    _tell_sizes(found)
    if not found.done:
        click.echo("tried:")
        tried = [
            (one.knobs.text, _reached(one), one.said)
            for one in found.tried
        ]  # fmt: skip
        print_table(("setting", "reaches, %", ""), tried)
        click.echo("")
    click.echo("latency: NCCL's own constants, which are pessimistic" if shown.made is None else shown.made.said)
    click.echo(f"this is {found.before.bias}")


def _reached(one: Trial) -> str:
    if one.reached is not None:
        return f"{one.reached.p50:.0f} [{one.reached.p5:.0f}-{one.reached.p95:.0f}]"
    return "-" if one.bound is None else f"at most {one.bound:.0f}"


def _band(band: Band) -> tuple[str, str, str]:
    return percent(band.p5), percent(band.p50), percent(band.p95)


def _tell_changes(shown: Shown) -> None:
    found = shown.found
    if found.done:
        click.echo("the spec reaches it as declared: nothing to change\n")
        return
    if found.chosen is None:
        best = found.best
        click.echo("nothing within the ports and the room for growth reaches it")
        click.echo(f"nearest is {best.knobs.text}: {_reached(best)} %, at the cost of {best.cost.text}\n")
        return
    click.echo(f"the cheapest changes that reach it; they cost {found.best.cost.text}:")
    for edit in found.edits:
        click.echo(f"  {path_text(edit.path)}: {edit.before} -> {edit.after}")
    if found.chosen.wider is not None and found.chosen.wider.switches:
        click.echo(f"  which adds {found.chosen.wider.switches} switches and {found.chosen.wider.cables:,} cables")
    if any(edit.path[-1] in ("qps", QPS_KEY) and int(edit.after) > PUBLISHED_QPS for edit in found.edits):
        click.echo(
            f"    nothing published goes beyond {PUBLISHED_QPS} queue pairs: --most-qps {PUBLISHED_QPS} looks no further"
        )
    for text in found.by_hand:
        click.echo(f"  by hand: {text}")
    for key, value in shown.nccl.items():
        click.echo(f"  nccl.conf follows: {key}={value}")
    if shown.written:
        click.echo(f"{shown.spec} now says so: fabric plan shows what that changes\n")
    else:
        click.echo("--write writes it into the spec\n" if found.edits else "")


def _tell_sizes(found: Tuning) -> None:
    """By message size, latency included: what tuning of paths cannot change is seen here."""
    after = found.after if found.after is not None and not found.done else None
    points = found.before.points[-_SHOWN:]
    later = after.points[-_SHOWN:] if after else points
    rows = [
        (size_text(one.size), f"{one.latency_only:.0f}", band_text(one.reached), *((band_text(two.reached),) if after else ()))
        for one, two in zip(points, later, strict=True)
    ]  # fmt: skip
    print_table(("size", "latency alone, %", "as declared", *(("with the changes",) if after else ())), rows)
    click.echo("")
