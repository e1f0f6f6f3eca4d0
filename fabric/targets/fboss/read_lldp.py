"""LLDP neighbours of FBOSS, from `fboss2 show lldp`."""

from __future__ import annotations

import re

from fabric.targets.answer import Json, name, rows, text
from fabric.targets.facts import LldpNeighbor
from fabric.targets.fboss.read_answer import host_object

_MAC = re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\Z", re.IGNORECASE)


def read_lldp(answer: str) -> list[LldpNeighbor]:
    """All neighbours; ports without one are not listed.

    The field `remotePortDescription` holds the description of the local port in spite of its name, so that the neighbour's is
    unknown; `systemName` is the chassis id (a MAC address) when the neighbour sent no name.
    """
    what = "show lldp"
    return [_neighbor(row, what) for row in rows(host_object(answer, what), "lldpEntries", what)]


def _neighbor(row: Json, what: str) -> LldpNeighbor:
    said = text(row, "systemName")
    is_chassis = said is not None and _MAC.match(said) is not None
    return LldpNeighbor(
        port=name(row, "localPort", what),
        system_name=None if is_chassis else said,
        port_id=text(row, "remotePort"),
        port_description=None,
        chassis_id=said if is_chassis else None,
    )
