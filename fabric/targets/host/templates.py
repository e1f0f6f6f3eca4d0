"""The jinja2 environment of the files of hosts, and the first line that they share."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from fabric.resources import resource

HEAD = "Written by fabric from the cluster's spec: change it there, not here"


@cache
def template(name: str, folder: str = "host") -> Template:
    """`templates/FOLDER/NAME.j2`, compiled once a process; one lookup here is cheaper than jinja2's own for 3,072 hosts."""
    return _environment(folder).get_template(f"{name}.j2")


@cache
def _environment(folder: str) -> Environment:
    return Environment(
        loader=FileSystemLoader(resource("templates") / folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        autoescape=False,  # noqa: S701 - configuration files are no HTML; the spec refuses control characters
    )


def fill(name: str, folder: str = "host", **values: object) -> bytes:
    """The text of `templates/FOLDER/NAME.j2`, as bytes; an undefined name is an error, never an empty text."""
    return template(name, folder).render(head=HEAD, **values).encode()
