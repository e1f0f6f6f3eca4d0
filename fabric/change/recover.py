"""After a run was killed or stopped: what each device really holds, and from there on, or back.

Nothing is believed but the device: is our timer still running, does it hold the old or the new state?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from fabric.change.control import Context
from fabric.change.deferred import Deferred, expect
from fabric.change.device_run import DeviceRun
from fabric.change.events import GOOD, OLD, Ended, Step
from fabric.change.gates import Health, health
from fabric.change.keep import kept
from fabric.change.plan import DevicePlan
from fabric.change.readback import held, read, remaining, run_files
from fabric.change.runs import DeviceRecord, RunRecord
from fabric.errors import FabricError
from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.device import Device, DeviceError, Staged

Files = Mapping[str, bytes | None]


def unsettled(run: RunRecord) -> list[str]:
    """Devices that may hold something half done: committed to, and not known to be old or done."""
    return [d.name for d in run.devices.values() if d.touched and d.result not in GOOD | OLD]


def unfinished(run: RunRecord) -> list[str]:
    """Devices that do not hold the new state yet."""
    return [d.name for d in run.devices.values() if d.result not in GOOD]


def changed_by(run: RunRecord) -> list[str]:
    """Devices that hold the new state of a run, or may hold it, or a staged change: what its rollback is about."""
    return [d.name for d in run.devices.values() if d.open or d.littered or (d.touched and d.result not in OLD)]


def deferred_by(run: RunRecord) -> list[Deferred]:
    """What devices that are through, or were just being confirmed, have left to their far ends."""
    through = [d for d in run.devices.values() if d.result in GOOD or d.step in ("confirming", "confirmed")]
    return [Deferred.of(item) for device in through for item in device.deferred]


@dataclass(slots=True)
class Recover:
    """Settles single devices of a recorded run. A rollback notes in `health` what must be up on each, in `sent` those it has changed."""

    context: Context
    records: Mapping[str, DeviceRecord]
    plans: Mapping[str, DevicePlan]
    artifacts: Callable[[str], list[Artifact]]
    folder: Path
    health: dict[str, Health] = field(default_factory=dict)
    sent: set[str] = field(default_factory=set)

    def settle(self, name: str) -> Ended:
        """Forward: confirms what is in force and healthy, undoes what is not; "reverted" means that it holds its old state."""
        return self._with_device(name, self._forward)

    def rollback(self, name: str) -> Ended:
        """Back to the state before the run, read to prove it."""
        return self._with_device(name, self._back)

    def _with_device(self, name: str, work: Callable[[DeviceRecord, DevicePlan, Device], Ended]) -> Ended:
        plan = self.plans[name]
        device = self.context.open(DeviceRef(name, plan.role, plan.target))
        try:
            return work(self.records[name], plan, device)
        except FabricError as error:
            return Ended(name, "lost", self.context.redact(error.message))
        finally:
            device.close()

    def _forward(self, record: DeviceRecord, plan: DevicePlan, device: Device) -> Ended:
        staged = Staged(plan.name, record.token, "")
        running = read(device, plan)
        now = held(plan, running)
        armed = _armed(device, staged)
        if now == plan.fingerprint and not armed:
            run_files(device)
            device.discard(staged)
            return Ended(plan.name, "reverted", "it holds its old state", now)
        artifacts = self.artifacts(plan.name)
        run = DeviceRun(self.context, plan, artifacts, device, Health.of(record.facts), _seconds(record.committed))
        if armed:
            return run.from_commit(staged, committed=True)
        rest = remaining(artifacts, running, self.context.job.normalise)
        if rest:
            neither = self.context.redact(f"it holds neither its old state nor the new one: {rest}")
            return Ended(plan.name, "broken", neither, now)
        if record.step == "confirmed":
            return Ended(plan.name, "done", "", now)
        self.context.stream.announce(Step(plan.name, "confirming"))
        try:
            device.finish(staged)  # the kill may have come between disarming its timer and saving the change
        except DeviceError as error:  # it cannot say that the change is saved for the next boot
            ended = run.undo(staged, f"in force, but not surely saved ({error.message})")
            return replace(ended, result="reverted") if ended.result == "rolled-back" else ended
        self.context.stream.tell(Step(plan.name, "confirmed"))
        return Ended(plan.name, "done", "", now)

    def _back(self, record: DeviceRecord, plan: DevicePlan, device: Device) -> Ended:
        staged = Staged(plan.name, record.token, "")
        running = read(device, plan)
        now = held(plan, running)
        armed = _armed(device, staged)
        if now == plan.fingerprint and not armed:
            if record.touched:
                run_files(device)
            device.discard(staged)
            return Ended(plan.name, "rolled-back", "it holds its old state", now)
        if not armed and not record.touched:  # whoever has changed it since: it was not this run
            device.discard(staged)
            return Ended(plan.name, "rolled-back", "this run never changed it; what it had staged is removed", now)
        if not armed and record.after and now != record.after:
            return Ended(
                plan.name,
                "broken",
                "it has been changed since this run; nothing was sent: plan and apply what it should hold",
                now,
            )
        up = _up(device)
        self.context.stream.announce(Step(plan.name, "rolling-back", "asked for"))
        self.sent.add(plan.name)
        device.rollback(staged)
        device.reconnect()
        back = read(device, plan)
        now = held(plan, back)
        if now == plan.fingerprint:
            run_files(device)
            self._expect(plan, up, running, back)
            return Ended(plan.name, "rolled-back", "", now)
        return self._by_kept_files(plan, device, now)

    def _by_kept_files(self, plan: DevicePlan, device: Device, now: str) -> Ended:
        """A device that has kept no old state gets the files of before as any other change: staged, under its timer, looked at."""
        old = kept(self.folder, plan.name)
        if old is None:
            return Ended(plan.name, "broken", "rolled back, but it does not hold its old state", now)
        files = [Artifact(plan.name, plan.role, plan.target, p, c) for p, c in old.items() if c is not None]
        absent = tuple(path for path, content in old.items() if content is None)
        back = replace(plan, fingerprint=now, desired=tuple((path, "") for path in old))
        run = DeviceRun(self.context, back, files, device, absent=absent)
        ended = run.run()
        now = held(plan, read(device, plan))
        if now == plan.fingerprint:
            self.health[plan.name] = run.health
            return Ended(plan.name, "rolled-back", "by the files kept of before", now)
        return Ended(plan.name, "broken", f"it does not hold its old state: {ended.detail}", now)

    def _expect(self, plan: DevicePlan, up: Health, running: Files, back: Files) -> None:
        """What was up until now must stay so; what waits for a far end that is still to go back is left to it."""
        job, ledger = self.context.job, self.context.ledger
        ends = job.ends(plan.target, back)
        expected = expect(up, job.ends(plan.target, running), ends)
        self.health[plan.name] = expected
        if expected.touched:
            ledger.defer(plan.name, expected, ends, job.far_ends(plan.name))

    def declared(self, name: str, device: Device) -> list[Artifact]:
        """What a device holds, as files: a peer that is in none of them is not waited for."""
        plan = self.plans[name]
        found = read(device, plan).items()
        return [Artifact(name, plan.role, plan.target, path, content) for path, content in found if content is not None]


def _up(device: Device) -> Health:
    """What is up; nothing on a device whose state is such that it cannot even be asked: going back can only help it."""
    try:
        return health(device)
    except DeviceError:
        return Health(frozenset(), frozenset())


def _armed(device: Device, staged: Staged) -> bool:
    return any(item.armed and item.token == staged.token for item in device.pending())


def _seconds(text: str) -> float:
    """A journal's time as seconds since the epoch; 0 for none."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp() if text else 0.0


def next_token(run: str, devices: Sequence[DeviceRecord]) -> str:
    """A token that no device of the run has seen: the run's id, then with `-r2`, `-r3`, ... (devices add a prefix of ours)."""
    used = {d.token for d in devices if d.token}
    number = 1
    while (token := run if number == 1 else f"{run}-r{number}") in used:
        number += 1
    return token
