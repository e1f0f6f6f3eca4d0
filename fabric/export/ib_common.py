"""What the InfiniBand exports share: the cables that are there, the speed of the ports."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.catalog import catalog
from fabric.design.ib.model import IbLink, Subnet
from fabric.errors import FabricError

RATES = {400: "NDR", 200: "HDR"}
"""Name of a 4x port by its speed in Gb/s, as UFM and ibnetdiscover print it."""
LANES = 4


def standing_cables(subnet: Subnet) -> Iterator[IbLink]:
    """The cables whose two ends are there; a planned one is not."""
    planned = {switch.name for switch in subnet.switches if switch.state == "planned"}
    planned |= {hca.name for hca in subnet.hcas if hca.state == "planned"}
    for link in subnet.links:
        if link.state != "planned" and link.a not in planned and link.b not in planned:
            yield link


def port_gbps(subnet: Subnet) -> int:
    """Speed of the switches' ports in Gb/s."""
    side = catalog().switch(subnet.spec.infiniband.switch).infiniband
    if side is None:
        raise FabricError(f"{subnet.spec.infiniband.switch} is no InfiniBand switch")
    return int(side.port_speed_gbps.value)


def lanes_gbps(subnet: Subnet) -> int:
    """Speed of one of the four lanes in Gb/s."""
    return port_gbps(subnet) // LANES
