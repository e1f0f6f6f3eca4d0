"""A plot's file: what kind it is follows from its name."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from fabric.change.files import write_atomic
from fabric.errors import FabricError
from fabric.export.prediction_page.page import prediction_page
from fabric.export.prediction_page.sheet import sheet
from fabric.predict.model import Prediction

KINDS = (".svg", ".png", ".html")
FONTS = "system-ui, 'DejaVu Sans', Arial, sans-serif"
"""As in sheet.svg.j2."""
ZOOM = 2
"""Dots of a PNG for each pixel of the drawing: sharp in a slide."""


def check_plot_path(path: Path) -> None:
    """FabricError for a kind of file that is not drawn, a folder that is not there, and for a PNG without the library for it."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise FabricError(f"{path}: a plot is a file {', '.join(KINDS[:-1])} or {KINDS[-1]}", hint="name it FILE.svg")
    if not path.parent.is_dir():
        raise FabricError(f"cannot write {path}: there is no folder {path.parent}", hint="make it first")
    if path.is_dir():
        raise FabricError(f"cannot write {path}: there is a folder of that name", hint="name it FILE.svg")
    if kind == ".png" and importlib.util.find_spec("resvg_py") is None:
        raise FabricError(
            f"{path}: a PNG needs the library resvg_py, which is not installed",
            hint="pip install 'clusterfabric[plot]', or name it FILE.svg",
        )
    if kind == ".png" and not _has_fonts():
        raise FabricError(
            f"{path}: neither DejaVu Sans nor Arial is installed, and a PNG without a font has no words",
            hint="install fonts-dejavu-core, or name it FILE.svg",
        )


def _has_fonts() -> bool:
    """Whether the library finds a font of the sheet's: a word that is drawn differs from nothing."""
    start = f'<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" font-family="{FONTS}"><text y="20" font-size="20">'
    drawn, empty = (png(f"{start}{word}</text></svg>") for word in ("M", ""))
    return drawn != empty


def plot(
    path: Path, predictions: Sequence[Prediction], *, title: str, sources: Sequence[str] = (), at: str = ""
) -> int:
    """Writes the pictures of all predictions to `path`, all of it or nothing; its bytes.

    `title`: the cluster's name; `sources`: files it was made from; `at`: UTC as text. FabricError as of `check_plot_path`, and when
    it cannot be written.
    """
    check_plot_path(path)
    kind = path.suffix.lower()
    if kind == ".html":
        data = prediction_page(predictions, title=title, sources=sources, at=at).encode("utf-8", "replace")
    elif kind == ".svg":
        data = sheet(predictions, title=title).encode("utf-8", "replace")
    else:
        data = png(sheet(predictions, title=title, styled=False))
    write_atomic(path, data)
    return len(data)


def png(drawing: str) -> bytes:
    """The drawing as a PNG on white paper, twice its size."""
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=drawing, background="#ffffff", zoom=ZOOM))
