"""A prediction in words and as data: always with its spread and what the model leaves out, never one bare number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from fabric.predict.model import Band, Case, Prediction, alike_text
from fabric.words import counted

SCHEMA = "fabric.prediction/1"
_UNITS = ((1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K"))


def size_text(size: int) -> str:
    """`64M`: as nccl-tests takes it where it is a whole number of a unit, else bytes."""
    for unit, letter in _UNITS:
        if size >= unit and size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size)


def percent(value: float) -> str:
    """One digit below 10, none above: more is not known; `<0.1` for what would look like nothing."""
    if value < 0.05:
        return "<0.1"
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def band_text(band: Band) -> str:
    """`p50 [p5-p95]`; `<0.1` where all of it is."""
    if band.p95 < 0.05:
        return percent(band.p95)
    return f"{percent(band.p50)} [{percent(band.p5)}-{percent(band.p95)}]"


def headline(prediction: Prediction) -> str:
    """The question in one line."""
    case = prediction.case
    how = (
        f"{case.collective} by {case.algorithm}"
        if case.collective not in ("all_to_all", "send_recv")
        else case.collective
    )
    pairs = (
        f", {counted(case.qps, 'queue pair')} x {counted(case.channels, 'channel')}" if case.hash == "e-ecmp" else ""
    )
    alike = alike_text(case.seed_per_tier, case.seed_groups)
    tiers = f", {alike}" if alike else ""
    gone = (
        f", without {', '.join(case.failures[:3])}{' ...' if len(case.failures) > 3 else ''}" if case.failures else ""
    )
    place = "the given order" if case.hosts else f"placement {case.placement}"
    return f"{case.name}: {how}, {prediction.gpus:,} GPUs, {place}, {case.hash}{pairs}{tiers}{gone}"


def lines(prediction: Prediction) -> Iterator[str]:
    """A case for people."""
    p = prediction
    yield headline(p)
    closed = "" if p.analytic is None else f"; closed form {percent(p.analytic)}"
    yield (
        f"  large messages reach {band_text(p.reached)} % of line rate (p50 [p5-p95] of {counted(p.case.seeds, 'seed')})"
        f"; placement allows {percent(p.placement_bound)}{closed}"
    )
    for note in p.notes:
        yield f"  note: {note}"
    yield ""
    yield f"  {'size':>6}  {'reached':>14}  {'latency alone':>13}  {'congestion alone':>16}  protocol"
    for one in p.points:
        yield (
            f"  {size_text(one.size):>6}  {band_text(one.reached):>14}  {percent(one.latency_only):>13}"
            f"  {band_text(one.congestion_only):>16}  {one.protocol}"
        )
    yield ""
    steps = " -> ".join(f"{loss.step} {percent(loss.left)}" for loss in p.waterfall)
    yield f"  where it goes at {size_text(p.points[-1].size)}: {steps}"
    yield from _hot(p)
    if p.change is None:
        free = p.reached.p5 >= 98
        yield "  no link holds it back" if free else "  no single change that is known here removes the bottleneck"
    else:
        yield f"  first change: {p.change.what} ({p.change.key}): {band_text(p.change.reached)} %"


def _hot(p: Prediction) -> Iterator[str]:
    if not p.hot:
        return
    yield "  fullest links (1.00 = their rate), and rank pairs on them:"
    for link in p.hot:
        pairs = ", ".join(f"{src}->{dst}" for src, dst in link.pairs) or "small parts of flows that are spread"
        more = f", of {counted(link.flows, 'flow')}" if link.flows > len(link.pairs) else ""
        yield f"    {link.load:5.2f}  {link.tier:<9}  {link.name}  {pairs}{more}"


def beside(predictions: Sequence[Prediction]) -> Iterator[str]:
    """Several cases side by side: what is reached at each size."""
    sizes = sorted({point.size for one in predictions for point in one.points})
    widths = [max(14, len(one.case.name)) for one in predictions]
    yield "side by side, % of line rate, p50 [p5-p95]"
    yield "  ".join([f"{'size':>6}", *(f"{one.case.name:>{w}}" for one, w in zip(predictions, widths, strict=True))])
    for size in sizes:
        cells = []
        for one, width in zip(predictions, widths, strict=True):
            point = next((point for point in one.points if point.size == size), None)
            cells.append(f"{'-' if point is None else band_text(point.reached):>{width}}")
        yield "  ".join([f"{size_text(size):>6}", *cells])
    cells = [f"{band_text(one.reached):>{w}}" for one, w in zip(predictions, widths, strict=True)]
    yield "  ".join([f"{'limit':>6}", *cells])


def document(prediction: Prediction) -> dict[str, Any]:
    """A case as data: the fields of `Prediction`, a long list of hosts cut to its number."""
    found = asdict(prediction)
    case: Case = prediction.case
    found["case"]["hosts"] = list(case.hosts[:8])
    found["case"]["hosts_total"] = len(case.hosts)
    found["case"]["left_out"] = list(case.left_out[:8])
    found["case"]["left_out_total"] = len(case.left_out)
    found["notes"] = list(prediction.notes)
    found["tiers"] = dict(prediction.tiers)
    return found
