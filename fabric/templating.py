"""The one way in which this package sets up jinja2, whatever it writes."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fabric.resources import resource


@cache
def environment(folder: str, *, html: bool = False) -> Environment:
    """The environment of `templates/FOLDER`; templates are compiled once a process. An undefined name is an error, never an empty text.

    `html`: all values are escaped. Configuration files are no HTML; the spec refuses control characters.
    """
    return Environment(
        loader=FileSystemLoader(resource("templates") / folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        autoescape=html,  # noqa: S701 - what is not HTML is escaped by nobody
    )
