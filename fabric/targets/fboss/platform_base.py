"""The operator's base file: an agent.conf whose `platform` section holds the SDK settings of a box."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

from fabric.errors import DesignError, FabricError
from fabric.targets.fboss import wire
from fabric.targets.fboss.box import Box, Json
from fabric.targets.fboss.strict import compile_struct

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_CONTROL = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def place(box: Box) -> tuple[str, ...]:
    """Where the spec names the base file of a box."""
    return ("fboss", "platform_base", box.model)


def required(box: Box) -> FabricError:
    """The error for a box that cannot do without a base file, and has none."""
    return DesignError(
        ("fboss", "platform_base"),
        f"{box.model} needs fboss.platform_base[{box.model}]: no SDK configuration of its port map is public",
        hint=f"platform_base: {{{box.model}: FILE}}, an agent.conf of such a box whose platform section is used",
    )


def read_base(box: Box, name: str, base_dir: Path) -> Json:
    """The `platform` section of the base file `name` (relative to `base_dir`), strictly checked; one clear DesignError if it is bad.

    Files of the FBOSS repository hold raw newlines inside strings; these are read too.
    """
    path = base_dir / name
    try:
        if path.exists() and not path.is_file():  # a directory, or a device that never ends
            raise FabricError(f"{name}: is not a regular file")
        if path.is_file() and path.stat().st_size > wire.MAX_BYTES:
            raise FabricError(f"{name}: {path.stat().st_size} bytes, more than the {wire.MAX_BYTES} that are read")
        text = path.read_bytes().decode("utf-8")
        value = wire.loads(_STRING.sub(_escape, text), source=name)
        platform = value.get("platform") if isinstance(value, dict) else None
        if not isinstance(platform, dict):
            raise FabricError(f"{name}: it has no `platform` section, so it is not an agent.conf")
        problems = compile_struct("PlatformConfig")(platform)
        if problems:
            raise FabricError(f"{name}: platform: {problems[0]}")
        if "bcm" not in cast(Json, platform.get("chip") or {}):
            raise FabricError(f"{name}: platform.chip.bcm is missing, and {box.model} is configured there")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise DesignError(place(box), f"{box.model}: cannot read the base file {name}: {reason}") from None
    except ValueError:  # a NUL in the name
        raise DesignError(place(box), f"{box.model}: {name!r} is not a file name") from None
    except FabricError as error:
        raise DesignError(place(box), f"{box.model}: base file {error.message}", hint=error.hint) from None
    return platform


def _escape(match: re.Match[str]) -> str:
    text = match.group()
    for char, escaped in _CONTROL.items():
        if char in text:
            text = text.replace(char, escaped)
    return text
