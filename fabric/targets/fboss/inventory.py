"""What the checks need to know of a box: its port map (filled by the catalog) and its ASIC (data/asics.json)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from fabric.errors import FabricError
from fabric.targets.fboss.schema import DATA


@dataclass(frozen=True, slots=True)
class PortEntry:
    """One logical port of a platform mapping.

    `name` is the FBOSS name (`eth1/17/1`); `profiles` maps a PortProfileID to the logical ids that it subsumes;
    `overlaps` does the same for lanes that overlap without being declared as subsumed. `core` and `first_lane` (of
    the ASIC, from 0) serve to check the SDK port map; None = not known.
    """

    name: str
    profiles: Mapping[int, tuple[int, ...]]
    overlaps: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    core: int | None = None
    first_lane: int | None = None


@dataclass(frozen=True, slots=True)
class PortInventory:
    """A platform mapping: `ports` by logical id, `profile_speeds` = PortProfileID -> Mbps."""

    platform: str
    ports: Mapping[int, PortEntry]
    profile_speeds: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Asic:
    """Limits of a switch ASIC (source: data/asics.json).

    `asic_type` is the AsicType number; recovery step and maximum of the PFC watchdog are 0 where none is known.
    """

    name: str
    asic_type: int
    port_queues: int
    cpu_queues: int
    itms: int
    usable_cells_per_itm: int
    mirrors: int
    logical_ports: int
    ecmp_width: int
    ars_width: int
    watchdog_recovery_step_ms: int
    watchdog_recovery_max_ms: int
    cell_bytes: int


@cache
def load_asic(name: str) -> Asic:
    """The limits of the ASIC `name` ("TOMAHAWK3", "TOMAHAWK4"); raises FabricError for another name."""
    raw = json.loads((DATA / "asics.json").read_text(encoding="utf-8"))
    known = raw["asics"]
    short = name.removeprefix("ASIC_TYPE_")
    if short not in known:
        raise FabricError(f"no limits are known for the FBOSS ASIC {name!r}", hint=f"known: {', '.join(sorted(known))}")
    return Asic(name=short, cell_bytes=raw["cell_bytes"], **known[short])
