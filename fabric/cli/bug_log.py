"""The log file of a bug: versions, the command (secrets masked) and the traceback. Loaded only when there is one."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

_PACKAGES = ("clusterfabric", "click", "pydantic", "PyYAML", "jinja2", "netmiko")


def write_log(error: BaseException, argv: list[str], mask: Callable[[str], str]) -> Path | None:
    """Writes the log into the state folder, or into the folder for temporary files; None when neither takes it."""
    from fabric.cli.boundary import state_folder

    text = _text(error, argv, mask)
    name = f"error-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-"
    for make in (state_folder, lambda: Path(tempfile.gettempdir())):
        try:
            folder = make()
            folder.mkdir(parents=True, exist_ok=True)
            # mkstemp: a new file that only its owner may read, whoever else writes into the folder
            handle, path = tempfile.mkstemp(prefix=name, suffix=".log", dir=folder)
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except (OSError, RuntimeError):  # RuntimeError: Path.home() without a home
            continue
        return Path(path)
    return None


def _text(error: BaseException, argv: list[str], mask: Callable[[str], str]) -> str:
    lines = [
        f"time: {datetime.now(UTC).isoformat(timespec='seconds')}",
        f"python: {sys.version.split()[0]} on {platform.platform()}",
        *(f"{package}: {_version(package)}" for package in _PACKAGES),
        f"command: fabric {argv!r}",
        "",
        mask("".join(traceback.format_exception(error))),
    ]
    return "\n".join(lines)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
