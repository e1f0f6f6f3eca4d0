"""What is measured next: groups of hosts, by stages.

What suspects need (`retest`, and more `rails` and `paths`) follows from results: `fabric.verify.locate.next_round`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest

from fabric.design.seats import Seat
from fabric.spec.collectives import Collectives
from fabric.verify.collectives.model import Stage

ORDER: tuple[Stage, ...] = ("node", "pairs", "rails", "retest", "paths", "groups", "zone", "zones", "diag")
"""In the order in which they are made: what needs few hosts first, so that later stages are made of proven ones."""

ADAPTIVE: tuple[Stage, ...] = ("retest", "paths")
"""Stages whose groups follow from the results of others alone."""

DEFAULT_TESTS: Mapping[Stage, tuple[str, ...]] = {
    "node": ("all_reduce",),
    "pairs": ("all_gather",),
    "rails": ("all_gather", "ib_write_bw"),
    "paths": ("path",),
    "groups": ("all_gather",),
    "zone": ("all_gather", "all_reduce", "reduce_scatter", "alltoall", "sendrecv"),
    "zones": ("all_gather", "all_reduce", "reduce_scatter", "alltoall", "sendrecv"),
    "diag": ("dcgm",),
}
"""Tests of a stage where the spec names none: all_gather judges the network, as two nodes' all_reduce may go partly by trees."""


def tests_of(how: Collectives, chosen: Sequence[str] = ()) -> dict[Stage, tuple[str, ...]]:
    """The tests of every stage: those that were chosen, else the spec's, else the default ones. Engine mpi needs no RDMA."""
    found: dict[Stage, tuple[str, ...]] = {}
    declared: dict[str, tuple[str, ...]] = {stage: tuple(own) for stage, own in how.tests.items()}
    for stage, default in DEFAULT_TESTS.items():
        own = declared.get(stage, ())
        if not own:
            own = tuple(test for test in default if how.engine != "mpi" or test != "ib_write_bw")
        if chosen and stage not in ("diag", "paths"):
            own = tuple(test for test in chosen if stage == "rails" or test != "ib_write_bw")
        found[stage] = own
    return found


@dataclass(frozen=True, slots=True)
class Group:
    """One run of one test. `hosts` in rank order; `rails`: the GPUs and NICs of each host that take part, empty = all.

    Groups of one plan are disjoint in the parts that they load, so they may run at the same time.
    """

    stage: Stage
    test: str
    hosts: tuple[str, ...]
    rails: tuple[int, ...] = ()


Round = tuple[Group, ...]
Seats = Mapping[str, tuple[Seat, ...]]
"""The seats of each host that takes part, in the fabric's order."""


def rounds(stage: Stage, tests: Sequence[str], seats: Seats) -> tuple[Round, ...]:
    """The rounds of a stage, test by test; none for the adaptive stages and where there are too few hosts."""
    if not seats:
        return ()
    return tuple(
        tuple(Group(stage, test, hosts, rails) for hosts, rails in made)
        for test in tests
        for made in (_ways(seats) if stage == "paths" else _shapes(stage, seats))
    )


_Shape = tuple[tuple[str, ...], tuple[int, ...]]


def _shapes(stage: Stage, seats: Seats) -> Iterator[list[_Shape]]:
    if stage in ("node", "diag"):
        yield [((host,), ()) for host in seats]
    elif stage == "pairs":
        for pairs in pairings(seats):
            yield [(pair, ()) for pair in pairs]
    elif stage == "rails":
        for pairs in pairings(seats):
            yield [(pair, (rail,)) for pair in pairs for rail in _common_rails(pair, seats)]
    elif stage == "groups":
        yield from _growing(seats)
    elif stage == "zone":
        whole = [tuple(hosts) for hosts in by_zone(seats).values() if len(hosts) > 1]
        if whole:
            yield [(hosts, ()) for hosts in whole]
    elif stage == "zones" and len(by_zone(seats)) > 1:
        yield [(tuple(seats), ())]


