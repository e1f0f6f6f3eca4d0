"""One run of Ansible as a value, and what became of each host in it. Both travel as JSON text, also to other control machines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from fabric import __version__
from fabric.errors import FabricError

Outcome = Literal["unchanged", "changed", "failed", "unreachable", "unknown"]
"""What a run did on a host. `unknown`: the run ended, or was lost, before it told anything final of the host."""


@dataclass(frozen=True, slots=True)
class Work:
    """A run of `playbook` (a name in the package's own folder) on `hosts`.

    `spec_text` is the spec, which the other machine may not have as a file; `spec` is where it lies here, "" where only the text
    counts. `check` changes nothing. `forks`: hosts at once; `deadline_s`: seconds for the whole run. `concern`: the playbook of one
    concern instead of all ("" for all).
    """

    spec_text: str
    spec: str
    playbook: str
    hosts: tuple[str, ...]
    check: bool
    forks: int
    deadline_s: float
    concern: str = ""
    tool_version: str = __version__

    def dump(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file that a task changed, or would change: `kind` new, changed, replaced or removed, and the hunks of its difference."""

    path: str
    kind: str
    note: str
    hunks: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task that changed something, or would."""

    role: str
    task: str
    files: tuple[FileRow, ...]

    @property
    def title(self) -> str:
        """`network: Write the files`."""
        return f"{self.role}: {self.task}" if self.role else self.task


@dataclass(frozen=True, slots=True)
class HostOutcome:
    """One host after a run. `reboot`: concern -> why it waits for a reboot; `detail` says why it failed."""

    host: str
    outcome: Outcome
    detail: str = ""
    tasks: tuple[TaskRow, ...] = ()
    reboot: Mapping[str, str] = field(default_factory=dict)


def load_work(text: str) -> Work:
    """The inverse of `Work.dump`. Raises FabricError for another version's."""
    raw = json.loads(text)
    if raw.get("tool_version") != __version__:
        made = (
            f"the work was sent by fabric {str(raw.get('tool_version'))[:40]}, this control machine has {__version__}"
        )
        raise FabricError(made, hint="install the same version on all control machines")
    return Work(**{**raw, "hosts": tuple(raw["hosts"])})


def dump_outcomes(outcomes: Mapping[str, HostOutcome]) -> str:
    """As JSON."""
    return json.dumps([asdict(outcome) for outcome in outcomes.values()])


def load_outcomes(text: str) -> dict[str, HostOutcome]:
    """The inverse of `dump_outcomes`. Raises FabricError for what is none."""
    try:
        return {str(raw["host"]): _outcome(raw) for raw in json.loads(text)}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FabricError(f"a control machine answered what cannot be read: {type(error).__name__}") from error


def _outcome(raw: Mapping[str, Any]) -> HostOutcome:
    tasks = tuple(TaskRow(t["role"], t["task"], tuple(file_row(f) for f in t["files"])) for t in raw["tasks"])
    reboot = {str(k): str(v) for k, v in raw["reboot"].items()}
    return HostOutcome(str(raw["host"]), raw["outcome"], str(raw["detail"]), tasks, reboot)


def file_row(raw: Mapping[str, Any]) -> FileRow:
    """A file's row from JSON data."""
    hunks = tuple(tuple(str(line) for line in hunk) for hunk in raw["hunks"])
    return FileRow(str(raw["path"]), str(raw["kind"]), str(raw["note"]), hunks)
