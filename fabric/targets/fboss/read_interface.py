"""Interfaces of FBOSS, from `fboss2 show interface` and the administrative states of `fboss2 show port`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fabric.targets.answer import Json, count, name, rows, text
from fabric.targets.facts import InterfaceState
from fabric.targets.fboss.read_answer import host_object

_SPEED = re.compile(r"(\d{1,6})G\Z")
_ADMIN = {"Enabled": True, "Disabled": False}


def read_admin(answer: str) -> dict[str, bool | None]:
    """Port name -> administratively up, from `show port`."""
    what = "show port"
    return {
        name(row, "name", what): _ADMIN.get(text(row, "adminState") or "")
        for row in rows(host_object(answer, what), "portEntries", what)
    }


def read_interfaces(answer: str, admin: Mapping[str, bool | None]) -> list[InterfaceState]:
    """All interfaces; `admin` is what `read_admin` gave, empty when it could not be asked."""
    what = "show interface"
    return [_state(row, admin, what) for row in rows(host_object(answer, what), "interfaces", what)]


def _state(row: Json, admin: Mapping[str, bool | None], what: str) -> InterfaceState:
    port, speed = name(row, "name", what), _SPEED.match(text(row, "speed") or "")
    return InterfaceState(
        name=port,
        admin_up=admin.get(port),
        oper_up=text(row, "status") == "up",
        mtu=count(row, "mtu") or None,
        speed_gbps=int(speed[1]) or None if speed else None,
        description=text(row, "description"),
    )
