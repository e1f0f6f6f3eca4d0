"""Time as a parameter, so that a test of a five-minute timer takes no five minutes."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

_STEADY: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """Seconds since the epoch, and waiting."""

    def now(self) -> float:
        """Seconds since 1970-01-01 UTC."""

    def sleep(self, seconds: float) -> None:
        """Waits."""


class SystemClock:
    """The real one. When the machine's time is set meanwhile it goes on as it did: deadlines are those of the devices' timers."""

    def __init__(self) -> None:
        self._offset = time.time() - _running()

    def now(self) -> float:
        """See Clock."""
        return self._offset + _running()

    def sleep(self, seconds: float) -> None:
        """See Clock."""
        time.sleep(seconds)


def _running() -> float:
    """Seconds since some start, sleep of the machine included where the system counts it: the devices' timers do not sleep."""
    return time.clock_gettime(_STEADY)


def stamp(seconds: float) -> str:
    """`2026-01-31T12:00:05Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def run_id(seconds: float) -> str:
    """`20260131-120005`: sorts by time, and fits where a device takes a name."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%d-%H%M%S")
