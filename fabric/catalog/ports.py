"""Ports of a fixed switch: the speed profiles, the compact table on disk, and its expansion.

The table on disk names, for each port, its core, its first lane and a `shape` (the set of profiles that it offers).
Lanes and subsumption follow from that: a profile of n lanes takes the n lanes from the port's first one, and every
other port of the same core whose first lane is among them cannot be used at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from fabric.catalog.base import CatalogError, Evidence, Model


class Profile(Model):
    """One speed profile of FBOSS: what a port does at one speed.

    `medium` is taken from the suffix of the profile's name, because FBOSS's own medium field describes the ASIC side of
    the link (it reads BACKPLANE for every profile of Minipack2 and 7388X5); `unspecified` when the name has no suffix.
    """

    name: str
    speed_mbps: int = Field(gt=0)
    lanes: int = Field(gt=0)
    modulation: Literal["NRZ", "PAM4"]
    fec: Literal["NONE", "CL74", "RS528", "RS544", "RS544_2N"]
    medium: Literal["copper", "optical", "unspecified"]


class ProfileTable(Evidence):
    """The profiles that the catalog's switches use, by FBOSS profile number."""

    profiles: dict[int, Profile]


class PortShape(Model):
    """The profiles that a class of ports offers; `cage_type` is the kind of front-panel cage where it is known."""

    profiles: tuple[int, ...] = Field(min_length=1)
    cage_type: str | None = None


class PortRow(Model):
    """One port of the table on disk. `name` is the FBOSS name; `eos` its EOS name where EOS runs on the box."""

    name: str = Field(pattern=r"^eth\d+/\d+/\d+$")
    id: int = Field(gt=0)
    ctl: int = Field(gt=0, description="logical id of the controlling port")
    core: int = Field(ge=0)
    lane: int = Field(ge=0, description="first lane in the core")
    shape: str
    eos: str | None = None


class PortTable(Evidence):
    """The port table of one fixed switch, as on disk."""

    platform: str
    subsumption: Literal["declared", "undeclared"] = Field(
        description="whether the platform mapping itself declares the ports that a wide profile takes away"
    )
    cores_per_pipeline: int | None = Field(default=None, description="pipeline = core // this")
    cage_type_source: str | None = Field(default=None, description="where the cage types come from, and how sure")
    eos_name_source: str | None = Field(default=None, description="where the EOS names come from, and how sure")
    shapes: dict[str, PortShape]
    ports: tuple[PortRow, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class ProfileOnPort:
    """What one profile takes on one port.

    `lanes`: lane numbers in the port's core. `subsumes`: ports that the platform mapping declares unusable beside it.
    `overlap`: ports on the same lanes that the mapping does *not* declare, and that cannot work beside it either.
    """

    lanes: tuple[int, ...]
    subsumes: tuple[str, ...] = ()
    overlap: tuple[str, ...] = ()

    @property
    def blocks(self) -> tuple[str, ...]:
        """All ports that must stay unused beside this profile."""
        return self.subsumes + self.overlap


@dataclass(frozen=True, slots=True)
class PortDef:
    """One port of a fixed switch.

    `name` is the neutral name (the FBOSS name, or the InfiniBand port number); `names` has one name a NOS. `label` is
    the front-panel cage. `logical_id`, `controlling_port`: numbers of the platform mapping. `core`, `pipeline`: where
    the port sits in the ASIC (None = not evidenced). `profiles`: FBOSS profile number -> what it takes.
    """

    name: str
    label: str
    cage: str
    names: Mapping[str, str]
    logical_id: int
    controlling_port: int
    core: int | None
    pipeline: int | None
    cage_type: str | None
    profiles: Mapping[int, ProfileOnPort]


def expand(table: PortTable, profiles: Mapping[int, Profile]) -> tuple[PortDef, ...]:
    """The ports of `table` in its (front-panel) order; raises CatalogError when the table contradicts itself."""
    _check_rows(table, profiles)
    by_core: dict[int, list[PortRow]] = {}
    for row in table.ports:
        by_core.setdefault(row.core, []).append(row)
    widths = {name: [(pid, profiles[pid].lanes) for pid in shape.profiles] for name, shape in table.shapes.items()}
    return tuple(_port(table, row, widths[row.shape], by_core[row.core]) for row in table.ports)


def _port(table: PortTable, row: PortRow, widths: list[tuple[int, int]], mates: list[PortRow]) -> PortDef:
    declared = table.subsumption == "declared"
    by_width: dict[int, ProfileOnPort] = {}
    for _, width in widths:
        if width not in by_width:
            end = row.lane + width
            taken = tuple(mate.name for mate in mates if mate is not row and row.lane <= mate.lane < end)
            lanes = tuple(range(row.lane, end))
            by_width[width] = ProfileOnPort(lanes, taken, ()) if declared else ProfileOnPort(lanes, (), taken)
    cage = row.name.rpartition("/")[0]
    return PortDef(
        name=row.name,
        label=cage.removeprefix("eth"),
        cage=cage,
        names={"fboss": row.name, "eos": row.eos} if row.eos else {"fboss": row.name},
        logical_id=row.id,
        controlling_port=row.ctl,
        core=row.core,
        pipeline=None if table.cores_per_pipeline is None else row.core // table.cores_per_pipeline,
        cage_type=table.shapes[row.shape].cage_type,
        profiles={pid: by_width[width] for pid, width in widths},
    )


def _check_rows(table: PortTable, profiles: Mapping[int, Profile]) -> None:
    """Refuse duplicate ids, names, EOS names and lanes, and references that lead nowhere."""
    for name, shape in table.shapes.items():
        for pid in shape.profiles:
            if pid not in profiles:
                raise CatalogError(f"shapes.{name}: profile {pid} is not in profiles.yaml")
    seen: dict[tuple[str, object], str] = {}
    ids = {row.id for row in table.ports}
    for row in table.ports:
        if row.shape not in table.shapes:
            known = ", ".join(table.shapes)
            raise CatalogError(f"port {row.name}: shape {row.shape!r} is not declared (known: {known})")
        if row.ctl not in ids:
            raise CatalogError(f"port {row.name}: controlling port {row.ctl} is not in the table")
        keys: list[tuple[str, object]] = [("name", row.name), ("id", row.id), ("first lane", (row.core, row.lane))]
        if row.eos:
            keys.append(("EOS name", row.eos))
        for key in keys:
            if key in seen:
                raise CatalogError(f"port {row.name}: {key[0]} {_show(key[1])} is also that of {seen[key]}")
            seen[key] = row.name


def _show(value: object) -> str:
    return f"{value[1]} of core {value[0]}" if isinstance(value, tuple) else str(value)
