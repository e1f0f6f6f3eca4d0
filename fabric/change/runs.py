"""The runs of a cluster as they stand on disk: STATE/runs/<id>/{journal.jsonl,plan.json,spec.yaml}."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric.change.clock import Clock, run_id
from fabric.change.events import GOOD, OLD, Ended, Event, Leftover, RunEnded, RunStarted, Step, WaveEnded
from fabric.change.files import cannot, read_regular, write_atomic
from fabric.change.journal import NAME, Journal, began_at, read_journal
from fabric.change.lock import holder
from fabric.change.plan import Plan
from fabric.change.planfile import load_plan, save_plan
from fabric.errors import FabricError

FOLDER = "runs"
PLAN = "plan.json"
SPEC = "spec.yaml"
"""The spec that the run was made of: it is finished by this one, whatever has become of the file since."""
SPEC_LIMIT = 64 << 20
IN_FORCE = frozenset({"committing", "committed", "checking", "confirming", "confirmed", "rolling-back"}) | {
    "configuring", "rebooting", "examining", "returning",
}  # fmt: skip
"""Steps after which the device may hold the new state; the second row is of hosts."""
STAGED = frozenset({"staging", "staged"})
"""Steps after which a staged change may lie on the device."""
CLEAN = frozenset({"done", "unchanged", "rolled-back", "reverted"})
"""Results of devices from which everything staged was removed, or taken into use."""


@dataclass(slots=True)
class DeviceRecord:
    """What the journal says of one device. `before` is the fingerprint before the change, `facts` what was up.

    `deferred` is what was not waited for at its gate: see `fabric.change.deferred`.
    """

    name: str
    step: str = ""
    token: str = ""
    before: str = ""
    after: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    deferred: tuple[Mapping[str, Any], ...] = ()
    committed: str = ""
    result: str = ""
    detail: str = ""
    touched: bool = False
    leftover: bool | None = None

    @property
    def littered(self) -> bool:
        """Whether a staged change, which may hold secrets, lies on it or may do so: it could not be removed, or a kill came between."""
        return self.step in STAGED and not self.result if self.leftover is None else self.leftover

    @property
    def open(self) -> bool:
        """Whether nobody knows how it ended."""
        return bool(self.step) and (not self.result or self.result in ("lost", "broken", "unknown"))


@dataclass(slots=True)
class RunRecord:
    """One run. `ended` is its end as recorded, None when it was killed; `verb` what was done last,
    `problems` what its gates found; `running` says that another process is at it.
    """

    id: str
    folder: Path
    started: RunStarted
    at: str
    devices: dict[str, DeviceRecord]
    last: str = ""
    verb: str = ""
    ended: RunEnded | None = None
    problems: list[str] = field(default_factory=list)
    running: bool = False

    @property
    def of_hosts(self) -> bool:
        """Whether it is a run of Ansible on GPU hosts."""
        return self.started.kind == "hosts"

    @property
    def status(self) -> str:
        """`running`, `complete`, `interrupted` (killed), `incomplete` (stopped, failures), `rolled back`, `dry run`."""
        if self.ended is None:
            return "running" if self.running else "interrupted"
        if self.started.dry_run:
            return "dry run"
        held = [d for d in self.devices.values() if d.touched and d.result not in OLD]
        if self.verb == "rollback":
            return "incomplete" if held or self.problems else "rolled back"
        well = not self.problems and all(d.result in GOOD for d in self.devices.values())
        return "complete" if well else "incomplete"

    @property
    def counts(self) -> dict[str, int]:
        """Devices by result; `open` where a killed run left one in the middle, `not-started` where it never came to one."""
        found: dict[str, int] = {}
        for device in self.devices.values():
            key = device.result or ("open" if device.touched else "not-started")
            found[key] = found.get(key, 0) + 1
        return found

    def plan(self) -> Plan:
        """The plan that the run was started with."""
        return load_plan(self.folder / PLAN)

    def spec_text(self) -> str | None:
        """The spec that the run was made of, as it was; None when the run has not kept it. Raises FabricError."""
        path = self.folder / SPEC
        try:
            data = read_regular(str(path), SPEC_LIMIT)
        except OSError as error:
            raise cannot("read", path, error) from error
        if data is None or hashlib.sha256(data).hexdigest() != self.started.spec_sha256:
            return None
        return data.decode("utf-8", "replace")


def new_run(state: Path, plan: Plan, clock: Clock, spec_text: str = "") -> tuple[str, Path]:
    """A new run's id and folder, with its copies of the plan and the spec; the state folder is there (the lock is in it).

    `spec_text` is free of secrets (`keep.without_secrets`); "" keeps none. Raises FabricError.
    """
    base = run_id(clock.now())
    for number in range(1, 1000):
        name = base if number == 1 else f"{base}-{number}"
        folder = state / FOLDER / name
        try:
            folder.parent.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        except OSError as error:
            raise cannot("make the folder", folder, error) from error
        save_plan(plan, folder / PLAN)
        if spec_text:
            write_atomic(folder / SPEC, spec_text.encode(), 0o600)
        return name, folder
    raise FabricError(f"there are a thousand runs of {base}")


def open_journal(folder: Path, clock: Clock) -> Journal:
    """The journal of a run's folder."""
    return Journal(folder / NAME, clock)


