"""Trunks that slow flows are known to have crossed also explain bad results whose way is not known, where these could have met them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fabric.design.seats import Trunk
from fabric.verify.collectives.model import Measurement
from fabric.verify.locate.gates import Judged
from fabric.verify.locate.places import Places, Suspect


class Ways:
    """The trunks under suspicion, by the switch at their lower end and by zone."""

    def __init__(self, places: Places, judged: Sequence[Judged]) -> None:
        self.places = places
        self.by_switch: dict[str, list[Trunk]] = {}
        self.by_zone: dict[int, list[Trunk]] = {}
        names = dict.fromkeys(name for j in judged if j.verdict == "bad" for name in j.measurement.trunks)
        for trunk in (places.trunk[name] for name in names if name in places.trunk):
            zone = places.zone_of_switch.get(trunk.b)
            if trunk.b in places.under:
                self.by_switch.setdefault(trunk.b, []).append(trunk)
            elif zone is not None:
                self.by_zone.setdefault(zone, []).append(trunk)

    def may(self, m: Measurement) -> Iterator[Suspect]:
        """The trunks under suspicion that a result without a known way could have met, and the switches at their upper ends."""
        if m.trunks or len(m.hosts) < 2 or not (self.by_switch or self.by_zone):
            return
        found: Iterable[Trunk] = [t for switch in self.places.crossed(m) for t in self.by_switch.get(switch, ())]
        zones = {self.places.zone(host) for host in m.hosts}
        if len(zones) > 1:
            found = [*found, *(t for zone in zones for t in self.by_zone.get(zone, ()))]
        for trunk in found:
            yield ("trunk", trunk.name, 0)
            yield self.places.switch(trunk.a)
