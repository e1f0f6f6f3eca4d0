"""Back to the old state: by our own word, or by the device's timer when it cannot be reached; read to prove it."""

from __future__ import annotations

from dataclasses import dataclass

from fabric.change.clock import stamp
from fabric.change.control import Context
from fabric.change.events import Ended, Leftover, Result, Step
from fabric.change.plan import DevicePlan
from fabric.change.readback import held, read, run_files
from fabric.errors import FabricError
from fabric.targets.device import Device, DeviceError, DeviceRefusedError, Staged

GRACE_S = 60.0
"""How long after its timer a device is still waited for: an agent restarts, a session to it is opened."""
RETRY_S = 5.0


@dataclass(slots=True)
class Undo:
    """Returns one device to the state that the plan was made on. `timer_end` is when its timer fires at the latest."""

    context: Context
    plan: DevicePlan
    device: Device
    timer_end: float
    sent: bool = False
    """Whether it was told to go back; the answer may have been lost."""

    def run(self, staged: Staged, why: str) -> Ended:
        """Tries until it is done or the timer is long over; how it ended, with the reason `why`."""
        self.context.stream.tell(Step(self.plan.name, "rolling-back", why))
        said = ""
        while True:
            try:
                self.device.reconnect()
                return self._once(staged, why)
            except DeviceRefusedError as error:
                said = f"; it refuses to go back: {error.message}"
            except DeviceError as error:
                said = f"; it cannot be reached: {error.message}"
            now = self.context.clock.now()
            if self.context.control.abandoned() or now >= self.timer_end + GRACE_S:
                break
            self.context.clock.sleep(RETRY_S)
        rest = (
            f"its timer returns it at {stamp(self.timer_end)}"
            if now < self.timer_end
            else "its timer is over; look at it"
        )
        return self._ended("lost", f"{why}{said}; {rest}")

    def _once(self, staged: Staged, why: str) -> Ended:
        armed = any(item.armed and item.token == staged.token for item in self.device.pending())
        now = held(self.plan, read(self.device, self.plan))
        if not armed and now == self.plan.fingerprint:
            run_files(self.device)
            self._sweep(staged)
            if self.context.clock.now() >= self.timer_end - RETRY_S:
                return self._ended("reverted", f"{why}; its timer has returned it to its old state", now)
            if self.sent:
                return self._ended("rolled-back", why, now)
            return self._ended("failed", f"{why}; it holds its old state", now)
        self.sent = True
        self.device.rollback(staged)
        now = held(self.plan, read(self.device, self.plan))
        if now == self.plan.fingerprint:
            run_files(self.device)
            return self._ended("rolled-back", why, now)
        return self._ended("broken", f"{why}; rolled back, but it does not hold its old state", now)

    def _sweep(self, staged: Staged) -> None:
        """What is left of the staged change is of no harm; it is removed if that is possible."""
        try:
            self.device.discard(staged)
        except FabricError:
            self.context.stream.tell(Step(self.plan.name, "rolling-back", "the staged files could not be removed"))
            self.context.stream.tell(Leftover(self.plan.name, there=True, detail=staged.token))

    def _ended(self, result: Result, detail: str, after: str = "") -> Ended:
        return Ended(self.plan.name, result, self.context.redact(detail), after)
