"""What no single line says: causes that show when measurements, or both ends of a connection, are held against each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fabric.design.seats import Seating
from fabric.verify.collectives.model import Clue, Measurement

COLLAPSED = 1.0
"""GB/s of bus bandwidth between hosts below which RoCE has collapsed: "falls to 0.x GB/s" (hosts.md section 4, report 9)."""
HEALTHY = 10.0
"""GB/s that the same hosts must have shown elsewhere for that to mean anything: ten times as much."""
UNUSED = 0.75
"""Share of the NICs' own rate that NCCL must reach between two hosts: 370 of 400 is usual, 216 of 392 was a report (number 16)."""
PAIRS = 3
"""Pairs of NICs that must fail, all between different rails, before rails are taken for not joined."""


def symptoms(measurements: Sequence[Measurement]) -> tuple[Clue, ...]:
    """Reports 9 and 16 of hosts.md section 4: clues of kind `setting`, which blame no part. `where` is empty: they are of all hosts named."""
    wire = _wire(measurements)
    inside = {
        m.hosts[0]: m.value for m in measurements if m.stage == "node" and m.state == "ok" and m.value and m.hosts
    }
    clues = []
    for measured in measurements:
        value = measured.value
        if value is None or len(measured.hosts) < 2 or measured.test in ("ib_write_bw", "path"):
            continue
        names = ", ".join(measured.hosts[:4]) + (", ..." if len(measured.hosts) > 4 else "")
        rates = [wire.get(host, {}) for host in measured.hosts]
        fine = min(sum(rate.values()) for rate in rates) if all(rates) else 0.0
        within = min((inside.get(host) or 0.0 for host in measured.hosts), default=0.0)
        if value < COLLAPSED and max(fine, within) >= HEALTHY:
            clues.append(
                Clue(
                    "setting",
                    "",
                    f"{measured.test}: bus bandwidth between {names} is {value:.2f} GB/s",
                    source=measured.source,
                )
            )
        elif len(measured.hosts) == 2 and not measured.rails and value < fine * UNUSED:
            said = f"{measured.test} between {names} is {value:.0f} GB/s; perftest reaches {fine:.0f} GB/s over the same NICs"
            clues.append(Clue("setting", "", said, source=measured.source))
    return tuple(clues)


def _wire(measurements: Iterable[Measurement]) -> Mapping[str, Mapping[int, float]]:
    """What perftest reached on each NIC of each host, by rail."""
    found: dict[str, dict[int, float]] = {}
    for measured in measurements:
        if measured.test == "ib_write_bw" and measured.value is not None and len(measured.rails) == 1:
            for host in measured.hosts:
                rates = found.setdefault(host, {})
                rates[measured.rails[0]] = min(measured.value, rates.get(measured.rails[0], measured.value))
    return found


def joined(clues: Sequence[Clue], seating: Seating | None) -> tuple[Clue, ...]:
    """The clues with what both ends together say.

    When at least three pairs of NICs do not reach each other, every one of them between different rails, then rails are not
    joined (report 12): those become `topology`, which blames no cable.
    """
    if seating is None:
        return tuple(clues)
    rails = {}
    for clue in clues:
        if clue.kind == "retry-exceeded":
            ends = seating.seat_at(clue.where), seating.seat_at(clue.peer)
            if ends[0] is None or ends[1] is None or ends[0].rail == ends[1].rail:
                return tuple(clues)
            rails[clue.where, clue.peer] = f"rail {ends[1].rail} does not reach rail {ends[0].rail}"
    if len(rails) < PAIRS:
        return tuple(clues)
    return tuple(
        replace(clue, kind="topology", text=f"{rails[clue.where, clue.peer]}: {clue.text}")
        if (clue.where, clue.peer) in rails
        else clue
        for clue in clues
    )