def began(state: Path, name: str) -> bool:
    """Whether anything of a run is on disk: one whose first line could not be written can be neither resumed nor rolled back."""
    try:
        return (state / FOLDER / name / NAME).stat().st_size > 0
    except OSError:
        return False


def list_runs(state: Path, damaged: Callable[[FabricError], None] = lambda _error: None) -> Iterator[RunRecord]:
    """All runs that began, the oldest first. A journal that cannot be read goes to `damaged`, and holds up no other run."""
    for name in _names(state):
        try:
            found = _load(state, name)
        except FabricError as error:
            damaged(error)
            continue
        if found is not None:
            yield found


def load_run(state: Path, name: str) -> RunRecord:
    """A run by its id, or `last`. Raises FabricError when there is none, or when its journal cannot be read."""
    names = _names(state)
    if name == "last":
        for last in reversed(names):
            found = _load(state, last)
            if found is not None:
                return found
    if name not in names:
        known = f"the last ones are {', '.join(names[-3:])}" if names else "there has been none"
        raise FabricError(f"there is no run {name!r} in {state}", hint=known)
    found = _load(state, name)
    if found is None:
        raise FabricError(f"run {name} never began: its journal is empty")
    return found


def _names(state: Path) -> list[str]:
    """The runs, the oldest first. An id tells the second only, and a folder may have been renamed: the journal knows."""
    try:
        folders = [entry for entry in (state / FOLDER).iterdir() if (entry / NAME).is_file()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise cannot("read", state / FOLDER, error) from error
    return [folder.name for folder in sorted(folders, key=lambda it: (began_at(it / NAME), len(it.name), it.name))]


def _load(state: Path, name: str) -> RunRecord | None:
    folder = state / FOLDER / name
    run: RunRecord | None = None
    for at, event in read_journal(folder / NAME):
        if isinstance(event, RunStarted) and run is None:
            run = RunRecord(name, folder, event, at, {host: DeviceRecord(host) for host in event.hosts})
        if run is not None:
            run.last = at
            _take(run, at, event)
    if run is not None and run.ended is None:
        now = holder(state)
        run.running = (
            now is not None and run.last >= now.started
        )  # one may be planning still, beside a run that was killed
    return run


def _take(run: RunRecord, at: str, event: Event) -> None:
    if isinstance(event, Step):
        _step(run.devices.setdefault(event.device, DeviceRecord(event.device)), at, event)
    elif isinstance(event, Ended):
        device = run.devices.setdefault(event.device, DeviceRecord(event.device))
        if event.result == "not-started" and device.touched and device.result not in OLD:
            return  # it was not come to this time: it is as an earlier part of the run left it
        device.result, device.detail, device.after = event.result, event.detail, event.after
        device.leftover = None if event.result in CLEAN else device.leftover
    elif isinstance(event, Leftover):
        run.devices.setdefault(event.device, DeviceRecord(event.device)).leftover = event.there
    elif isinstance(event, RunStarted):
        run.ended, run.verb = None, event.verb
        run.problems.clear()
    elif isinstance(event, RunEnded):
        run.ended = event
    elif isinstance(event, WaveEnded):
        run.problems += event.problems


def _step(device: DeviceRecord, at: str, event: Step) -> None:
    device.step, device.result, device.detail = event.step, "", event.detail
    device.token = str(event.data.get("token", device.token))
    device.before = str(event.data.get("before", device.before))
    device.facts = event.data.get("facts", device.facts)
    device.deferred = tuple(event.data.get("deferred", device.deferred))
    if event.step in IN_FORCE:
        device.touched = True
    if event.step in STAGED:
        device.leftover = None
    if event.step == "committing":
        device.committed = at
