"""All pictures on one sheet, as SVG that stands alone: light, and dark where the viewer says so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from fabric.export.prediction_page.case import case_view
from fabric.export.prediction_page.curves import curves
from fabric.predict.model import Prediction
from fabric.resources import resource
from fabric.templating import environment as jinja
from fabric.words import counted, printable

COLOURS: tuple[tuple[str, str], ...] = (
    ("#0b5fa5", "#7ab8f5"), ("#a40e26", "#ff8a98"), ("#1a5e33", "#7fd49b"), ("#7a4a00", "#f0b95c"),
    ("#6b2fa0", "#c9a2f2"), ("#1b1f24", "#e6e9ed"), ("#006d77", "#76d7dd"), ("#8a1c6f", "#f29ad6"),
)  # fmt: skip
"""(light, dark) colour of each style; contrast with the paper is above 4.5 in both."""
CASES = 12
"""Cases on a sheet; the page holds all. Our choice: as a PNG it takes 100 MB of memory then."""
DASHES: tuple[str, ...] = ("", "9 4", "3 3", "12 3 3 3", "1 4", "16 5", "6 2 2 2 2 2", "4 8")


def sheet(predictions: Sequence[Prediction], *, title: str, styled: bool = True) -> str:
    """The SVG. Without `styled` it has no style sheet: for programs that turn it into dots and know only attributes."""
    figure, cases = curves(predictions), [case_view(one) for one in predictions[:CASES]]
    tops, top = [], figure.height + 50
    for case in cases:
        tops.append(top)
        top += case.height + 16
    left = len(predictions) - len(cases)
    bias = printable(predictions[0].bias) if predictions else ""
    bias = f"{counted(left, 'case')} more: the HTML page holds all. {bias}" if left else bias
    return environment().get_template("sheet.svg.j2").render(
        title=printable(title), figure=figure, cases=list(zip(tops, cases, strict=True)), height=top + 24,
        bias=bias, style=Markup(picture_style()) if styled else "",  # noqa: S704 - made of our own colours
    )  # fmt: skip


def picture_style() -> str:
    """What changes in the dark: presentation attributes hold the light colours, a style sheet wins over them."""
    text = template_text("picture.css")
    lines = [
        f"  .l{number} {{ stroke: {dark}; }} .f{number} {{ fill: {dark}; }}" for number, (_, dark) in enumerate(COLOURS)
    ]
    return text.replace("  /* series */", "\n".join(lines))


def template_text(name: str) -> str:
    """A file of templates/predict."""
    path: Path = resource("templates") / "predict" / name
    return path.read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """The one environment of these templates: everything is escaped, nothing may be undefined."""
    made = jinja("predict", html=True)
    made.globals.update(colours=[light for light, _ in COLOURS], dashes=DASHES)
    return made
