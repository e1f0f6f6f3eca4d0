"""The flight recorder's report as one HTML file: no script, no network, everything from the dumps escaped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabric.templating import environment

ROWS = 500
"""Rows of a table that are written out; the page says how many more there are."""


def page(document: Mapping[str, Any]) -> bytes:
    """The page of a document of version `fabric.flight-recorder/1`, UTF-8."""
    return (
        environment("flight_recorder", html=True)
        .get_template("page.html.j2")
        .render(rows=ROWS, **document)
        .encode("utf-8", "replace")
    )
