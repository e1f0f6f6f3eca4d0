"""InfiniBand switches: ports by rule (cages times ports a cage), labels as the tools print them."""

from __future__ import annotations

from pydantic import Field

from fabric.catalog.base import Model, Sourced
from fabric.catalog.ports import PortDef


class InfiniBandSide(Model):
    """Ports and identity of an InfiniBand switch. Port p sits in cage ceil(p / ports_per_cage), place 1.. in it.

    `labels` maps a naming scheme to its form, with the fields {port}, {cage} and {sub} (place in the cage).
    """

    cages: Sourced[int]
    ports_per_cage: Sourced[int]
    port_speed_gbps: Sourced[int]
    cage_type: str | None = None
    front_panel: str = Field(description="the scheme of `labels` that is printed on the front panel")
    labels: dict[str, Sourced[str]]
    device_id: Sourced[str] | None = None
    vendor_id: Sourced[str] | None = None
    aggregation_node_port: Sourced[int] | None = Field(default=None, description="extra port of the SHARP node")


def infiniband_ports(side: InfiniBandSide) -> tuple[PortDef, ...]:
    """The data ports of the switch, 1 to cages x ports_per_cage; the neutral name is the port number as text."""
    per_cage = side.ports_per_cage.value
    return tuple(_port(side, number, per_cage) for number in range(1, side.cages.value * per_cage + 1))


def _port(side: InfiniBandSide, number: int, per_cage: int) -> PortDef:
    cage, sub = (number - 1) // per_cage + 1, (number - 1) % per_cage + 1
    names = {scheme: form.value.format(port=number, cage=cage, sub=sub) for scheme, form in side.labels.items()}
    return PortDef(
        name=str(number),
        label=names[side.front_panel],
        cage=str(cage),
        names={"infiniband": str(number), **names},
        logical_id=number,
        controlling_port=(cage - 1) * per_cage + 1,
        core=None,
        pipeline=None,
        cage_type=side.cage_type,
        profiles={},
    )
