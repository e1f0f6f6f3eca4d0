"""Interfaces of EOS, from `show interfaces | json`, or `show interfaces status | json`, which says less."""

from __future__ import annotations

from fabric.targets.answer import Json, child, count, mapping, text
from fabric.targets.eos.read_answer import answer_object
from fabric.targets.facts import InterfaceState

_ADMIN = {"disabled": False, "adminDown": False, "connected": True, "notconnect": True, "errdisabled": True}
_GBPS = 10**9


def read_interfaces(answer: str) -> list[InterfaceState]:
    """`show interfaces`: with MTU; the MTU of a VXLAN interface, which has none, is given as 0 by EOS and is unknown."""
    what = "show interfaces"
    found = child(answer_object(answer, what), "interfaces", what)
    return [_state(port, mapping(row, f"{what}: {port}"), "interfaceStatus") for port, row in found.items()]


def read_interface_status(answer: str) -> list[InterfaceState]:
    """`show interfaces status`: ports only, no MTU."""
    what = "show interfaces status"
    found = child(answer_object(answer, what), "interfaceStatuses", what)
    return [_state(port, mapping(row, f"{what}: {port}"), "linkStatus") for port, row in found.items()]


def _state(port: str, row: Json, status: str) -> InterfaceState:
    speed = (count(row, "bandwidth") or 0) // _GBPS
    return InterfaceState(
        name=port,
        admin_up=_ADMIN.get(text(row, status) or ""),
        oper_up=text(row, "lineProtocolStatus") == "up",
        mtu=count(row, "mtu") or None,
        speed_gbps=speed or None,
        description=text(row, "description"),
    )
