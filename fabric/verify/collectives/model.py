"""The nouns of this room. Frozen values; bandwidth in GB/s (10^9 bytes a second), sizes in bytes, times in microseconds.

`parse*` makes them from what a tool printed, `run*` from what it started, `judge` turns them into findings, `verify.locate` into the
smallest explanation, `results` keeps them in a file.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Final, Literal

Stage = Literal["node", "pairs", "retest", "rails", "paths", "groups", "zone", "zones", "diag"]
"""In the order in which they are made:

`node` one host alone (NVLink), `diag` DCGM on one host, `pairs` two hosts under one RTSW or leaf group, `rails` a pair with one NIC
each, `retest` a suspect with a proven partner, `paths` single flows whose way through the fabric is known, `groups` growing groups,
`zone` one zone, `zones` across zones.
"""

State = Literal["ok", "broken", "unmade"]
"""`ok`: it ran and gave a number. `broken`: it ran and ended wrong (wrong data, an error of the transport, a hang that was cut off).
`unmade`: it could not be made (no such program, no login, launcher refused): it says nothing about the fabric."""

NOT_BEGUN: Final = "it did not begin"
"""How the reason of what was `unmade` begins when its time was over before its ranks had started: the machine was busy."""

ClueKind = Literal[
    "port-error", "retry-exceeded", "remote-error", "local-error", "flushed", "gid-changed", "gdr-disabled", "gid-index", "mtu",
    "acs", "fabric-manager", "driver-mismatch", "xid", "ecc", "diag-failed", "wrong-data", "hang", "pcie", "topology", "counter",
    "async-event", "setting", "crossed",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measurement:
    """One test of one group of hosts, all its repeats together.

    `test`: nccl-tests' name of the collective (`all_gather`, `all_reduce`, `reduce_scatter`, `alltoall`, `sendrecv`), `ib_write_bw`,
    `path` or `dcgm.<test>`. `hosts` in rank order. `rails`: the NICs or GPUs used, empty = all of each host.
    `size`: of the largest row, which is what counts. `values`: GB/s (bus bandwidth for collectives) of each repeat at that size; empty
    unless `state` is `ok`. `wrong`: elements with wrong data over all rows, None = not checked. `trunks`: names of the
    cables between switches that it is known to have crossed, in order; empty = not known or none. `source`: file:line, or the command.
    """

    stage: Stage
    test: str
    hosts: tuple[str, ...]
    rails: tuple[int, ...] = ()
    size: int = 0
    values: tuple[float, ...] = ()
    state: State = "ok"
    reason: str = ""
    wrong: int | None = None
    trunks: tuple[str, ...] = ()
    source: str = ""
    round: int = 0
    by: Literal["", "mpi"] = ""
    """`mpi`: by MPI without GPUs, to which expected values of GPUs do not apply."""

    @property
    def value(self) -> float | None:
        """The median of its repeats in GB/s; None without any."""
        return statistics.median(self.values) if self.values else None


@dataclass(frozen=True, slots=True)
class Clue:
    """What a log, a counter or a diagnosis says of one part. `where` is as it was said: a host, `host:nic`, `host:gpu3`, a back-end
    address or GID (`Seating.seat_at` names it), a `switch:port`. `peer`: the other side, where one is named. `count`: how often.
    """

    kind: ClueKind
    where: str
    text: str
    peer: str = ""
    source: str = ""
    count: int = 1


PartKind = Literal[
    "gpu", "nic", "cable", "host", "switch", "trunk", "zone-uplinks", "path", "setting", "process", "undecided",
]  # fmt: skip
"""`cable`: host cable with the switch port at its end; `trunk`: cable between switches with both its ports; `path`: a collision on a
way through the fabric, nobody's fault; `setting`: a fleet-wide or host-wide setting; `process`: a rank's program, no hardware by itself (flight
recorder only); `undecided`: evidence is not enough."""


@dataclass(frozen=True, slots=True)
class Part:
    """One located fault: `name` as findings name it (a host, `host:gpu3`, `host:nic`, a cable, a switch), `confidence` 0 to 1.

    `place`: racks and both ends in words. `evidence`: one sentence each. `others`: parts that the evidence fits as well. `next`: the
    measurement or look that would decide, or the repair. `hosts`: who is affected.
    """

    kind: PartKind
    name: str
    confidence: float
    place: str = ""
    evidence: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    next: str = ""
    hosts: tuple[str, ...] = ()
