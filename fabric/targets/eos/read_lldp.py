"""LLDP neighbours of EOS, from `show lldp neighbors detail | json`."""

from __future__ import annotations

from fabric.targets.answer import Json, child, mapping, rows, text
from fabric.targets.eos.read_answer import answer_object
from fabric.targets.facts import LldpNeighbor


def read_lldp(answer: str) -> list[LldpNeighbor]:
    """All neighbours: a port with none is a key with an empty list, a port may have several."""
    what = "show lldp neighbors detail"
    ports = child(answer_object(answer, what), "lldpNeighbors", what)
    return [
        _neighbor(port, row)
        for port, heard in ports.items()
        for row in rows(mapping(heard, f"{what}: {port}"), "lldpNeighborInfo", f"{what}: {port}")
    ]


def _neighbor(port: str, row: Json) -> LldpNeighbor:
    found = row.get("neighborInterfaceInfo")
    info = found if isinstance(found, dict) else {}
    return LldpNeighbor(
        port=port,
        system_name=text(row, "systemName"),
        port_id=text(info, "interfaceId_v2") or _unquoted(text(info, "interfaceId")),
        port_description=_unquoted(text(info, "interfaceDescription")),
        chassis_id=_unquoted(text(row, "chassisId")),
    )


def _unquoted(value: str | None) -> str | None:
    """Without the quotes that EOS puts inside the string for text subtypes."""
    if value is not None and len(value) >= 2 and value[0] == value[-1] == '"':
        value = value[1:-1]
    return value or None
