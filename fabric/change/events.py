"""What happens during a run, as values: the journal, the progress on a terminal and `--json` are all fed from these.

As JSON: `{"event": NAME, ...fields}`; the journal adds `"t"`, a UTC time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

Result = Literal[
    "done", "unchanged", "dry-run", "not-started", "refused", "failed", "rolled-back", "reverted", "lost", "broken",
    "pending", "unknown",
]  # fmt: skip
"""How a device ends:

done         holds what is declared, confirmed and read back
unchanged    held it already
dry-run      looked at, nothing changed
not-started  nothing was sent
refused      nothing was sent: the device is not as planned, or somebody else is changing it
failed       the change never came into force; the device holds its old state
rolled-back  returned to its old state by us, read back
reverted     returned to its old state by its own timer, read back
lost         cannot be reached (or was left): its timer returns it, nobody has seen it
broken       reached, and it holds neither the old nor the new state; a host also: it is not well after its change
pending      a host that is as declared but for a reboot that was not allowed
unknown      a host that nobody has seen since it was sent something: who ran it was lost, or was stopped
"""
GOOD: frozenset[str] = frozenset({"done", "unchanged", "dry-run"})
OLD: frozenset[str] = frozenset({"not-started", "refused", "failed", "rolled-back", "reverted"})


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The run begins; `hosts` are all devices that it is about, so that an observer has its totals.

    `kind`: `devices`, or `hosts` for a run of Ansible on GPU hosts; it has no timer, and goes on with these `options`.
    """

    run: str
    verb: str
    spec: str
    spec_sha256: str
    tool_version: str
    hosts: tuple[str, ...]
    waves: tuple[tuple[str, ...], ...]
    timer_s: int
    dry_run: bool = False
    kind: str = "devices"
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WaveStarted:
    """A wave begins."""

    number: int
    title: str
    devices: tuple[str, ...]
    canary: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A device is about to take a step (`staging`, `committing`, `confirming`, `rolling-back`) or has taken one.

    `data` holds what a later run needs: the token, the fingerprint before, what was up.
    """

    device: str
    step: str
    detail: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ended:
    """A device is through. `after` is the fingerprint of what it holds, "" when that is not known."""

    device: str
    result: Result
    detail: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class WaveEnded:
    """A wave is through; `problems` are what its gate found, "" entries never."""

    number: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth knowing that is no failure."""

    text: str
    device: str = ""


@dataclass(frozen=True, slots=True)
class Leftover:
    """A staged change, never in force, stays on a device that could not be reached (`there`), or is gone from it. It may hold secrets."""

    device: str
    there: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over: how many devices ended how, and why it stopped early ("" when it did not)."""

    run: str
    counts: Mapping[str, int]
    stopped: str = ""


Event = RunStarted | WaveStarted | Step | Ended | WaveEnded | Note | Leftover | RunEnded
Observer = Callable[[Event], None]

_NAMES: dict[str, type[Any]] = {
    "run-started": RunStarted,
    "wave-started": WaveStarted,
    "step": Step,
    "ended": Ended,
    "wave-ended": WaveEnded,
    "note": Note,
    "leftover": Leftover,
    "run-ended": RunEnded,
}
_BY_TYPE = {kind: name for name, kind in _NAMES.items()}


def to_record(event: Event) -> dict[str, Any]:
    """The event as JSON data."""
    return {"event": _BY_TYPE[type(event)], **asdict(event)}


def from_record(record: Mapping[str, Any]) -> Event:
    """The event of a journal's record; unknown keys are ignored. Raises KeyError, TypeError for what is none."""
    kind = _NAMES[record["event"]]
    values = {f.name: record[f.name] for f in fields(kind) if f.name in record}
    event: Event = kind(**{name: _frozen(value) for name, value in values.items()})
    return event


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
