"""Ethernet interfaces: the used ports, and the rest of the box shut down so that no unused port comes up as a switchport."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from fabric.catalog import catalog
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Port, Switch
from fabric.design.ports import eos_speed


@dataclass(slots=True)  # not frozen: hundreds a device, and a frozen one takes three times as long to make
class PortView:
    """One Ethernet interface, never changed once made. An unused one (`used` False) has only a name; addresses are empty where there is none."""

    name: str
    used: bool = False
    description: str = ""
    down: bool = True
    speed: str = ""
    address4: str = ""
    address6: str = ""
    lossless: bool = False


def port_views(switch: Switch, ports: list[Port]) -> list[PortView]:
    """All interfaces in running-config order (slot, port, lane): used ones, and the unused lanes and cages in shutdown."""
    used: dict[str, list[Port]] = {}
    for port in ports:
        used.setdefault(port.slot.name.rpartition("/")[0], []).append(port)
    views: list[PortView] = []
    for cage, unused in _unused(switch.model, switch.line_card):
        if cage in used:
            views += _cage(cage, used[cage], switch.line_card)
        else:
            views.append(unused)
    return views


@lru_cache(maxsize=64)
def _unused(model_name: str, line_card: str | None) -> tuple[tuple[str, PortView], ...]:
    """Every cage of a box with its view for when it is not used."""
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


def _cage(cage: str, ports: list[Port], line_card: str | None) -> list[PortView]:
    """The interfaces of a used cage: its used lanes, and in shutdown the other lanes that the breakout makes."""
    lanes = _lanes(line_card, ports[0].cabled.speed_gbps)
    if len(lanes) == 1:
        return [_used(ports[0])]
    taken = {port.slot.name: port for port in ports}
    names = [f"{cage}/{lane}" for lane in lanes]
    return [_used(taken[name]) if name in taken else PortView(name) for name in names]


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
