"""The jinja2 environment of the files of subnet managers."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fabric.resources import resource


@cache
def environment() -> Environment:
    """The environment; templates are compiled once a process. An undefined name is an error, never an empty text."""
    return Environment(
        loader=FileSystemLoader(resource("templates") / "opensm"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        autoescape=False,  # noqa: S701 - configuration files are no HTML; the spec refuses control characters
    )


def fill(template: str, **values: object) -> bytes:
    """The text of `templates/opensm/TEMPLATE.j2`, as bytes."""
    return environment().get_template(f"{template}.j2").render(values).encode("ascii")
