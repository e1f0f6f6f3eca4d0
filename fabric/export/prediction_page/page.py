"""The pictures and all their numbers as one HTML file. Same input, same bytes: the time is given, never read."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fabric import __version__
from fabric.export.prediction_page.case import CaseView, band_text, case_view, describe
from fabric.export.prediction_page.curves import curves, size_text
from fabric.export.prediction_page.sheet import environment, picture_style, template_text
from fabric.predict.model import Prediction
from fabric.words import printable


@dataclass(frozen=True, slots=True)
class Row:
    """One size in the table of a case, as text."""

    size: str
    reached: str
    latency: str
    congestion: str
    protocol: str


@dataclass(frozen=True, slots=True)
class Case:
    """One case in the page. `analytic` as text, empty where the closed form does not apply."""

    one: Prediction
    view: CaseView
    what: str
    reached: str
    analytic: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


def prediction_page(predictions: Sequence[Prediction], *, title: str, sources: Sequence[str] = (), at: str = "") -> str:
    """The whole file: its styles are in it, it has no script, and its policy forbids to load anything. All names are escaped."""
    style = template_text("page.css") + picture_style()
    return environment().get_template("page.html.j2").render(
        title=printable(title), tool=__version__, at=at, sources=[printable(name) for name in sources],
        figure=curves(predictions), cases=[_case(one) for one in predictions],
        style=Markup(style), policy=_policy(style),  # noqa: S704 - a file of ours and our own colours
    )  # fmt: skip


def _case(one: Prediction) -> Case:
    analytic = "" if one.analytic is None else f"{one.analytic:.0f} %"
    rows = tuple(
        Row(
            size_text(point.size), _band(point.reached.p5, point.reached.p50, point.reached.p95), f"{point.latency_only:.1f}",
            _band(point.congestion_only.p5, point.congestion_only.p50, point.congestion_only.p95), printable(point.protocol),
        )
        for point in one.points
    )  # fmt: skip
    return Case(
        one, case_view(one), describe(one), band_text(one.reached.p5, one.reached.p50, one.reached.p95), analytic, rows,
        tuple(map(printable, one.notes)),
    )  # fmt: skip


def _band(p5: float, p50: float, p95: float) -> str:
    return f"{p50:.1f} [{p5:.1f}\u2013{p95:.1f}]"


def _policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
