"""Where runs broke off: single flows between the same NICs say why.

A collective over a way that loses large packets, or out of a NIC in a wrong port, only hangs. Flows (`node/paths.py`) tell the port.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from fabric.verify.collectives.model import Clue, Measurement
from fabric.verify.collectives.stages import Group, Seats

MOST_PAIRS = 16
"""Pairs of hosts that are looked at: a fault shows in the first few, and each is two runs a rail (our choice)."""


def looks(
    measurements: Iterable[Measurement], clues: Iterable[Clue], seats: Seats, done: Collection[tuple[str, ...]]
) -> tuple[Group, ...]:
    """Flows in both directions on every common rail of each pair that broke off and was not looked at: `done` are the pairs that were.

    Only where addresses answer: none on InfiniBand. And none for hosts of which is known why: no link, a smaller MTU, a process that is
    stopped or says nothing.
    """
    known = {
        place.partition(":")[0]
        for clue in clues
        if clue.kind in ("port-error", "mtu", "hang")
        for place in (clue.where, clue.peer)
    }
    pairs: dict[tuple[str, str], None] = {}
    busy: set[str] = set()
    for m in measurements:
        if m.state == "broken" and len(m.hosts) == 2 and m.stage != "paths" and all(host in seats for host in m.hosts):
            one, other = sorted(m.hosts)
            pairs[one, other] = None
    wanted = []
    for pair in reversed(pairs):  # the last ones met proven partners
        if pair not in done and known.isdisjoint(pair) and busy.isdisjoint(pair):  # ports of one host serve one run
            wanted.append(pair)
            busy.update(pair)
    return tuple(
        Group("paths", "path", way, (seat.rail,))
        for pair in wanted[:MOST_PAIRS]
        for seat in seats[pair[0]]
        if (seat.ip4 or seat.ip6) is not None and any(other.rail == seat.rail for other in seats[pair[1]])
        for way in (pair, pair[::-1])
    )
