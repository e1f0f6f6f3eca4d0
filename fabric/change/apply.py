"""Wave after wave: devices in parallel, a gate over the wave, and the rules that stop it all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fabric.change.control import Context
from fabric.change.device_run import DeviceRun
from fabric.change.events import (
    GOOD,
    Ended,
    Event,
    Leftover,
    Note,
    Result,
    RunEnded,
    RunStarted,
    Step,
    WaveEnded,
    WaveStarted,
)
from fabric.change.fan import fan_out
from fabric.change.gates import Health, summary, wait_healthy
from fabric.change.plan import DevicePlan, Plan
from fabric.change.runs import IN_FORCE
from fabric.change.waves import Wave
from fabric.errors import FabricError
from fabric.targets.base import Artifact, DeviceRef
from fabric.targets.device import Device, DeviceError
from fabric.words import counted

SLACK_S = 600.0
"""What a device may take beyond its timer before its thread is given up: copying, checking and reading a chassis (our choice)."""
TO_APPLY = ("changed", "new")
HARMLESS = ("refused", "not-started")
"""Results that say nothing against the change itself: they stop the rest only for a canary."""
Work = Callable[[str], Ended]


@dataclass(slots=True)
class Apply:
    """Applies a plan. Its devices are those of the waves; `artifacts` gives the files of one. `run` returns how each device ended.

    `health` is what was up on each before; `goal` the result of a device that is as the run wants it. A rollback is the same with
    other work: `declared` reads what a device must name, `originally` is what the final gate waits for besides (it is made in any
    case, as are the gates of waves of one), and `harmless` are results that say nothing against it.
    """

    context: Context
    plans: Mapping[str, DevicePlan]
    artifacts: Callable[[str], list[Artifact]]
    ended: dict[str, Ended] = field(default_factory=dict)
    health: dict[str, Health] = field(default_factory=dict)
    steps: dict[str, str] = field(default_factory=dict)
    goal: Result = "done"
    declared: Callable[[str, Device], list[Artifact]] | None = None
    originally: Mapping[str, Health] | None = None
    harmless: Callable[[Ended], bool] = lambda ended: ended.result in HARMLESS

    def observe(self, event: Event) -> None:
        """Keeps the last step of each device: what is told of those that nobody waits for."""
        if isinstance(event, Step):
            self.steps[event.device] = event.step

    def run(self, started: RunStarted, waves: Sequence[Wave]) -> dict[str, Ended]:
        """All waves, until a rule stops them."""
        return self.run_with(started, waves, self.change, gate=True)

    def run_with(
        self, started: RunStarted, waves: Sequence[Wave], work: Work, *, gate: bool = False
    ) -> dict[str, Ended]:
        """Waves of any `work`; with `gate` each wave's health is looked at after it, and failures stop the rest."""
        stream, control = self.context.stream, self.context.control
        stream.tell(started)
        number = 0
        for wave in waves:
            if control.stopping():
                break
            number = wave.number
            stream.tell(WaveStarted(wave.number, wave.title, wave.devices, wave.canary))
            self.settle(wave.devices, work)
            problems = self._gate(wave) if gate else []
            stream.tell(WaveEnded(wave.number, tuple(problems)))
            if gate:
                self._rules(wave, problems)
        if gate and (self.context.ledger or self.originally is not None):
            self._final_gate(number + 1)
        self._rest(started)
        return self.ended

    def change(self, name: str) -> Ended:
        """One device from its plan to its end."""
        plan = self.plans[name]
        artifacts = self.artifacts(name)
        device = self.context.open(DeviceRef(name, plan.role, plan.target))
        try:
            one = DeviceRun(self.context, plan, artifacts, device)
            ended = one.run()
            self.health[name] = one.health
            return ended
        finally:
            device.close()

    def settle(self, names: Sequence[str], work: Work) -> None:
        """Does `work` on devices in parallel; each is in `ended` afterwards, whatever became of it."""
        options, control = self.context.options, self.context.control
        deadline = options.timer_s + SLACK_S
        for name, result in fan_out(
            work, names, parallel=options.parallel, deadline_s=deadline, stop=control.abandoned
        ):
            if isinstance(result, Ended):
                self._end(result)
            else:
                self._end(self._fell(name, result), left=True)
        for name in names:
            if name not in self.ended:
                self._end(self._left(name), left=True)

    def _end(self, ended: Ended, *, left: bool = False) -> None:
        self.ended[ended.device] = ended
        self.context.ledger.settle(ended.device, changed=ended.result in GOOD or ended.result == self.goal)
        (self.context.stream.leave if left else self.context.stream.tell)(ended)

    def _fell(self, name: str, error: object) -> Ended:
        """A device whose work ended with an exception: nothing is known but its last step."""
        if not isinstance(error, FabricError):
            self.context.control.halt(f"internal error at {name}")
        detail = error.message if isinstance(error, FabricError) else f"internal error: {type(error).__name__}"
        if self.steps.get(name) in IN_FORCE:
            return Ended(
                name, "lost", self.context.redact(f"{detail}; if the change is in force, its timer returns it")
            )
        return Ended(name, "failed", self.context.redact(detail))

    def _left(self, name: str) -> Ended:
        """A device that nobody waits for any more."""
        step = self.steps.get(name, "")
        if step == "confirming":
            return Ended(name, "lost", "left while it was being confirmed; fabric runs resume finds out")
        if step in IN_FORCE:
            return Ended(name, "lost", f"left to its timer of {self.context.options.timer_s} s")
        if step:
            self.context.stream.tell(Leftover(name, there=True, detail=self.context.token))
        return Ended(name, "not-started", "left before its commit" if step else self.context.control.reason)

    def _gate(self, wave: Wave) -> list[str]:
        """Once all of a wave are through: is what was up still up on each? A wave of one was just looked at."""
        done = [name for name in wave.devices if self.ended[name].result == self.goal and name in self.health]
        looked_at = len(wave.devices) < 2 and self.originally is None
        if looked_at or self.context.control.abandoned():
            return []
        return self._unhealthy(done)

    def _final_gate(self, number: int) -> None:
        """All devices: whatever was up is up again, at both ends. Needed when something was deferred, and after a rollback."""
        ledger, control = self.context.ledger, self.context.control
        if control.abandoned():
            return
        for name, before in (self.originally or {}).items():
            self.health[name] = before.and_(self.health.get(name, before))
        names, unfinished = [name for name in ledger.done() if name in self.health], ledger.unfinished()
        if not names and not unfinished:
            return
        self.context.stream.tell(WaveStarted(number, "final gate", tuple(names)))
        problems = [*unfinished, *self._unhealthy(names)]
        self.context.stream.tell(WaveEnded(number, tuple(problems)))
        if problems:
            control.halt(f"the final gate found {len(problems):,} unhealthy")

    def _unhealthy(self, names: Sequence[str]) -> list[str]:
        problems: list[str] = []
        for name, result in fan_out(self._healthy, names, parallel=self.context.options.parallel):
            found = result if isinstance(result, list) else [str(result)]
            problems += [self.context.redact(f"{name}: {summary(found)}")] if found else []
        return problems

    def _healthy(self, name: str) -> list[str]:
        plan = self.plans[name]
        device = self.context.open(DeviceRef(name, plan.role, plan.target))
        try:
            artifacts = self.declared(name, device) if self.declared else self.artifacts(name)
            ends = self.context.job.ends(plan.target, {artifact.path: artifact.content for artifact in artifacts})
            expected = self.context.ledger.expected(name, self.health[name], ends)
            until = self.context.clock.now() + self.context.options.gate_s
            return wait_healthy(device, expected, artifacts, self.context.clock, until)
        except DeviceError as error:
            return [error.message]
        finally:
            device.close()

    def _rules(self, wave: Wave, problems: Sequence[str]) -> None:
        good = GOOD | {self.goal}
        canaries = [n for n in wave.devices if wave.canary and self.ended[n].result not in good]
        failed = [n for n, ended in self.ended.items() if ended.result not in good and not self.harmless(ended)]
        if canaries:
            self.context.control.halt(f"canary {', '.join(canaries)}: {self.ended[canaries[0]].result}")
        elif len(failed) >= self.context.options.max_failed:
            self.context.control.halt(f"{counted(len(failed), 'device')} failed")
        elif problems:
            self.context.control.halt(f"the gate of wave {wave.number} found {len(problems):,} unhealthy")

    def _rest(self, started: RunStarted) -> None:
        control = self.context.control
        for name in started.hosts:
            if name not in self.ended:
                self._end(Ended(name, "not-started", control.reason))
        counts: Counter[str] = Counter(ended.result for ended in self.ended.values())
        self.context.stream.tell(RunEnded(started.run, dict(counts), control.reason))

    def note(self, text: str) -> None:
        """Tells something."""
        self.context.stream.tell(Note(text))


def check_artifacts(plan: DevicePlan, artifacts: Sequence[Artifact]) -> None:
    """What is rendered now is what was planned. Raises FabricError."""
    if tuple((a.path, a.sha256) for a in artifacts) != plan.desired:
        raise FabricError(
            f"{plan.name}: its files are rendered differently now than when the plan was made", hint="make a new plan"
        )


def to_apply(plan: Plan) -> list[DevicePlan]:
    """The devices of a plan that change."""
    return [device for device in plan.devices if device.kind in TO_APPLY]
