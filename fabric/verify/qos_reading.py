"""What a switch's running configuration says of QoS, in one shape for all operating systems."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from fabric.errors import FabricError


class UnreadableError(FabricError):
    """A configuration that is not understood at all, so that nothing can be said of it."""


@dataclass(frozen=True, slots=True)
class Marking:
    """ECN of a queue: thresholds in bytes, probability in percent."""

    min_bytes: int
    max_bytes: int
    probability: int


@dataclass(frozen=True, slots=True)
class QueueReading:
    """One egress queue; `weight` is None when it is strict, or not said."""

    strict: bool
    weight: int | None
    ecn: Marking | None


@dataclass(frozen=True, slots=True)
class Watchdog:
    """PFC watchdog: times in milliseconds, action `drop` or `none`."""

    detect_ms: int
    recover_ms: int
    action: str


@dataclass(frozen=True, slots=True)
class QosReading:
    """QoS of a switch.

    `dscp` is DSCP -> traffic class as far as it is known, `queue_of` traffic class -> queue, `groups` traffic class -> priority group
    (None where the operating system has no such map), `lossless` the PFC priorities without loss, `watchdogs` those of the fabric ports
    and the global one by where they stand (None: off). `bare` are fabric ports without the settings that the others have, `mtus` the
    configured IP MTU by port. The hashes are over the lines of QoS and of buffers, to compare equal boxes.
    """

    dscp: dict[int, int]
    queue_of: dict[int, int]
    groups: dict[int, int] | None
    lossless: frozenset[int]
    queues: dict[int, QueueReading]
    watchdogs: dict[str, Watchdog | None]
    bare: tuple[str, ...]
    mtus: dict[str, int]
    qos_hash: str
    buffers_hash: str


def digest(lines: Iterable[str]) -> str:
    """Hex digest of lines, short enough to be shown."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def numbers(text: str) -> list[int]:
    """`0 1 5-7,9` as numbers; ValueError for anything else."""
    found: list[int] = []
    for part in text.replace(",", " ").split():
        low, dash, high = part.partition("-")
        if dash and int(high) - int(low) > 255:
            raise ValueError(part)
        found += range(int(low), int(high if dash else low) + 1)
    return found
