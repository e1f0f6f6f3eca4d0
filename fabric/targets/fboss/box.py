"""A box as FBOSS sees it: its port inventory, its ASIC and the speeds of its profiles, taken from the catalog."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from fabric.catalog import BufferSet, FbossSide, PortDef, catalog
from fabric.errors import FabricError
from fabric.targets.fboss.inventory import Asic, PortEntry, PortInventory, load_asic

Json = dict[str, Any]
"""A JSON object, in the making."""


@dataclass(frozen=True, slots=True)
class Box:
    """One switch model under FBOSS. `ports` are in front-panel order; `speeds` is PortProfileID -> Mb/s."""

    model: str
    fboss: FbossSide
    asic: Asic
    inventory: PortInventory
    ports: tuple[PortDef, ...]
    speeds: dict[int, int]

    @property
    def buffers(self) -> BufferSet:
        """The lossless buffer numbers of this box, in cells."""
        return catalog().buffers(self.model)


@cache
def box(model: str) -> Box:
    """The box `model`; raises FabricError for a model that FBOSS does not run on."""
    switch = catalog().switch(model)
    if switch.fboss is None:
        raise FabricError(f"FBOSS does not run on {model}", hint="choose nos: eos")
    speeds = {number: profile.speed_mbps for number, profile in switch.profiles.items()}
    ids = {port.name: port.logical_id for port in switch.ports}
    entries = {port.logical_id: _entry(port, ids) for port in switch.ports}
    inventory = PortInventory(switch.fboss.platform, entries, speeds)
    return Box(model, switch.fboss, load_asic(switch.fboss.asic_type_name), inventory, switch.ports, speeds)


def _entry(port: PortDef, ids: dict[str, int]) -> PortEntry:
    return PortEntry(
        name=port.name,
        profiles={pid: tuple(ids[name] for name in use.subsumes) for pid, use in port.profiles.items()},
        overlaps={pid: tuple(ids[name] for name in use.overlap) for pid, use in port.profiles.items() if use.overlap},
        core=port.core,
        first_lane=first_lane(port),
    )


def first_lane(port: PortDef) -> int:
    """The first lane of a port within its core."""
    return next(iter(port.profiles.values())).lanes[0]
