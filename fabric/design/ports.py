"""Port assignment by rule: from a catalog model to the ordered ports of each use.

A fixed box used as RTSW takes its role map. Any box used as CTSW or ATSW takes all its ports of the wanted speed, in
front-panel
order: downlinks from the first on, uplinks from the last back, so that neither moves when the other grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from fabric.catalog import LineCard, Medium, SwitchModel, catalog
from fabric.design.model import PortSlot
from fabric.errors import FabricError


@dataclass(frozen=True, slots=True)
class RackPorts:
    """The ports of an RTSW by use, in order."""

    downlinks: tuple[PortSlot, ...]
    uplinks: tuple[PortSlot, ...]
    front_end: PortSlot | None
    host_speed_gbps: int
    uplink_speed_gbps: int
    host_medium: str
    uplink_medium: str
    map_name: str


def eos_speed(speed_gbps: int, line_card: LineCard | None) -> tuple[str, tuple[int, ...]]:
    """EOS `speed` value and the lanes that become interfaces when a cage runs at that speed; FabricError when it
    cannot.

    Fixed boxes have no card file: their 8-lane cages run as the 36-port line cards' do (eos.md section 1.2).
    """
    card = line_card or catalog().line_card("7800r3a-36d")
    way = card.speed(speed_gbps)
    if way is None:
        known = ", ".join(f"{entry.speed_gbps}G" for entry in card.speeds)
        raise FabricError(f"{card.name} has no {speed_gbps}G ports", hint=f"it runs {known}")
    return way.eos_speed, way.lanes_used


def _slot(model: SwitchModel, port: str, nos: str, speed_gbps: int, medium: Medium) -> PortSlot:
    entry = model.port(port)
    name = entry.names.get(nos)
    if name is None:
        raise FabricError(f"port {port} of {model.name} has no name under {nos}")
    fboss = nos == "fboss"
    return PortSlot(
        name=name,
        cage=entry.cage,
        logical_id=entry.logical_id if fboss else None,
        profile=model.profile_for(port, speed_gbps, medium) if fboss else None,
        speed_token=None if fboss else eos_speed(speed_gbps, None)[0],
        pipeline=entry.pipeline,
    )


@lru_cache(maxsize=64)
def rack_ports(model_name: str, nos: str, map_name: str | None) -> RackPorts:
    """The role map `map_name` (the first one when None) of a fixed box; FabricError for an unknown map or a chassis."""
    model = catalog().switch(model_name)
    if not model.port_maps:
        raise FabricError(f"{model_name} has no role map, so it cannot be an RTSW")
    name = map_name or next(iter(model.port_maps))
    chosen = model.port_map(name)
    down = tuple(_slot(model, port, nos, chosen.host_speed_gbps, chosen.host_medium) for port in chosen.downlinks)
    up = tuple(_slot(model, port, nos, chosen.uplink_speed_gbps, chosen.uplink_medium) for port in chosen.uplinks)
    reserved = chosen.reserved.get("front_end")
    front = _slot(model, reserved, nos, chosen.host_speed_gbps, chosen.host_medium) if reserved else None
    return RackPorts(
        down,
        up,
        front,
        chosen.host_speed_gbps,
        chosen.uplink_speed_gbps,
        chosen.host_medium,
        chosen.uplink_medium,
        name,
    )


@lru_cache(maxsize=64)
def spine_ports(model_name: str, line_card: str | None, nos: str, speed_gbps: int) -> tuple[PortSlot, ...]:
    """All ports of a box at one speed with optical media, in front-panel order; FabricError when it has none."""
    model = catalog().switch(model_name)
    slots = _chassis(model, line_card, speed_gbps) if model.form == "chassis" else _fixed(model, nos, speed_gbps)
    if not slots:
        raise FabricError(f"{model_name} has no {speed_gbps}G port under {nos}")
    return slots


def _chassis(model: SwitchModel, line_card: str | None, speed_gbps: int) -> tuple[PortSlot, ...]:
    if line_card is None:
        raise FabricError(
            f"{model.name} is a chassis and needs a line card", hint="one of " + ", ".join(model.line_cards)
        )
    ports = model.chassis_ports(line_card)
    token, lanes = eos_speed(speed_gbps, catalog().line_card(line_card))
    return tuple(
        PortSlot(port.lane_name(lane), f"{port.slot}/{port.port}", None, None, token, port.asic)
        for port in ports
        for lane in lanes
    )


def _fixed(model: SwitchModel, nos: str, speed_gbps: int) -> tuple[PortSlot, ...]:
    taken: set[str] = set()
    slots: list[PortSlot] = []
    for entry in model.ports:
        fitting = model.profiles_for(entry.name, speed_gbps, "optical")
        if not fitting or entry.name in taken or nos not in entry.names:
            continue
        taken.update(entry.profiles[fitting[0]].blocks)
        slots.append(_slot(model, entry.name, nos, speed_gbps, "optical"))
    return tuple(slots)
