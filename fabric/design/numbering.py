"""Stable keys: every number follows from where a thing stands, with the room of `backend.growth`.

No function here looks at how many zones, racks or uplinks there are now, only at how many there may be. So growing
any of them moves
nothing. Positions (zone, rack, unit, uplink, ...) count from 1, indexes from 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric.design.ip import pow2
from fabric.spec.addressing import AsnPlan
from fabric.spec.backend import Growth


@dataclass(frozen=True, slots=True)
class Numbering:
    """The slots of each level: `nics` NIC links a rack, `racks` a zone, `uplinks` an RTSW, `ctsw_uplinks` a CTSW
    (powers of two).
    """

    zones: int
    racks: int
    nics: int
    nics_per_host: int
    uplinks: int
    ctsw_uplinks: int
    atsws: int
    asn: AsnPlan
    asn_racks: int

    @classmethod
    def of(cls, growth: Growth, nics_per_host: int, asn: AsnPlan) -> Numbering:
        """The slots that `growth` reserves, each level rounded up to a power of two so that it is one prefix."""
        return cls(
            zones=growth.zones,
            racks=pow2(growth.racks_per_zone),
            nics=pow2(growth.hosts_per_rack * nics_per_host),
            nics_per_host=nics_per_host,
            uplinks=pow2(growth.uplinks),
            ctsw_uplinks=pow2(growth.ctsw_uplinks),
            atsws=growth.atsws,
            asn=asn,
            asn_racks=growth.racks_per_zone,
        )

    def rack_index(self, zone: int, rack: int) -> int:
        """Index of a rack over all zones."""
        return (zone - 1) * self.racks + rack - 1

    def host_link(self, zone: int, rack: int, unit: int, nic: int) -> int:
        """Index of the link of NIC `nic` (from 0) of a host."""
        return self.rack_index(zone, rack) * self.nics + (unit - 1) * self.nics_per_host + nic

    def rtsw_link(self, zone: int, rack: int, uplink: int) -> int:
        """Index of the link from an RTSW to the CTSW of number `uplink`."""
        return self.rack_index(zone, rack) * self.uplinks + uplink - 1

    def ctsw_link(self, zone: int, ctsw: int, uplink: int) -> int:
        """Index of a link from a CTSW to an ATSW."""
        return ((zone - 1) * self.uplinks + ctsw - 1) * self.ctsw_uplinks + uplink - 1

    @property
    def host_links(self) -> int:
        """Host links that there may be."""
        return self.zones * self.racks * self.nics

    @property
    def rtsw_links(self) -> int:
        """RTSW to CTSW links that there may be."""
        return self.zones * self.racks * self.uplinks

    @property
    def ctsw_links(self) -> int:
        """CTSW to ATSW links that there may be."""
        return self.zones * self.uplinks * self.ctsw_uplinks

    @property
    def zone_block(self) -> int:
        """Switch numbers kept for one zone: the racks, then the CTSWs; number 0 is used by nobody."""
        return pow2(self.racks + self.uplinks + 1)

    @property
    def zone_base(self) -> int:
        """First switch number of zone 1; the ATSWs stand before it."""
        return -(-(self.atsws + 1) // self.zone_block) * self.zone_block

    @property
    def switches(self) -> int:
        """Switch numbers that there may be, unused ones included."""
        return self.zone_base + self.zones * self.zone_block

    def rtsw(self, zone: int, rack: int) -> int:
        """Switch number of an RTSW: offset of its router id, loopback and management address."""
        return self.zone_base + (zone - 1) * self.zone_block + rack

    def ctsw(self, zone: int, ctsw: int) -> int:
        """Switch number of a CTSW."""
        return self.zone_base + (zone - 1) * self.zone_block + self.racks + ctsw

    def atsw(self, number: int) -> int:
        """Switch number of an ATSW."""
        return number

    def rtsw_asn(self, zone: int, rack: int) -> int:
        """AS number of an RTSW."""
        return self.asn.rtsw + (zone - 1) * self.asn_racks + rack - 1

    def ctsw_asn(self, zone: int) -> int:
        """AS number of all CTSWs of a zone: routes do not come back into the zone that they left."""
        return self.asn.ctsw + zone - 1

    def atsw_asn(self) -> int:
        """AS number of all ATSWs."""
        return self.asn.atsw
