"""What all devices of a run share: its options, the way to stop it, and where its events go."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fabric.change.clock import Clock, SystemClock
from fabric.change.deferred import Ledger
from fabric.change.events import Ended, Event, Observer, Step
from fabric.change.gates import GATE_S
from fabric.change.journal import Journal
from fabric.change.keep import Keep, keep_nothing
from fabric.errors import FabricError
from fabric.targets.base import DeviceRef, RenderJob
from fabric.targets.device import Device

OpenDevice = Callable[[DeviceRef], Device]
"""Makes the object for one device; it connects when first used."""
TIMER_S = 300
"""Default of the commit timer, in seconds: longer than the gates, short enough that a lost switch is soon back."""
PARALLEL = 32
"""Devices that are worked on at once."""


class Control:
    """Stops a run. First interrupt: nothing further is committed. Second: nobody is waited for, the timers do the rest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._level = 0
        self.reason = ""

    def interrupt(self) -> int:
        """One more Ctrl-C; how many there have been."""
        with self._lock:
            self._level += 1
            self.reason = self.reason or "interrupted"
            return self._level

    def halt(self, reason: str) -> None:
        """Nothing further is committed, because of `reason`."""
        with self._lock:
            self._level = max(1, self._level)
            self.reason = self.reason or reason

    def stopping(self) -> bool:
        """Whether nothing further may be committed."""
        return self._level > 0

    def abandoned(self) -> bool:
        """Whether nobody waits any more; nothing may be confirmed."""
        return self._level > 1


class Stream:
    """Gives each event to the journal first, then to the observers. Safe for threads."""

    def __init__(self, journal: Journal | None, observers: Sequence[Observer], control: Control) -> None:
        self._journal = journal
        self._observers = list(observers)
        self._control = control
        self._lock = threading.Lock()
        self._left: set[str] = set()

    def add(self, observer: Observer) -> None:
        """One more observer."""
        self._observers.append(observer)

    def announce(self, event: Step) -> None:
        """Before a step on a device: raises FabricError when it cannot be put on disk, and then the step must not be taken.

        So it does for a device that was left: what its end says would not hold any more.
        """
        with self._lock:
            if event.device in self._left:
                raise FabricError(f"{event.device}: nobody waits for it any more")
            try:
                self._write(event)
            except FabricError as error:
                self._control.halt(error.message)
                raise
            self._tell(event)

    def leave(self, ended: Ended) -> None:
        """The end of a device whose work still goes on, unwaited for: its last word, whatever step that work comes to yet."""
        with self._lock:
            self._left.add(ended.device)
        self.tell(ended)

    def tell(self, event: Event) -> None:
        """What has happened. A full disk stops the run, but does not make a fact untold."""
        with self._lock:
            if isinstance(event, Step) and event.device in self._left:
                return
            try:
                self._write(event)
            except FabricError as error:
                self._control.halt(error.message)
            self._tell(event)

    def _write(self, event: Event) -> None:
        if self._journal is not None:
            self._journal.append(event)

    def _tell(self, event: Event) -> None:
        for observer in list(self._observers):
            try:
                observer(event)
            except OSError as error:  # the terminal or the pipe is gone: devices in flight still come first
                self._observers.remove(observer)
                self._control.halt(f"the output cannot be written any more ({error.strerror})")


@dataclass(frozen=True, slots=True)
class Options:
    """How a run goes: see the options of `fabric apply`."""

    timer_s: int = TIMER_S
    gate_s: float = GATE_S
    parallel: int = PARALLEL
    max_failed: int = 1
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """What a device's run needs besides the device."""

    job: RenderJob
    open: OpenDevice
    stream: Stream
    control: Control
    token: str
    options: Options = field(default_factory=Options)
    clock: Clock = field(default_factory=SystemClock)
    redact: Callable[[str], str] = str
    keep: Keep = keep_nothing
    ledger: Ledger = field(default_factory=Ledger)
