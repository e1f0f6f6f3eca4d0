"""What the declared traffic classes mean for any switch: the DSCP map, the queues, the priority groups.

One fact, one place: every renderer and every check takes these from here.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric.spec.qos import Qos

DSCPS = 64


@dataclass(frozen=True, slots=True)
class Queue:
    """One egress queue: `weight` counts only when it is not strict."""

    number: int
    name: str
    traffic_class: int
    dscps: tuple[int, ...]
    strict: bool
    weight: int
    lossless: bool


@dataclass(frozen=True, slots=True)
class QosPlan:
    """All queues by number; `priority` is the PFC priority (and priority group) of the lossless class."""

    queues: tuple[Queue, ...]
    priority: int

    @property
    def lossless(self) -> Queue:
        """The one lossless queue."""
        return next(queue for queue in self.queues if queue.lossless)

    @property
    def control(self) -> Queue:
        """The network control queue."""
        return next(queue for queue in self.queues if queue.name == "control")

    def traffic_class_of(self) -> tuple[int, ...]:
        """Traffic class of each of the 64 DSCPs."""
        table = [0] * DSCPS
        for queue in self.queues:
            for dscp in queue.dscps:
                table[dscp] = queue.traffic_class
        return tuple(table)


def plan_qos(qos: Qos) -> QosPlan:
    """The queues of the declared classes, the default class with all DSCPs that nobody claims; sorted by queue
    number.
    """
    named = qos.classes()
    taken = {dscp for _, entry in named for dscp in entry.dscp}
    rest = tuple(dscp for dscp in range(DSCPS) if dscp not in taken)
    queues = [Queue(0, "default", 0, rest, False, qos.default_weight, False)]
    queues += [
        Queue(
            entry.queue,
            name,
            entry.traffic_class,
            tuple(entry.dscp),
            entry.scheduling == "strict",
            entry.weight,
            name == "lossless",
        )
        for name, entry in named
    ]
    return QosPlan(tuple(sorted(queues, key=lambda queue: queue.number)), qos.lossless.pfc_priority)
