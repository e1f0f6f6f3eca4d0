"""The plan: for each device what it holds now, what it should hold, and the difference; equal differences grouped over devices."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fabric import __version__
from fabric.change.abstract import Abstracter, Collapsed, alone, collapse, group_key
from fabric.change.diff import FileDiff, FileKind, comparable, diff_file
from fabric.change.pool import Progress, default_workers, run_chunks
from fabric.change.source import RunningSource
from fabric.errors import FabricError
from fabric.targets.base import Artifact, DeviceRef, RenderJob

DeviceKind = Literal["same", "new", "changed", "extra", "unknown"]
KINDS: tuple[DeviceKind, ...] = ("changed", "new", "extra", "unknown", "same")


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a device or of a group, its changes collapsed; `note` says what a diff cannot."""

    path: str
    kind: FileKind
    note: str = ""
    changes: tuple[Collapsed, ...] = ()


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """One device. `fingerprint` is that of its running state, "" where it could not be read (then `note` says why).

    `desired` is (path, sha256) of each artifact, of hosts what would change and a sum of how; `group` the key of the devices with the
    same change, "" when nothing changes.
    """

    name: str
    role: str
    target: str
    kind: DeviceKind
    fingerprint: str = ""
    desired: tuple[tuple[str, str], ...] = ()
    group: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Devices of one role with the same change. `files` is the change on the first of them, as the example of all."""

    key: str
    kind: DeviceKind
    role: str
    devices: tuple[str, ...]
    files: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a plan file holds. `full` has every device's own files when asked for (as with `--full`).

    `spec` is where the spec lies, for who applies the plan file; "" when that is not known.
    """

    spec_sha256: str
    against: str
    devices: tuple[DevicePlan, ...]
    groups: tuple[Group, ...]
    full: Mapping[str, tuple[FileChange, ...]] = field(default_factory=dict)
    tool_version: str = __version__
    spec: str = ""

    @property
    def of_hosts(self) -> bool:
        """Whether it was made by check mode on GPU hosts (`fabric plan --hosts`)."""
        return bool(self.devices) and all(device.role == "host" for device in self.devices)

    def count(self, kind: DeviceKind) -> int:
        """How many devices are of this kind."""
        return sum(device.kind == kind for device in self.devices)

    @property
    def exit_code(self) -> int:
        """0 nothing to do, 2 changes, 1 when a device could not be read."""
        if self.count("unknown"):
            return 1
        return 2 if any(device.kind != "same" for device in self.devices) else 0


_Chunk = tuple[list[DevicePlan], dict[str, tuple[FileChange, ...]]]


@dataclass(frozen=True, slots=True)
class PlanWorker:
    """Plans chunks of devices, in a worker. Its result: the devices, and the files of each group (or device, with `full`)."""

    job: RenderJob
    source: RunningSource
    refs: Mapping[str, DeviceRef]
    abstracter: Abstracter
    full: bool

    def __call__(self, names: Sequence[str]) -> _Chunk:
        """See the class."""
        devices: list[DevicePlan] = []
        bodies: dict[str, tuple[FileChange, ...]] = {}
        for name in names:
            device, files = self.device(self.refs[name])
            devices.append(device)
            if files:
                bodies.setdefault(name if self.full else device.group, files)
        return devices, bodies

    def device(self, ref: DeviceRef) -> tuple[DevicePlan, tuple[FileChange, ...]]:
        """The plan of one device, and its changed files."""
        artifacts = self.job.render(ref.name)
        desired = tuple((artifact.path, artifact.sha256) for artifact in artifacts)
        try:
            running = self.source.running(ref, [artifact.path for artifact in artifacts])
            stale = sorted(self.source.managed(ref) - running.keys())
        except FabricError as error:
            return DevicePlan(ref.name, ref.role, ref.target, "unknown", desired=desired, note=str(error)), ()
        diffs = [diff_file(artifact, running[artifact.path], self.job.normalise) for artifact in artifacts]
        diffs += [FileDiff(path, "removed") for path in stale]
        differ = [d for d in diffs if d.kind != "same"]
        files = tuple(FileChange(d.path, d.kind, d.note, tuple(collapse(d.changes, self.abstracter))) for d in differ)
        kind: DeviceKind = "changed" if files else "same"
        if artifacts and not stale and all(content is None for content in running.values()):
            kind = "new"
        print_ = fingerprint(artifacts, running)
        group = self._group(ref, kind, files) if files else ""
        if self.full:
            files = tuple(FileChange(d.path, d.kind, d.note, tuple(map(alone, d.changes))) for d in differ)
        return DevicePlan(ref.name, ref.role, ref.target, kind, print_, desired, group), files

    def _group(self, ref: DeviceRef, kind: DeviceKind, files: Sequence[FileChange]) -> str:
        parts = [(file.path, f"{file.kind} {'' if file.kind == 'new' else file.note}", file.changes) for file in files]
        return group_key([(ref.role, kind, ()), *parts], self.abstracter)


def fingerprint(artifacts: Iterable[Artifact], running: Mapping[str, bytes | None]) -> str:
    """Hex sha256 of what a device holds in the places that the artifacts go to; a plan is stale when it has changed."""
    digest = hashlib.sha256()
    for artifact in sorted(artifacts, key=lambda artifact: artifact.path):
        content = running[artifact.path]
        held = "absent" if content is None else hashlib.sha256(comparable(artifact, content)).hexdigest()
        digest.update(f"{artifact.path}\0{held}\n".encode())
    return digest.hexdigest()


def make_plan(
    job: RenderJob,
    source: RunningSource,
    *,
    only: Sequence[DeviceRef] | None = None,
    extras: bool = True,
    full: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Compares what `job` declares with what `source` holds, for all devices or `only` those given.

    `extras`: devices that the source has and nobody declares are part of the plan. `full` keeps every device's own diff.
    A device that cannot be read is of kind "unknown", with the reason; the others are planned. Raises FabricError only when
    rendering fails.
    """
    chosen = job.devices if only is None else only
    refs = {ref.name: ref for ref in chosen}
    worker = PlanWorker(job, source, refs, Abstracter(job.names), full)
    devices: list[DevicePlan] = []
    bodies: dict[str, tuple[FileChange, ...]] = {}
    for part, found in run_chunks(worker, list(refs), workers=workers or default_workers(), progress=progress):
        devices += part
        for key, files in found.items():
            bodies.setdefault(key, files)
    if extras and only is None:
        declared = {ref.name for ref in job.devices}
        devices += [DevicePlan(n, "", "", "extra", group="extra") for n in source.devices() if n not in declared]
    return Plan(job.spec_sha256, source.name, tuple(devices), _groups(devices, bodies, full), bodies if full else {})


def _groups(
    devices: Iterable[DevicePlan], bodies: Mapping[str, tuple[FileChange, ...]], full: bool
) -> tuple[Group, ...]:
    """Largest first, then by the first name."""
    members: dict[str, list[DevicePlan]] = {}
    for device in devices:
        if device.group:
            members.setdefault(device.group, []).append(device)
    groups = []
    for key, group in members.items():
        first = group[0]
        files = bodies.get(first.name if full else key, ())
        groups.append(Group(key, first.kind, first.role, tuple(device.name for device in group), files))
    return tuple(sorted(groups, key=lambda group: (-len(group.devices), group.devices[0])))
