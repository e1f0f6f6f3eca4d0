"""Normalised bandwidth against message size: a line and a band for each case, each told apart without colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fabric.predict.model import Point, Prediction
from fabric.words import counted, printable

WIDTH, HEIGHT = 960.0, 440.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 690.0, 34.0, 384.0
"""The plot's frame in the picture, in pixels; the names of the cases stand right of it."""
STYLES = 8
"""Cases that can be told apart (colour, dashes and markers differ); more are left out, and counted."""
_GAP = 31.0  # two lines of text
_TICKS = 9


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the grid at `at` pixels, and what is written beside it."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Series:
    """One case. `band` encloses percentiles 5 to 95, `line` joins the medians; `style` from 0 chooses colour, dashes and marker."""

    style: int
    name: str
    said: str
    line: str
    band: str
    marks: tuple[tuple[float, float, str], ...]
    end: tuple[float, float]
    label_y: float
    latency: str = ""


@dataclass(frozen=True, slots=True)
class Curves:
    """The picture. `text` says it in words, `note` what is left out of it."""

    text: str
    series: tuple[Series, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    note: str
    height: float = HEIGHT


def curves(predictions: Sequence[Prediction]) -> Curves:
    """The figure of all cases that have sizes."""
    drawn = [one for one in predictions if one.points][:STYLES]
    left = len(predictions) - len(drawn)
    low, high = _range([point.size for one in drawn for point in one.points])
    labels = _apart([_y(one.points[-1].reached.p50) for one in drawn])
    series = tuple(
        _series(number, one, (low, high), label, alone=len(drawn) == 1)
        for number, (one, label) in enumerate(zip(drawn, labels, strict=True))
    )
    note = f"{counted(left, 'case')} not drawn: no sizes, or over {STYLES}" if left else ""
    return Curves(_text(drawn), series, _sizes(low, high), _percents(), note)


def size_text(size: int) -> str:
    """`64K`, `1M`, `1.5G`: powers of 1024, as nccl-tests writes sizes."""
    for unit, text in ((1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if size >= unit:
            return f"{size / unit:.4g}{text}"
    return str(size)


def _range(sizes: Sequence[int]) -> tuple[float, float]:
    """The logarithms (base 2) of both ends of the axis; a single size stands in the middle."""
    if not sizes:
        return 10.0, 34.0
    low, high = math.log2(min(sizes)), math.log2(max(sizes))
    return (low, high) if high - low >= 1 else (low - 1, high + 1)


def _x(size: int, span: tuple[float, float]) -> float:
    return LEFT + (RIGHT - LEFT) * (math.log2(size) - span[0]) / (span[1] - span[0])


def _y(percent: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * min(max(percent, 0.0), 100.0) / 100


def _series(number: int, one: Prediction, span: tuple[float, float], label_y: float, *, alone: bool) -> Series:
    points = sorted(one.points, key=lambda point: point.size)
    xs = [_x(point.size, span) for point in points]
    lower = [(x, _y(point.reached.p5)) for x, point in zip(xs, points, strict=True)]
    upper = [(x, _y(point.reached.p95)) for x, point in zip(xs, points, strict=True)]
    middle = [(x, _y(point.reached.p50)) for x, point in zip(xs, points, strict=True)]
    marks = tuple((x, y, _mark(point)) for (x, y), point in zip(middle, points, strict=True))
    latency = _line([(x, _y(point.latency_only)) for x, point in zip(xs, points, strict=True)]) if alone else ""
    last = points[-1].reached
    said = f"{one.gpus:,} GPUs: {last.p50:.0f} % [{last.p5:.0f}\u2013{last.p95:.0f}]"
    band = _line([*upper, *reversed(lower)]) + "Z"
    return Series(number, printable(one.case.name), said, _line(middle), band, marks, middle[-1], label_y, latency)


def _mark(point: Point) -> str:
    band = point.reached
    return (
        f"{size_text(point.size)}: {band.p50:.1f} % [{band.p5:.1f}\u2013{band.p95:.1f}], latency alone {point.latency_only:.1f} %, "
        f"congestion alone {point.congestion_only.p50:.1f} %, {printable(point.protocol)}"
    )


def _line(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _apart(wanted: Sequence[float]) -> list[float]:
    """Heights of the names beside the ends of the lines: near them, and never over each other."""
    order = sorted(range(len(wanted)), key=lambda number: wanted[number])
    placed: dict[int, float] = {}
    floor = TOP + 6
    for number in order:
        placed[number] = floor = max(wanted[number], floor)
        floor += _GAP
    ceiling = BOTTOM - 14
    for number in reversed(order):
        placed[number] = ceiling = min(placed[number], ceiling)
        ceiling -= _GAP
    return [placed[number] for number in range(len(wanted))]


def _sizes(low: float, high: float) -> tuple[Tick, ...]:
    """Powers of two inside the axis, at even steps."""
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
    step = max(1, math.ceil((last - first) / _TICKS))
    span = (low, high)
    return tuple(Tick(_x(1 << power, span), size_text(1 << power)) for power in range(max(first, 0), last + 1, step))


def _percents() -> tuple[Tick, ...]:
    return tuple(Tick(_y(percent), str(percent)) for percent in range(0, 101, 10))


def _text(drawn: Sequence[Prediction]) -> str:
    if not drawn:
        return "No case has sizes: there is nothing to draw against message size."
    said = "; ".join(
        f"{printable(one.case.name)} up to {max(p.reached.p50 for p in one.points):.0f} %" for one in drawn
    )
    return f"Normalised bandwidth in percent of the NIC's line rate against message size, median and percentiles 5 to 95: {said}"