def _ways(seats: Seats) -> Iterator[list[_Shape]]:
    """Flows from under each switch to the next one of its zone, then from each zone to the next: every way up and down has its flows.

    No host sends in two groups of a round, nor receives in two. Nothing on InfiniBand, where no hop answers.
    """
    first = next(iter(seats.values()))[0]
    switches: dict[int, dict[str, list[str]]] = {}
    for host, own in seats.items():
        switches.setdefault(own[0].zone, {}).setdefault(own[0].switch, []).append(host)
    zones = [list(found.values()) for found in switches.values()]
    if (first.ip4 or first.ip6) is None:
        return
    near = [pair for racks in zones if len(racks) > 1 for pair in _round_about(racks)]
    far = [pair for rows in zip(*zones, strict=False) if len(rows) > 1 for pair in _round_about(list(rows))]
    for pairs in (near, far):
        if pairs:
            yield [(pair, (first.rail,)) for pair in pairs]


def _round_about(racks: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """From the first host of each rack to the last one of the next."""
    return [(rack[0], racks[(place + 1) % len(racks)][-1]) for place, rack in enumerate(racks)]


def _common_rails(pair: tuple[str, ...], seats: Seats) -> list[int]:
    """Rails that both have. One host's rail beside another's tells nothing new where there is only one."""
    one, other = ({seat.rail for seat in seats[host]} for host in pair)
    return sorted(one & other)


def by_zone(seats: Seats) -> dict[int, list[str]]:
    """Hosts of each zone (InfiniBand: scalable unit)."""
    found: dict[int, list[str]] = {}
    for host, of in seats.items():
        found.setdefault(of[0].zone, []).append(host)
    return found


def pairings(seats: Seats) -> Iterator[list[tuple[str, str]]]:
    """One round in which nearly every host has a partner, and one for those that are left over.

    Partners are under the same switches (one RTSW, or the same leaf of each rail) where there are two, else in the same zone, else anywhere:
    the fewer cables two hosts share with others, the more a slow pair says.
    """
    pairs: list[tuple[str, str]] = []
    left: dict[int, list[str]] = {}
    for hosts in _by_switches(seats).values():
        pairs += _two_by_two(hosts)
        if len(hosts) % 2:
            left.setdefault(seats[hosts[-1]][0].zone, []).append(hosts[-1])
    last: list[str] = []
    for hosts in left.values():
        pairs += _two_by_two(hosts)
        last += hosts[-1:] if len(hosts) % 2 else []
    pairs += _two_by_two(last)
    if pairs:
        yield pairs
        if len(last) % 2:
            yield [(last[-1], _neighbour(last[-1], seats))]


def _neighbour(host: str, seats: Seats) -> str:
    """The nearest other host: of the same rack, zone, or any."""
    mine = seats[host][0]

    def far(other: str) -> tuple[bool, bool, bool]:
        seat = seats[other][0]
        return (seat.switch != mine.switch, seat.zone != mine.zone, seat.rack != mine.rack)

    return min((other for other in seats if other != host), key=far)


def _by_switches(seats: Seats) -> dict[tuple[str, ...], list[str]]:
    found: dict[tuple[str, ...], list[str]] = {}
    for host, of in seats.items():
        found.setdefault(tuple(seat.switch for seat in of), []).append(host)
    return found


def _two_by_two(hosts: Sequence[str]) -> list[tuple[str, str]]:
    whole = islice(hosts, len(hosts) // 2 * 2)
    return [(one, other) for one, other in zip_longest(whole, whole) if other is not None]


def _growing(seats: Seats) -> Iterator[list[_Shape]]:
    """Groups of 4, 8, 16, ... hosts, all of one size at once, inside the zones; up to less than a zone, which has a stage of its own."""
    zones = list(by_zone(seats).values())
    most = max((len(hosts) for hosts in zones), default=0)
    size = 4
    while size < most:
        made: list[_Shape] = [
            (tuple(hosts[first : first + size]), ())
            for hosts in zones
            for first in range(0, len(hosts) - size + 1, size)
            if size < len(hosts)
        ]
        if made:
            yield made
        size *= 2
