"""The live devices as the source of a plan: all read at once in threads, before the plan is made in processes."""

from __future__ import annotations

import zlib
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from fabric.change.control import PARALLEL, OpenDevice
from fabric.change.fan import fan_out
from fabric.change.pool import Progress
from fabric.errors import FabricError
from fabric.targets.base import DeviceRef, RenderJob
from fabric.targets.device import Device, DeviceError, Pending, Staged
from fabric.words import once

NAME = "the live devices"
READ_S = 120.0
"""What reading one device may take, in seconds, however slowly it answers (our choice)."""


@dataclass(slots=True)
class LiveSource:
    """Implements `RunningSource` over devices. Call `fetch` first; a device that could not be read raises its reason in `running`.

    What was read is held compressed: 1,536 racks' agent.conf of some 1 MB each would fill a laptop.
    `dead` are staged changes that nobody needs (device, token): they are removed where they are found, and stand in `cleared`.
    """

    job: RenderJob
    open: OpenDevice
    parallel: int = PARALLEL
    deadline_s: float = READ_S
    dead: Container[tuple[str, str]] = ()
    cleared: list[tuple[str, str]] = field(default_factory=list)
    _held: dict[str, dict[str, bytes | None]] = field(default_factory=dict)
    _failed: dict[str, str] = field(default_factory=dict)
    _paths: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """See RunningSource."""
        return NAME

    def devices(self) -> list[str]:
        """The declared devices: a live network has no list of its own."""
        return sorted(ref.name for ref in self.job.devices)

    def fetch(self, refs: Sequence[DeviceRef], progress: Progress | None = None) -> dict[str, str]:
        """Reads all of `refs`; the reasons of those that could not be read, by name. Raises FabricError when rendering fails."""
        for ref in refs:
            self._paths_of(ref)
        read = fan_out(self._read, refs, parallel=self.parallel, deadline_s=self.deadline_s)
        for done, (ref, result) in enumerate(read, start=1):
            if isinstance(result, dict):
                self._held[ref.name] = result
            elif isinstance(result, FabricError):
                self._failed[ref.name] = str(result)
            else:
                raise result
            if progress is not None:
                progress(done, len(refs))
        return dict(self._failed)

    def running(self, device: DeviceRef, paths: Sequence[str]) -> dict[str, bytes | None]:
        """See RunningSource."""
        if device.name in self._failed:
            raise FabricError(self._failed[device.name])
        held = self._held.get(device.name, {})
        if not set(paths) <= held.keys():
            raise FabricError(f"{', '.join(sorted(set(paths) - held.keys()))} was not read")
        return {path: _unpacked(held[path]) for path in paths}

    def managed(self, _device: DeviceRef) -> frozenset[str]:
        """Nothing: a device keeps no list of the files that we wrote."""
        return frozenset()

    def _read(self, ref: DeviceRef) -> dict[str, bytes | None]:
        paths = self._paths_of(ref)
        device = self.open(ref)
        try:
            found = device.read(paths)
            pending = device.pending()
            provisional = next((p for p in pending if p.armed or p.detail.startswith("committed")), None)
            if provisional is None:
                self._clear(device, [p.token for p in pending if p.ours and (ref.name, p.token) in self.dead])
        finally:
            device.close()
        if provisional is not None:
            raise _not_settled(ref, provisional)
        return {path: _packed(found.get(path)) for path in paths}

    def _clear(self, device: Device, tokens: Sequence[str]) -> None:
        for token in tokens:
            try:
                device.discard(Staged(device.ref.name, token, ""))
            except DeviceError:  # its run goes on saying that it is there; the plan does not depend on it
                continue
            self.cleared.append((device.ref.name, token))

    def _paths_of(self, ref: DeviceRef) -> list[str]:
        """The files of a device; those of one role and kind have the same, so that few are rendered to know them."""
        key = (ref.role, ref.target)
        if key not in self._paths:
            self._paths[key] = [artifact.path for artifact in self.job.render(ref.name)]
        return self._paths[key]


def _not_settled(ref: DeviceRef, change: Pending) -> FabricError:
    """What a device runs under a commit timer is not its state: it may return to the old one by itself."""
    whose = "a change of ours" if change.ours else "somebody else's change"
    how = "fabric runs resume, or fabric runs rollback" if change.ours else "let it be confirmed or run out"
    return FabricError(f"{ref.name}: {whose} ({change.token}) is not confirmed: {change.detail}", hint=how)


def _packed(content: bytes | None) -> bytes | None:
    return None if content is None else zlib.compress(content, 1)


def _unpacked(content: bytes | None) -> bytes | None:
    return None if content is None else zlib.decompress(content)


def require_all(failed: dict[str, str], asked: int = 2) -> None:
    """Raises FabricError when a device could not be read: `--strict`. `asked`: how many were, which a hint about others depends on."""
    if failed:
        name, why = next(iter(sorted(failed.items())))
        more = f", and {len(failed) - 1:,} more" if len(failed) > 1 else ""
        others = "without --strict the others are planned" if asked > 1 else None
        raise FabricError(f"could not read {once(name, why)}{more}", hint=others)
