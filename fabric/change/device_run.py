"""One device from its old state to the new one, or back.

    read -> (as planned?) -> stage -> commit with a timer -> fresh connection -> gate -> read back -> confirm -> read back

Until the commit, giving up means discarding. From the commit on it means `undo`: back to the old state, by us or by the timer, and
read to prove it. Each step is in the journal before it is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fabric.change.control import Context
from fabric.change.deferred import Deferred, expect, words
from fabric.change.events import Ended, Leftover, Note, Result, Step
from fabric.change.gates import Health, health, summary, wait_healthy
from fabric.change.plan import DevicePlan
from fabric.change.readback import held, read, remaining
from fabric.change.undo import Undo
from fabric.errors import FabricError
from fabric.targets.base import Artifact
from fabric.targets.device import Device, DeviceError, DeviceRefusedError, Staged
from fabric.targets.ends import Ends

RETRY_S = 5.0
"""Between two attempts to reach a device again."""


class Stop(Exception):  # noqa: N818 - it is the end of a device's run, not always an error
    """Ends the device's run with this result."""

    def __init__(self, result: Result, detail: str, after: str = "") -> None:
        super().__init__(detail)
        self.result: Result = result
        self.detail = detail
        self.after = after


@dataclass(slots=True)
class DeviceRun:
    """Changes one device as planned. `run` never raises for what a device does. `absent` are paths where no file is to be."""

    context: Context
    plan: DevicePlan
    artifacts: list[Artifact]
    device: Device
    health: Health = field(default_factory=lambda: Health(frozenset(), frozenset()))
    committed_at: float = 0.0
    absent: tuple[str, ...] = ()

    def run(self) -> Ended:
        """All steps; how it ended."""
        try:
            staged = self._until_staged()
        except Stop as stop:
            return self._ended(stop.result, stop.detail, stop.after)
        except FabricError as error:
            return self._ended("failed", _words(error))
        try:
            self._prepare_commit(staged)
        except (Stop, FabricError) as stop:
            self._discard(staged)
            result: Result = stop.result if isinstance(stop, Stop) else "failed"
            return self._ended(result, stop.detail if isinstance(stop, Stop) else _words(stop))
        return self.from_commit(staged)

    def from_commit(self, staged: Staged, *, committed: bool = False) -> Ended:
        """The steps from the commit on; `committed`: it was done by a run that was killed since."""
        try:
            if not committed:
                self._commit(staged)
            return self._until_confirmed(staged)
        except Stop as stop:
            return self._ended(stop.result, stop.detail, stop.after)
        except FabricError as error:
            return self.undo(staged, _words(error))

    # --- before the commit

    def _until_staged(self) -> Staged:
        self._refuse_strangers()  # first, since it also clears away what an earlier run has left
        running = read(self.device, self.plan)
        before = held(self.plan, running)
        if before != self.plan.fingerprint:
            raise Stop("refused", "it has changed since the plan was made; make a new plan", before)
        old = self.context.job.ends(self.plan.target, running)
        self.health = expect(health(self.device), old, self.ends)
        self._check_stop()
        self.context.keep(self.plan.name, running)
        data = {"token": self.context.token, "before": before, "facts": self.health.data()}
        self._announce("staging", data=data)
        try:
            staged = self.device.stage(self.artifacts, self.context.token, self.absent)
        except DeviceError:
            self._discard(Staged(self.plan.name, self.context.token, ""))
            raise
        self.context.stream.tell(Step(self.plan.name, "staged", self._clean(staged.diff)))
        return staged

    def _prepare_commit(self, staged: Staged) -> None:
        """Last looks before the commit, which replaces whatever is there."""
        if self.context.options.dry_run:
            raise Stop("dry-run", "the device sees no difference" if not staged.diff else "")
        running = read(self.device, self.plan)
        if held(self.plan, running) != self.plan.fingerprint:
            raise Stop("refused", "it was changed by somebody else while our change was being staged")
        if not staged.diff:
            rest = remaining(self.artifacts, running, self.context.job.normalise, self.absent)
            if rest:
                raise Stop("failed", f"the device sees no difference, but one remains: {self._clean(rest)}")
            raise Stop("unchanged", "the device sees no difference")
        self._refuse_strangers(staged.token)
        self._check_stop()

    def _refuse_strangers(self, token: str = "") -> None:
        for item in self.device.pending():
            if item.armed:
                hint = (
                    "see fabric runs list, then fabric runs resume" if item.ours else "wait for it, or ask who did it"
                )
                raise Stop("refused", f"a change with a running timer is on it ({item.token}: {item.detail}); {hint}")
            if item.ours and item.token != token:
                self.device.discard(Staged(self.plan.name, item.token, ""))
                self.context.stream.tell(Leftover(self.plan.name, there=False, detail=item.token))
            elif not item.ours and not token:
                note = f"somebody else's unfinished change is on it ({item.token}: {item.detail}); left alone"
                self.context.stream.tell(Note(self._clean(note), self.plan.name))

    def _check_stop(self) -> None:
        if self.context.control.stopping():
            raise Stop("not-started", self.context.control.reason)

    def _discard(self, staged: Staged) -> None:
        try:
            self.device.discard(staged)
        except DeviceError as error:
            note = self._clean(
                f"the staged change {staged.token} could not be removed: {error.message}; it is not in force"
            )
            self.context.stream.tell(Note(note, self.plan.name))
            self.context.stream.tell(Leftover(self.plan.name, there=True, detail=staged.token))

    # --- from the commit on

    def _commit(self, staged: Staged) -> None:
        try:
            self._announce("committing", data={"token": staged.token})
        except FabricError as error:
            self._discard(staged)
            raise Stop("failed", _words(error)) from None
        self.committed_at = self.context.clock.now()
        try:
            self.device.commit(staged, self.context.options.timer_s)
        except DeviceRefusedError:
            raise
        except DeviceError as error:  # the connection went: the change may be in force
            self.context.stream.tell(Step(self.plan.name, "committing", f"no answer: {self._clean(error.message)}"))
        else:
            self.context.stream.tell(Step(self.plan.name, "committed"))

    def _until_confirmed(self, staged: Staged) -> Ended:
        until = min(self.context.clock.now() + self.context.options.gate_s, self._timer_end() - RETRY_S)
        deferred = self._defer()
        self._announce("checking", words(deferred), {"deferred": [one.data() for one in deferred]})
        self._reconnect(until)
        self._require_armed(staged)
        expected = self.context.ledger.expected(self.plan.name, self.health, self.ends)
        problems = wait_healthy(self.device, expected, self.artifacts, self.context.clock, until)
        if problems:
            raise DeviceError(f"health gate: {summary(problems)}")
        self._require_nothing_left("")
        if self.context.control.abandoned():
            raise Stop("lost", "left to its timer")
        self._announce("confirming")
        self._confirm(staged)
        after = self._require_nothing_left("confirmed, but ")
        self.context.stream.tell(Step(self.plan.name, "confirmed"))
        return self._ended("done", "", after)

    @property
    def ends(self) -> Ends:
        """The ends of sessions and links that the new files declare."""
        return self.context.job.ends(self.plan.target, {a.path: a.content for a in self.artifacts})

    def _defer(self) -> list[Deferred]:
        """What waits for its far end; told loudly when it is all that the device has."""
        far_ends = self.context.job.far_ends(self.plan.name) if self.health.touched else {}
        found = self.context.ledger.defer(self.plan.name, self.health, self.ends, far_ends)
        waiting = {one.name for one in found}
        if self.health.peers and self.health.peers <= waiting:
            self.context.stream.tell(
                Note("all its BGP sessions wait for their far ends: it is cut off", self.plan.name)
            )
        return found

    def _reconnect(self, until: float) -> None:
        while True:
            try:
                self.device.reconnect()
            except DeviceError:
                if self.context.clock.now() >= until or self.context.control.abandoned():
                    raise
                self.context.clock.sleep(RETRY_S)
            else:
                return

    def _require_armed(self, staged: Staged) -> None:
        if not self._armed(staged):
            raise DeviceError("the commit timer is not running after the commit")

    def _armed(self, staged: Staged) -> bool:
        return any(item.armed and item.token == staged.token for item in self.device.pending())

    def _confirm(self, staged: Staged) -> None:
        """When the connection goes meanwhile and the timer has not undone it: confirms again, or finishes what is left; looks that it took."""
        try:
            self.device.confirm(staged)
        except DeviceRefusedError:
            raise
        except DeviceError:
            self._reconnect(self._timer_end() - RETRY_S)
            self._require_nothing_left("while confirming ")
            if self._armed(staged):
                self.device.confirm(staged)
            else:
                self.device.finish(staged)
        if self._armed(staged):
            raise DeviceError("confirmed, but its timer still runs")

    def _require_nothing_left(self, when: str) -> str:
        running = read(self.device, self.plan)
        rest = remaining(self.artifacts, running, self.context.job.normalise, self.absent)
        if rest:
            raise DeviceError(f"{when}applied, but a difference remains: {rest}")
        return held(self.plan, running)

    def _timer_end(self) -> float:
        return (self.committed_at or self.context.clock.now()) + self.context.options.timer_s

    def undo(self, staged: Staged, why: str) -> Ended:
        """Back to the old state because of `why`."""
        return Undo(self.context, self.plan, self.device, self._timer_end()).run(staged, self._clean(why))

    # --- telling

    def _announce(self, step: str, detail: str = "", data: Mapping[str, object] | None = None) -> None:
        self.context.stream.announce(Step(self.plan.name, step, detail, data or {}))

    def _ended(self, result: Result, detail: str, after: str = "") -> Ended:
        return Ended(self.plan.name, result, self._clean(detail), after)

    def _clean(self, text: str) -> str:
        return self.context.redact(text)


def _words(error: FabricError) -> str:
    """The error in one line, with the device's own words."""
    lines = [line for line in getattr(error, "lines", ()) if line not in error.message]
    return f"{error.message}: {' | '.join(lines[:3])}" if lines else error.message
