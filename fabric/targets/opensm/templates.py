"""The files of subnet managers from their templates."""

from __future__ import annotations

from fabric.templating import environment


def fill(template: str, **values: object) -> bytes:
    """The text of `templates/opensm/TEMPLATE.j2`, as bytes."""
    return environment("opensm").get_template(f"{template}.j2").render(values).encode("ascii")
