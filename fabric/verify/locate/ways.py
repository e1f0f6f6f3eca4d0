"""Trunks that slow flows are known to have crossed also explain bad results whose way is not known, where these could have met them.

A result is many flows, and each of them takes one of many ways: the fewer flows and the more ways, the less it says of one of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from fabric.design.seats import Trunk
from fabric.verify.collectives.model import Measurement
from fabric.verify.locate.gates import Judged
from fabric.verify.locate.places import Places, Suspect

FLOWS_A_RAIL = 4
"""Flows of one NIC to another in a collective (NCCL's queue pairs and channels: our guess, of which only the order of magnitude matters)."""

Chance = tuple[Suspect, float]
"""A suspect, and how probably one of the flows of a result meets it."""


class Ways:
    """The trunks under suspicion and the switches at their upper ends, by what their way leads out of: a switch or a zone."""

    def __init__(self, places: Places, judged: Sequence[Judged]) -> None:
        self.places = places
        self.by_switch: dict[str, list[tuple[Suspect, float]]] = {}
        self.by_zone: dict[int, list[tuple[Suspect, float]]] = {}
        names = dict.fromkeys(name for j in judged if j.verdict == "bad" for name in j.measurement.trunks)
        trunks = [places.trunk[name] for name in names if name in places.trunk]
        for switch in dict.fromkeys(trunk.b for trunk in trunks if trunk.b in places.under):
            mine = [trunk for trunk in trunks if trunk.b == switch]
            self.by_switch[switch] = self._shares([t.name for t in mine], [t.a for t in mine], places.uplinks(switch))
        above = {trunk.name: places.zone_of_switch.get(trunk.b) for trunk in trunks if trunk.b not in places.under}
        for zone in dict.fromkeys(zone for zone in above.values() if zone is not None):
            mine = [trunk for trunk in trunks if above.get(trunk.name) == zone]
            self.by_zone[zone] = self._shares([t.name for t in mine], [t.a for t in mine], places.exits.get(zone, ()))

    def _shares(
        self, names: Sequence[str], uppers: Sequence[str], ways: Sequence[Trunk]
    ) -> list[tuple[Suspect, float]]:
        """Each trunk and upper switch with the share of all these ways that leads over it."""
        over = Counter(trunk.a for trunk in ways)
        count = max(1, len(ways))
        found: list[tuple[Suspect, float]] = [(("trunk", name, 0), 1 / count) for name in dict.fromkeys(names)]
        return found + [(self.places.switch(a), over[a] / count) for a in dict.fromkeys(uppers)]

    def of(self, m: Measurement) -> Iterator[Chance]:
        """The parts under suspicion that a result without a known way could have met."""
        if m.trunks or len(m.hosts) < 2 or not (self.by_switch or self.by_zone):
            return
        flows = FLOWS_A_RAIL * (len(m.rails) or len(self.places.seats[m.hosts[0]]))
        for switch in self.places.crossed(m):
            yield from _chances(self.by_switch.get(switch, ()), flows)
        if self.by_zone:
            zones = {self.places.zone(host) for host in m.hosts}
            for zone in zones if len(zones) > 1 else ():
                yield from _chances(self.by_zone.get(zone, ()), flows)


def _chances(shares: Sequence[tuple[Suspect, float]], flows: int) -> Iterator[Chance]:
    for suspect, share in shares:
        yield suspect, 1 - (1 - min(1.0, share)) ** flows
