"""Runs from the outside: apply a plan, resume or roll back a run. The command line and the Ansible module call these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fabric import __version__
from fabric.change.apply import HARMLESS, Apply, check_artifacts, to_apply
from fabric.change.clock import Clock, SystemClock, stamp
from fabric.change.control import Context, Control, OpenDevice, Options, Stream
from fabric.change.deferred import Ledger
from fabric.change.events import GOOD, Ended, Observer, RunStarted
from fabric.change.gates import Health
from fabric.change.keep import keep_nothing, keeper, without_secrets
from fabric.change.lock import locked
from fabric.change.plan import DevicePlan, Plan
from fabric.change.pool import default_workers, run_chunks
from fabric.change.recover import Recover, changed_by, deferred_by, next_token, unfinished, unsettled
from fabric.change.runs import RunRecord, load_run, new_run, open_journal
from fabric.change.secrets import Secrets, SecretSource, references
from fabric.change.waves import Wave
from fabric.errors import FabricError
from fabric.targets.base import Artifact, RenderJob

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabric.change.journal import Journal

Waves = Callable[[Collection[str]], Sequence[Wave]]
"""The waves over the devices of these names."""


@dataclass(slots=True)
class Operator:
    """Everything that a run on a cluster needs. `connect` gives the device factory, once the secrets are known.

    `spec_text` is kept with a run, so that it can be resumed when the spec has changed since, or was never in a file; it holds no
    secrets, only where they come from, and is not kept when it looks otherwise (a comment).
    """

    job: RenderJob
    spec: str
    state: Path
    secrets: SecretSource
    connect: Callable[[Secrets], OpenDevice]
    waves: Waves
    options: Options = field(default_factory=Options)
    observers: Sequence[Observer] = ()
    clock: Clock = field(default_factory=SystemClock)
    control: Control = field(default_factory=Control)
    spec_text: str = ""

    def apply(self, plan: Plan) -> dict[str, Ended]:
        """Applies the devices of a plan that change. Raises FabricError before any device is touched: stale plan, secret, lock, disk."""
        self.require_current(plan)
        plans = {device.name: device for device in to_apply(plan)}
        secrets = self._secrets(plans)
        waves = self.waves(plans.keys())
        with self._locked("apply") as stale:
            if self.options.dry_run:
                apply = self._engine("dry-run", plans, secrets)
                return apply.run(self._started("dry-run", "apply", plans, waves), waves)
            run, folder = new_run(self.state, plan, self.clock, without_secrets(self.spec_text, self.secrets.declared))
            journal = open_journal(folder, self.clock)
            try:
                apply = self._engine(run, plans, secrets, (journal, folder))
                _note(apply, stale)
                return apply.run(self._started(run, "apply", plans, waves), waves)
            finally:
                journal.close()

    def resume(self, name: str) -> dict[str, Ended]:
        """Finds out how the devices of a run stand, finishes what is in force, and goes on with the rest."""
        with self._recorded(name, "resume") as (record, plan, journal, stale):
            self.require_current(plan)
            self.options = replace(self.options, timer_s=record.started.timer_s)
            plans = _of(plan, record.devices.keys())
            token = next_token(record.id, list(record.devices.values()))
            done = [d.name for d in record.devices.values() if d.result in GOOD]
            ledger = Ledger(unfinished(record), done, deferred_by(record))
            apply = self._engine(token, plans, self._secrets(plans), (journal, record.folder), ledger)
            apply.health.update({d.name: Health.of(d.facts) for d in record.devices.values() if d.touched})
            _note(apply, stale)
            open_ends = unsettled(record)
            if open_ends:
                apply.context.stream.tell(self._started(record.id, "resume", dict.fromkeys(unfinished(record)), ()))
            recover = Recover(apply.context, record.devices, plans, apply.artifacts, record.folder)
            apply.settle(open_ends, recover.settle)
            held_up = [ended.device for ended in apply.ended.values() if ended.result not in ("done", "reverted")]
            if held_up:
                self.control.halt(f"{', '.join(held_up[:3])} could not be settled")
            left = [n for n in unfinished(record) if n not in apply.ended or apply.ended[n].result == "reverted"]
            for again in left:
                apply.ended.pop(again, None)
            ledger.again(left)
            waves = self.waves(left)
            return apply.run(self._started(record.id, "resume", dict.fromkeys(unfinished(record)), waves), waves)

    def rollback(self, name: str) -> dict[str, Ended]:
        """Returns all devices of a run that hold its new state to the state before, the last wave first.

        By the waves of the run and with its stop rules. After each wave what was up just before it must be up, in the end what was up
        before the run: a rollback that makes things worse stops, and one that is stopped can be asked for again.
        """
        with self._recorded(name, "rollback") as (record, plan, journal, stale):
            names = changed_by(record)
            plans = _of(plan, names)
            token = next_token(record.id, list(record.devices.values()))
            apply = self._engine(token, plans, Secrets({}), (journal, None))
            _note(apply, stale)
            recover = Recover(apply.context, record.devices, plans, apply.artifacts, record.folder, apply.health)
            apply.goal, apply.declared = "rolled-back", recover.declared
            apply.originally = {n: Health.of(record.devices[n].facts) for n in names if record.devices[n].touched}
            apply.harmless = lambda ended: ended.result in HARMLESS or ended.device not in recover.sent
            waves = waves_back(record.started.waves, plans)
            started = self._started(record.id, "rollback", dict.fromkeys(names), waves)
            return apply.run_with(started, waves, recover.rollback, gate=True)

    def require_current(self, plan: Plan) -> None:
        """Refuses a plan of another tool version, of another spec, or of devices as they are not declared. Raises FabricError."""
        if plan.tool_version != __version__:
            made = f"the plan was made by fabric {plan.tool_version}, this is {__version__}"
            raise FabricError(made, hint="make a new plan")
        if plan.spec_sha256 != self.job.spec_sha256:
            raise FabricError("the spec has changed since the plan was made", hint="make a new plan")
        declared = {ref.name: ref for ref in self.job.devices}
        for device in plan.devices:
            ref = declared.get(device.name)
            if ref is None or (ref.role, ref.target) != (device.role, device.target):
                what = f"{device.role} under {device.target}"
                raise FabricError(f"the spec has no {device.name} that is a {what}", hint="make a new plan")

    def _secrets(self, plans: dict[str, DevicePlan]) -> Secrets:
        """The secrets that the devices' files ask for; all files are rendered once, and must be as planned."""

        def look(names: Sequence[str]) -> set[str]:
            found: set[str] = set()
            for name in names:
                artifacts = self.job.render(name)
                check_artifacts(plans[name], artifacts)
                found |= references(artifacts)
            return found

        needed: set[str] = set()
        for part in run_chunks(look, list(plans), workers=default_workers()):
            needed |= part
        return self.secrets.resolve(needed)

    def _engine(
        self,
        token: str,
        plans: dict[str, DevicePlan],
        secrets: Secrets,
        record: tuple[Journal | None, Path | None] = (None, None),
        ledger: Ledger | None = None,
    ) -> Apply:
        """`record`: the journal, and the run's folder when what devices held before is kept there."""
        journal, folder = record
        keep = keep_nothing if folder is None else keeper(folder)

        def artifacts(name: str) -> list[Artifact]:
            found = self.job.render(name)
            check_artifacts(plans[name], found)
            return found

        observers: list[Observer] = list(self.observers)
        stream = Stream(journal, observers, self.control)
        context = Context(
            self.job, self.connect(secrets), stream, self.control, token, self.options, self.clock, secrets.redact, keep,
            Ledger(plans) if ledger is None else ledger,
        )  # fmt: skip
        apply = Apply(context, plans, artifacts)
        stream.add(apply.observe)
        return apply

    def _started(self, run: str, verb: str, plans: Collection[str], waves: Sequence[Wave]) -> RunStarted:
        return RunStarted(
            run, verb, self.spec, self.job.spec_sha256, __version__, tuple(plans), tuple(w.devices for w in waves),
            self.options.timer_s, self.options.dry_run,
        )  # fmt: skip

    @contextmanager
    def _locked(self, what: str) -> Iterator[str]:
        with locked(self.state, f"fabric {what} of {self.spec}", stamp(self.clock.now())) as stale:
            yield stale

    @contextmanager
    def _recorded(self, name: str, verb: str) -> Iterator[tuple[RunRecord, Plan, Journal, str]]:
        with self._locked(verb) as stale:
            record = load_run(self.state, name)
            journal = open_journal(record.folder, self.clock)
            try:
                yield record, record.plan(), journal, stale
            finally:
                journal.close()


def waves_back(waves: Sequence[Sequence[str]], plans: Mapping[str, DevicePlan]) -> tuple[Wave, ...]:
    """The waves that a run had, the last first, with those of their devices that are in `plans`."""
    left = [[name for name in wave if name in plans] for wave in reversed(waves)]
    return tuple(
        Wave(number, plans[names[0]].role, tuple(names)) for number, names in enumerate(filter(None, left), start=1)
    )


def _of(plan: Plan, names: Collection[str]) -> dict[str, DevicePlan]:
    return {device.name: device for device in plan.devices if device.name in names}


def _note(apply: Apply, text: str) -> None:
    if text:
        apply.note(text)
