"""Role maps: which ports of a fixed switch are downlinks, uplinks or kept for something else, in filling order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field

from fabric.catalog.base import CatalogError, Evidence, Medium
from fabric.catalog.ports import PortDef, Profile


class PortMap(Evidence):
    """One role map of a fixed switch.

    `downlinks` and `uplinks` are in the order in which they are filled; names are the neutral (FBOSS) names. `reserved`
    ports have a fixed purpose of their own, by name (`front_end`: the link to the rack's front-end switch).
    """

    name: str
    description: str
    host_speed_gbps: int = Field(gt=0)
    uplink_speed_gbps: int = Field(gt=0)
    host_medium: Medium
    uplink_medium: Medium
    downlinks: tuple[str, ...] = Field(min_length=1)
    uplinks: tuple[str, ...] = Field(min_length=1)
    reserved: dict[str, str] = Field(default_factory=dict)

    @property
    def max_downlinks(self) -> int:
        """How many host links the map has room for."""
        return len(self.downlinks)

    @property
    def max_uplinks(self) -> int:
        """How many uplinks the map has room for."""
        return len(self.uplinks)

    def used(self) -> Iterator[tuple[str, str]]:
        """(role, port) of every port of the map, downlinks first."""
        yield from (("downlinks", name) for name in self.downlinks)
        yield from (("uplinks", name) for name in self.uplinks)
        yield from ((f"reserved.{role}", name) for role, name in self.reserved.items())


def profiles_for(port: PortDef, profiles: Mapping[int, Profile], speed_gbps: int, medium: Medium) -> tuple[int, ...]:
    """Profile numbers of `port` at that speed and medium, widest (most lanes) first.

    A profile whose name says no medium (40G, number 4) serves either; it comes after those that name it.
    """
    fitting = [
        pid
        for pid in port.profiles
        if profiles[pid].speed_mbps == speed_gbps * 1000 and profiles[pid].medium in (medium, "unspecified")
    ]
    fitting.sort(key=lambda pid: (profiles[pid].medium == "unspecified", -profiles[pid].lanes, pid))
    return tuple(fitting)


def check_map(port_map: PortMap, ports: Mapping[str, PortDef], profiles: Mapping[int, Profile]) -> None:
    """Refuse a map that the switch cannot carry; raises CatalogError with the first reason.

    Reasons: a port that the switch lacks or that is named twice, a port without a profile of the role's speed and
    medium, a used port that another used port's profile subsumes or overlaps. A reserved port is taken at its widest
    profile, as its speed is the operator's choice.
    """
    where = f"port_maps.{port_map.name}"
    role_of: dict[str, str] = {}
    for role, name in port_map.used():
        if name not in ports:
            raise CatalogError(f"{where}.{role}: this switch has no port {name!r}")
        if name in role_of:
            raise CatalogError(f"{where}.{role}: port {name} is already used in {role_of[name]}")
        role_of[name] = role
    for name, role in role_of.items():
        for blocked in _blocked(port_map, role, ports[name], profiles, where):
            if blocked in role_of:
                other = role_of[blocked]
                raise CatalogError(f"{where}.{role}: port {name} takes the lanes of {blocked}, used in {other}")


def _blocked(
    port_map: PortMap, role: str, port: PortDef, profiles: Mapping[int, Profile], where: str
) -> tuple[str, ...]:
    """The ports that `port` makes unusable in its role."""
    if role == "downlinks":
        speed, medium = port_map.host_speed_gbps, port_map.host_medium
    elif role == "uplinks":
        speed, medium = port_map.uplink_speed_gbps, port_map.uplink_medium
    else:
        return max((use.blocks for use in port.profiles.values()), key=len, default=())
    fitting = profiles_for(port, profiles, speed, medium)
    if not fitting:
        raise CatalogError(f"{where}.{role}: port {port.name} has no {speed}G {medium} profile")
    return port.profiles[fitting[0]].blocks
