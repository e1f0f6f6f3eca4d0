"""Ethernet interfaces: the used ports, and the rest of the box shut down so that no unused port comes up as a switchport."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from fabric.catalog import catalog
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Port, Switch
from fabric.design.ports import eos_speed
from fabric.errors import FabricError


class PortView(NamedTuple):
    """One Ethernet interface. An unused one (`used` False) has only a name; addresses are empty where there is none.

    A tuple, which the template unpacks: hundreds stand on a device, and locals are read twice as fast as attributes.
    """

    name: str
    used: bool = False
    description: str = ""
    down: bool = True
    speed: str = ""
    address4: str = ""
    address6: str = ""
    lossless: bool = False


def port_views(switch: Switch, ports: list[Port]) -> list[PortView]:
    """All interfaces in running-config order (slot, port, lane): used ones, and the unused lanes and cages in shutdown.

    FabricError when the box lacks the interface of a port, so that none is ever left out in silence.
    """
    used = {port.slot.name: port for port in ports}
    split = _split(ports, switch.line_card)
    views: list[PortView] = []
    for cage, unused in _unused(switch.model, switch.line_card):
        if cage in split:
            names = [f"{cage}/{lane}" for lane in split[cage]]
            views += [_used(used[name]) if name in used else PortView(name) for name in names]
        elif unused.name in used:
            views.append(_used(used[unused.name]))
        else:
            views.append(unused)
    if sum(view.used for view in views) != len(ports):
        lost = min(used.keys() - {view.name for view in views if view.used})
        raise FabricError(f"{switch.name}: {switch.model} has no interface {lost} at that speed")
    return views


def _split(ports: list[Port], line_card: str | None) -> dict[str, tuple[int, ...]]:
    """The used cages that run as several interfaces, each with the lanes of those."""
    lanes = {speed: _lanes(line_card, speed) for speed in {port.cabled.speed_gbps for port in ports}}
    several = {speed for speed, found in lanes.items() if len(found) > 1}
    if not several:
        return {}
    chosen = [port for port in ports if port.cabled.speed_gbps in several]
    return {port.slot.name.rpartition("/")[0]: lanes[port.cabled.speed_gbps] for port in chosen}


@lru_cache(maxsize=64)
def _unused(model_name: str, line_card: str | None) -> tuple[tuple[str, PortView], ...]:
    """Every cage of a box with its view (that of its first lane) for when it is not used."""
    return tuple((cage, PortView(f"{cage}/1")) for cage in cages(model_name, line_card))


@lru_cache(maxsize=64)
def cages(model_name: str, line_card: str | None) -> tuple[str, ...]:
    """Interface names of all cages of a box without the lane (`Ethernet3/1`), in front-panel order."""
    model = catalog().switch(model_name)
    if line_card is not None:
        return tuple(f"Ethernet{port.slot}/{port.port}" for port in model.chassis_ports(line_card))
    names = {port.names["eos"].rpartition("/")[0] for port in model.ports if "eos" in port.names}
    return tuple(sorted(names, key=_place))


def _place(cage: str) -> tuple[int, ...]:
    return tuple(int(part) for part in cage.removeprefix("Ethernet").split("/"))


@lru_cache(maxsize=64)
def _lanes(line_card: str | None, speed_gbps: int) -> tuple[int, ...]:
    """Lanes that are interfaces when a cage runs at that speed."""
    return eos_speed(speed_gbps, None if line_card is None else catalog().line_card(line_card))[1]


def _used(port: Port) -> PortView:
    slot, local4, local6 = port.slot, port.local4, port.local6
    return PortView(
        slot.name,
        True,
        f"{port.peer}:{port.peer_port}" if port.enabled else _reserved(port),
        not port.enabled,
        slot.speed_token or "",
        "" if local4 is None else f"{fmt4(local4)}/31",
        "" if local6 is None else f"{fmt6(local6)}/{port.len6}",
        port.role != "front-end",
    )


def _reserved(port: Port) -> str:
    """Description of a port whose other end is not there."""
    return "reserved: front end" if port.role == "front-end" else f"planned: {port.peer}:{port.peer_port}"
