"""What would change on hosts: Ansible in check mode, told in the form of every other plan, equal changes grouped over hosts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fabric.change.abstract import Abstracter, Collapsed, alone, collapse, group_key
from fabric.change.diff import FileKind
from fabric.change.diff_model import Change
from fabric.change.hosts.runner import Runner
from fabric.change.hosts.work import FileRow, HostOutcome, TaskRow, Work
from fabric.change.plan import DevicePlan, FileChange, Group, Plan
from fabric.change.pool import Progress

ROLE = "host"
CHUNK = 256
"""Hosts in one run of check mode: memory of Ansible grows with them, and each run reads the spec once (our choice)."""
_KINDS: Mapping[str, FileKind] = {"new": "new", "removed": "removed", "replaced": "replaced"}
MakeWork = Callable[[Sequence[str], bool], Work]
"""(hosts, check mode) -> the work."""


@dataclass(frozen=True, slots=True)
class HostPlanner:
    """Plans hosts. `names` are those that differ from host to host, abstracted when changes are compared."""

    runner: Runner
    work: MakeWork
    names: frozenset[str]
    spec: str
    spec_sha256: str
    full: bool = False

    def plan(
        self, hosts: Sequence[str], progress: Progress | None = None, stop: Callable[[], bool] = lambda: False
    ) -> Plan:
        """The plan over these hosts. Raises FabricError when Ansible cannot begin."""
        abstracter = Abstracter(self.names)
        devices: list[DevicePlan] = []
        examples: dict[str, tuple[FileChange, ...]] = {}
        full: dict[str, tuple[FileChange, ...]] = {}
        for at in range(0, len(hosts), CHUNK):
            if stop():
                break
            chunk = hosts[at : at + CHUNK]
            outcomes = self.runner.run(self.work(chunk, True), lambda _hosts, _why: None)
            for host in chunk:
                device, files = _device(outcomes[host], abstracter)
                devices.append(device)
                if device.group:
                    examples.setdefault(device.group, files)
                    if self.full:
                        full[host] = tuple(_shown(outcomes[host], None))
            if progress:
                progress(at + len(chunk), len(hosts))
        groups = _groups(devices, examples)
        return Plan(self.spec_sha256, "the live hosts", tuple(devices), groups, full, spec=self.spec)


def fingerprint(outcome: HostOutcome) -> str:
    """Hex sha256 of what would change on a host: when check mode says something else later, the host has moved since the plan.

    Without the lines around a change, and without what a package manager says in its own words: neither has to be the same twice.
    """
    digest = hashlib.sha256()
    for task in outcome.tasks:
        digest.update(f"{task.title}\0".encode("utf-8", "replace"))
        for file in task.files:
            lines = "\n".join(line for hunk in file.hunks for line in hunk if line[:1] in "+-")
            digest.update(f"{file.path}\0{file.kind}\0{lines}\0".encode("utf-8", "replace"))
    digest.update("\0".join(sorted(outcome.reboot)).encode("utf-8", "replace"))
    return digest.hexdigest()


def rows(outcome: HostOutcome) -> tuple[tuple[str, str], ...]:
    """(what would change, a short sum of how) for each file and task of a host, in order: a plan keeps them as `desired`."""
    found: dict[str, str] = {}
    for task in outcome.tasks:
        for file in task.files:
            lines = "\n".join(line for hunk in file.hunks for line in hunk if line[:1] in "+-")
            _add(found, file.path or task.title, f"{file.kind}\0{lines}")
        if not task.files:
            _add(found, task.title, "")
    for concern in sorted(outcome.reboot):
        _add(found, f"reboot for {concern}", "")
    return tuple(found.items())


def _add(found: dict[str, str], what: str, how: str) -> None:
    text = f"{found.get(what, '')}\0{what}\0{how}"
    found[what] = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def moved(outcome: HostOutcome, planned: Iterable[tuple[str, str]], most: int = 3) -> str:
    """What check mode says now and the plan did not, or the other way round, in a few words."""
    now, then = dict(rows(outcome)), dict(planned)
    told = [f"{what} is new" for what in now if what not in then]
    told += [f"{what} is gone" for what in then if what not in now]
    told += [f"{what} changes otherwise" for what in now if what in then and now[what] != then[what]]
    more = f" and {len(told) - most:,} more" if len(told) > most else ""
    return (", ".join(told[:most]) + more) or "its tasks come in another order"


def idle(outcome: HostOutcome) -> bool:
    """Whether there is nothing to do on a host."""
    return outcome.outcome == "unchanged" and not outcome.reboot


def _device(outcome: HostOutcome, abstracter: Abstracter) -> tuple[DevicePlan, tuple[FileChange, ...]]:
    name = outcome.host
    if outcome.outcome not in ("unchanged", "changed"):
        why = {"unreachable": "not reached", "unknown": "not seen"}.get(outcome.outcome, "check mode failed")
        return DevicePlan(name, ROLE, ROLE, "unknown", note=f"{why}: {outcome.detail}"), ()
    if idle(outcome):
        return DevicePlan(name, ROLE, ROLE, "same", fingerprint(outcome)), ()
    files = tuple(_shown(outcome, abstracter))
    parts = [(abstracter.text(file.path), f"{file.kind} {file.note}", file.changes) for file in files]
    group = group_key([(ROLE, "changed", ()), *parts], abstracter)
    return DevicePlan(name, ROLE, ROLE, "changed", fingerprint(outcome), rows(outcome), group), files


def _shown(outcome: HostOutcome, abstracter: Abstracter | None) -> Iterable[FileChange]:
    """Each changed file; a task that tells of none stands for itself; then what the host waits for."""
    for task in outcome.tasks:
        yield from (_file(file, task.title, abstracter) for file in task.files)
        if not task.files:
            yield FileChange(task.title, "changed")
    for concern, why in outcome.reboot.items():
        yield FileChange(f"reboot for {concern}", "waiting", why)


def _file(file: FileRow, title: str, abstracter: Abstracter | None) -> FileChange:
    changes = [Change(hunk) for hunk in file.hunks]
    shown: list[Collapsed] = list(map(alone, changes)) if abstracter is None else collapse(changes, abstracter)
    return FileChange(file.path or title, _KINDS.get(file.kind, "changed"), file.note, tuple(shown))


def _groups(devices: Iterable[DevicePlan], examples: Mapping[str, tuple[FileChange, ...]]) -> tuple[Group, ...]:
    members: dict[str, list[str]] = {}
    for device in devices:
        if device.group:
            members.setdefault(device.group, []).append(device.name)
    made = [Group(key, "changed", ROLE, tuple(names), examples[key]) for key, names in members.items()]
    return tuple(sorted(made, key=lambda group: (-len(group.devices), group.devices[0])))


def difference(outcome: HostOutcome, most: int = 3) -> str:
    """What is not as declared, in a few words."""
    titles = list(dict.fromkeys(_named(task) for task in outcome.tasks))
    return ", ".join(titles[:most]) + (f" and {len(titles) - most:,} more" if len(titles) > most else "")


def _named(task: TaskRow) -> str:
    return f"{task.title} ({task.files[0].path})" if task.files and task.files[0].path else task.title
