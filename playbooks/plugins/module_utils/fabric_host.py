"""What the modules for GPU hosts share: what an earlier run left, what systemd and the package manager say. Standard library, Python 3.9."""

from __future__ import annotations

import fnmatch
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

STATE = "/var/lib/fabric/concerns"
"""Folder of a file for each concern: what was written there, and what has not yet been put into effect."""
REBOOT = "/run/fabric/reboot-required.d"
"""Folder of a file for each concern that waits for a reboot, with the reason; a reboot empties /run."""
_FOLDER = 0o755


class Failed(Exception):  # noqa: N818 - not an error of ours: what the task fails with
    """What the task fails with, in one line."""


class State:
    """What earlier runs of a concern left.

    `files`: path -> folders that were made for it. `packages`: pinned ones, which go when they are declared no more. `pending`: paths
    whose change has not been put into effect. `before`: pinned packages whose change has not, with the version before ("" = none).
    """

    def __init__(self, root: str, concern: str) -> None:
        self.path = place(root, f"{STATE}/{concern}.json")
        found: dict[str, Any] = {}
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            raise Failed(f"{self.path}: {error}") from error
        self.files: dict[str, list[str]] = dict(found.get("files", {}))
        self.packages: list[str] = list(found.get("packages", []))
        self.pending: list[str] = list(found.get("pending", []))
        self.before: dict[str, str] = dict(found.get("before", {}))
        self._saved = self._text()

    def _text(self) -> str:
        parts = {"files": self.files, "packages": self.packages, "pending": self.pending, "before": self.before}
        return json.dumps(parts, indent=1, sort_keys=True) + "\n"

    def save(self) -> None:
        """Writes it, if it is another than was read."""
        text = self._text()
        if text != self._saved:
            make_folders(self.path.parent)
            write(self.path, text.encode(), 0o644)
            self._saved = text


def place(root: str, path: str) -> Path:
    """Where the absolute `path` of a host is, when its file system begins at `root`."""
    return Path(root) / path.lstrip("/")


def make_folders(folder: Path) -> list[Path]:
    """Makes a folder and those above it; returns the ones that were not there, the lowest first."""
    made = []
    while not folder.is_dir():
        made.append(folder)
        folder = folder.parent
    for path in reversed(made):
        path.mkdir(_FOLDER)
        path.chmod(_FOLDER)
    return made


def write(path: Path, content: bytes, mode: int) -> None:
    """Puts a whole file in the place of another at once. It has its permissions from the first byte on."""
    descriptor, part = tempfile.mkstemp(prefix=".fabric-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(part).rename(path)
    except BaseException as error:
        Path(part).unlink()
        if isinstance(error, OSError) and not error.filename:  # a full disk does not say which file
            raise Failed(f"{path}: {error.strerror}") from error
        raise


def last_line(text: str) -> str:
    """The last line of a command's words that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


class Unit:
    """What systemd says of a unit."""

    _ENABLED = ("enabled", "enabled-runtime", "static", "alias", "generated", "indirect")

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._found = properties
        self.there = properties.get("LoadState") != "not-found"
        self.enabled = properties.get("UnitFileState") in self._ENABLED
        state = properties.get("ActiveState")
        self.active = state in ("active", "reloading")
        # A unit that its own conditions keep from running here (chrony in a container) runs as it should.
        looked = properties.get("ConditionTimestampMonotonic", "0") != "0"
        self.unwanted = looked and properties.get("ConditionResult") == "no" and state == "inactive"

    @property
    def runs(self) -> bool:
        """Whether nothing is to be started."""
        return self.active or self.unwanted

    def __str__(self) -> str:
        state = self._found.get("ActiveState", "of unknown state")
        return f"{self._found.get('UnitFileState') or 'not installed'}, {state}"


_PROPERTIES = "LoadState,UnitFileState,ActiveState,ConditionResult,ConditionTimestampMonotonic"


def units_of(module: Any, names: Iterable[str]) -> dict[str, Unit]:
    """What systemd says of units, by name."""
    asked = list(names)
    if not asked:
        return {}
    code, out, err = module.run_command(["systemctl", "show", f"--property={_PROPERTIES}", "--", *asked])
    if code:
        raise Failed(f"systemctl show: {last_line(err)}")
    blocks = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in out.split("\n\n")]
    return {name: Unit(block) for name, block in zip(asked, [b for b in blocks if b])}  # noqa: B905 - not in Python 3.9


def packages_of(module: Any, family: str, names: Iterable[str]) -> dict[str, tuple[str, bool]]:
    """Installed packages among `names`: name -> (version, whether it is held)."""
    asked = list(names)
    if not asked:
        return {}
    if family == "debian":
        form = "${Package}\\t${Version}\\t${db:Status-Want}\\t${db:Status-Status}\\n"
        _, out, _ = module.run_command(["dpkg-query", "--show", f"--showformat={form}", "--", *asked])
        rows = [line.split("\t") for line in out.splitlines()]
        return {name: (version, want == "hold") for name, version, want, status in rows if status == "installed"}
    form = "%{NAME}\\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}\\n"
    _, out, _ = module.run_command(["rpm", "--query", f"--queryformat={form}", "--", *asked])
    pairs = [line.split("\t") for line in out.splitlines() if "\t" in line]
    return {name: (version, True) for name, version in pairs}  # dnf's locks are a file of ours


def fits(have: str, wanted: str | None) -> bool:
    """Whether an installed version is the wanted one: exact, or a pattern; RPM's may lack the epoch, and the release."""
    if wanted is None:
        return True
    short = have.split(":", 1)[-1]
    return any(fnmatch.fnmatchcase(text, wanted) for text in (have, short, short.rsplit("-", 1)[0]))
