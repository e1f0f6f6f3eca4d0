"""What an earlier run left staged on devices that it could not reach again: cleared away by whoever reaches them next.

It is never in force, but it may hold secrets. Only what the journals name is touched, and only while no run goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fabric.change.clock import Clock, stamp
from fabric.change.events import Leftover
from fabric.change.lock import BusyError, locked
from fabric.change.runs import RunRecord, list_runs, open_journal

Key = tuple[str, str]
"""A device's name, and the token of the change on it."""


@contextmanager
def dead_changes(state: Path, clock: Clock) -> Iterator[Mapping[Key, RunRecord]]:
    """The staged changes that nobody needs, with their runs. The cluster's lock is held meanwhile when there are any."""
    with ExitStack() as stack:
        found = _littered(state)
        if found:
            try:
                what = "clearing away what a run has left"
                stack.enter_context(locked(state, what, stamp(clock.now()), in_passing=True))
            except BusyError:
                found = {}
            else:
                found = _littered(state)  # a run may have ended between
        yield found


def _littered(state: Path) -> dict[Key, RunRecord]:
    return {(d.name, d.token): run for run in list_runs(state) for d in run.devices.values() if d.littered}


def record_cleared(run: RunRecord, device: str, clock: Clock) -> None:
    """Writes into the run's journal that nothing of it is left staged on a device. Raises FabricError."""
    journal = open_journal(run.folder, clock)
    try:
        journal.append(Leftover(device, there=False, detail="removed when the device was read"))
    finally:
        journal.close()
