"""Which port meets which: pure rules, the same from both ends of a cable.

RTSW (zone z, rack r), uplink u   <-> CTSW u of zone z, downlink r.
CTSW c of a zone, uplink a        <-> plane (c - 1) mod P; ATSW (a - 1) mod N of that plane; link (a - 1) div N of the
pair.
ATSW of plane p                    keeps, for each zone, one port for each CTSW of its plane (growth slots), zone by
zone; further
                                   links of the same pair follow after all zones' slots, so they move nothing either.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric.spec.backend import Atsw, Growth


@dataclass(frozen=True, slots=True)
class PlaneWiring:
    """The CTSW to ATSW rule. `per_plane` ATSWs in each of `planes`; `members` port slots a zone on each ATSW; `zones`
    zone slots.
    """

    planes: int
    per_plane: int
    members: int
    zones: int

    @classmethod
    def of(cls, atsw: Atsw, growth: Growth) -> PlaneWiring:
        """The rule that the spec declares."""
        members = growth.ctsws_on_atsw or -(-growth.uplinks // atsw.planes)
        return cls(atsw.planes, atsw.count, members, growth.zones)

    def plane(self, ctsw: int) -> int:
        """Plane (from 0) of CTSW number `ctsw`."""
        return (ctsw - 1) % self.planes

    def member(self, ctsw: int) -> int:
        """Place (from 0) of a CTSW among those of its zone and plane."""
        return (ctsw - 1) // self.planes

    def number(self, plane: int, place: int) -> int:
        """Number (from 1) of the ATSW at `place` of a plane; more ATSWs in each plane renumber nothing."""
        return place * self.planes + plane + 1

    def place(self, number: int) -> tuple[int, int]:
        """(plane, place) of an ATSW number: the inverse of `number`."""
        return (number - 1) % self.planes, (number - 1) // self.planes

    def atsw(self, ctsw: int, uplink: int) -> int:
        """ATSW number at the end of an uplink of a CTSW."""
        return self.number(self.plane(ctsw), (uplink - 1) % self.per_plane)

    def atsw_port(self, zone: int, ctsw: int, uplink: int) -> int:
        """Index (from 0) of the ATSW port at the end of that uplink."""
        parallel = (uplink - 1) // self.per_plane
        return (parallel * self.zones + zone - 1) * self.members + self.member(ctsw)

    def uplinks_to(self, number: int, uplinks: int) -> list[int]:
        """Uplinks (from 1) by which a CTSW of this ATSW's plane reaches it, of `uplinks` that it has."""
        _, place = self.place(number)
        return list(range(place + 1, uplinks + 1, self.per_plane))
