"""The flight recorder's report as one HTML file: no script, no network, everything from the dumps escaped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fabric.resources import resource

ROWS = 500
"""Rows of a table that are written out; the page says how many more there are."""


def page(document: Mapping[str, Any]) -> bytes:
    """The page of a document of version `fabric.flight-recorder/1`, UTF-8."""
    environment = Environment(
        loader=FileSystemLoader(resource("templates") / "flight_recorder"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(rows=ROWS, **document).encode("utf-8", "replace")
