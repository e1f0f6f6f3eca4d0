"""The configuration text of a device from its templates, and template errors that say where and what."""

from __future__ import annotations

import dataclasses
import difflib
import re
import sys
from pathlib import Path
from types import TracebackType

from jinja2 import Environment, TemplateSyntaxError

from fabric.errors import FabricError
from fabric.targets.eos.view import DeviceView
from fabric.templating import environment

MAIN = "startup-config.j2"


def render_text(view: DeviceView, env: Environment | None = None) -> str:
    """The configuration text of a device; FabricError with device, template and line when a template fails."""
    env = env or environment("eos")
    try:
        return env.get_template(MAIN).render(v=view)
    except FabricError:
        raise
    except Exception as error:  # whatever a template does wrong, the user gets its place
        raise _located(view, error) from error


def _located(view: DeviceView, error: Exception) -> FabricError:
    place = (
        f"{error.name or MAIN}:{error.lineno}"
        if isinstance(error, TemplateSyntaxError)
        else _place(error.__traceback__)
    )
    return FabricError(f"{view.name}: templates/eos/{place}: {error}", hint=_near(view, str(error)))


def _place(trace: TracebackType | None) -> str:
    """`template:line` of the innermost template frame (jinja2 rewrites the traceback to template lines)."""
    place = MAIN
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.suffix == ".j2":
            place = f"{file.name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _near(view: DeviceView, message: str) -> str | None:
    """Names of the view that are near to the last name that the message quotes."""
    quoted = re.findall(r"'([A-Za-z_]\w*)'", message)
    if not quoted:
        return None
    found = difflib.get_close_matches(quoted[-1], sorted(_names(type(view))), n=3)
    return f"near: {', '.join(found)}" if found else None


def _names(kind: type) -> set[str]:
    """Field names of a view class, and of all view classes that the modules of such classes know."""
    names = {"v"}
    waiting: list[type] = [kind]
    seen: set[type] = set()
    while waiting:
        current = waiting.pop()
        fields = [field.name for field in dataclasses.fields(current)] if dataclasses.is_dataclass(current) else []
        fields += getattr(current, "_fields", ())  # a NamedTuple's
        if fields and current not in seen:
            names.update(fields)
            waiting += [value for value in vars(sys.modules[current.__module__]).values() if isinstance(value, type)]
        seen.add(current)
    return names
