"""Clues of logs, counters and diagnoses as observations: who they accuse, and how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fabric.design.seats import Seat
from fabric.verify.collectives.model import Clue, ClueKind
from fabric.verify.locate.explain import BAD, Observation
from fabric.verify.locate.places import Places, Suspect

SETTINGS: frozenset[ClueKind] = frozenset(
    {
        "gdr-disabled",
        "gid-index",
        "gid-changed",
        "mtu",
        "acs",
        "fabric-manager",
        "driver-mismatch",
        "topology",
        "setting",
    }
)
"""Kinds of clues that are settings of a host or of the fleet; what to do about each is said by `collectives.causes`."""

GPU: Mapping[ClueKind, float] = {"xid": 8.0, "ecc": 8.0, "diag-failed": 8.0, "wrong-data": 7.0}
LINK: Mapping[ClueKind, float] = {
    "port-error": 8.0, "crossed": 8.0, "pcie": 7.0, "counter": 7.0, "local-error": 4.0, "async-event": 4.0, "remote-error": 2.0, "hang": 3.0,
    "retry-exceeded": 3.0, "wrong-data": 3.0,
}  # fmt: skip
HOST = 3.0
"""What each kind of clue weighs (against the cost of believing in a fault, `explain.COST`)."""
OF_SWITCH = 0.3
"""What a clue at a cable says of the switch at its end, as a share: errors at two ports are two cables, at many ports the switch."""
SURE = 7.0
"""From this weight on, a clue alone is enough."""
NIC_SAYS: frozenset[ClueKind] = frozenset({"pcie", "local-error"})
CABLE_SAYS: frozenset[ClueKind] = frozenset({"port-error", "counter", "async-event", "crossed"})
"""What decides between a NIC and its cable, which bandwidth alone cannot."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A clue with the part it is about, None where it names nobody of this cluster."""

    clue: Clue
    suspect: Suspect | None
    peer: Suspect | None = None


def resolve(places: Places, where: str) -> Suspect | None:
    """Whom `host`, `host:nic`, `host:hca`, `host:gpu3`, `switch:port`, an address or a GID names; None for nobody."""
    seat = places.seating.seat_at(where)
    if seat is not None:
        return ("link", seat.host, seat.rail)
    if (trunk := places.seating.trunk_at(where)) is not None:
        return ("trunk", trunk[0].name, 0)
    if where in places.trunk:
        return ("trunk", where, 0)
    name, _, part = where.partition(":")
    if not part:
        if name in places.seats:
            return ("host", name, 0)
        return places.switch(name) if name in places.switches else None
    return _of_host(places, name, part) if name in places.seats else _of_switch(places, name, part)


def _of_host(places: Places, host: str, part: str) -> Suspect | None:
    for seat in places.seats[host]:
        if part == f"gpu{seat.gpu}":
            return ("gpu", host, seat.gpu)
        if part in (seat.nic, seat.hca):
            return ("link", host, seat.rail)
    return None


def _of_switch(places: Places, switch: str, port: str) -> Suspect | None:
    seat: Seat | None = places.seating.by_port.get((switch, port))
    if seat is not None:
        return ("link", seat.host, seat.rail)
    for trunk in places.seating.trunks_of.get(switch, ()):
        if (switch, port) in ((trunk.a, trunk.a_port), (trunk.b, trunk.b_port)):
            return ("trunk", trunk.name, 0)
    return None


def hear(places: Places, clues: Iterable[Clue]) -> list[Heard]:
    """Every clue with whom it names. What was only flushed is left out: it is never the cause."""
    return [
        Heard(clue, resolve(places, clue.where), resolve(places, clue.peer) if clue.peer else None)
        for clue in clues
        if clue.kind != "flushed"
    ]


def narrow_places(heard: Iterable[Heard]) -> frozenset[Suspect]:
    """The cables of which is known why runs over them break off: packets of full size are lost there, or they end in another port."""
    said = (
        suspect
        for one in heard
        if one.clue.kind in ("mtu", "crossed")
        for suspect in (one.suspect, one.peer if one.clue.kind == "mtu" else None)
    )
    return frozenset(suspect for suspect in said if suspect is not None and suspect[0] in ("link", "trunk"))


def observation(places: Places, heard: Heard) -> Observation | None:
    """A clue as an observation; None for a setting, and for one that names nobody."""
    kind, suspect = heard.clue.kind, heard.suspect
    if kind in SETTINGS or suspect is None:
        return None
    if kind == "retry-exceeded" and heard.peer is not None and heard.peer != suspect:
        return _between(places, suspect, heard.peer)
    may: tuple[Suspect, ...] = ()
    ways: tuple[tuple[Suspect, float], ...] = ()
    weight = LINK.get(kind, HOST)
    if suspect[0] == "gpu":
        weight = GPU.get(kind, HOST)
    elif suspect[0] == "link" and kind != "crossed":  # a cable in a wrong port is no fault of its switch
        ways = ((places.switch(places.seat(suspect[1], suspect[2]).switch), OF_SWITCH),)
    elif suspect[0] == "trunk":
        trunk = places.trunk[suspect[1]]
        ways = ((places.switch(trunk.a), OF_SWITCH), (places.switch(trunk.b), OF_SWITCH))
    elif suspect[0] != "link":
        may = tuple(("link", suspect[1], seat.rail) for seat in places.seats.get(suspect[1], ()))
        weight = 8.0 if kind in GPU else HOST
    return Observation(True, (suspect,), may, weight, said=weight >= SURE, ways=ways)


def _between(places: Places, one: Suspect, other: Suspect) -> Observation:
    """Two ends that do not reach each other: either, or what is between."""
    must: dict[Suspect, None] = {}
    switches = []
    for suspect in (one, other):
        must[suspect] = None
        if suspect[0] == "link":
            must[("host", suspect[1], 0)] = None
            switch = places.seat(suspect[1], suspect[2]).switch
            must[("switch", switch, 0)] = None
            switches.append(switch)
    may: list[Suspect] = []
    if len(set(switches)) > 1:
        must.update({("uplinks", switch, 0): None for switch in switches})
        may += [("some", switch, 0) for switch in switches]
    return Observation(True, tuple(must), tuple(may), BAD)
