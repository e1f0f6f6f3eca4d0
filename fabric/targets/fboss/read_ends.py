"""The ends of sessions and links in FBOSS's agent.conf and bgpcpp.conf."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from fabric.errors import FabricError
from fabric.targets.ends import Ends, SessionEnd, Subnets, canonical
from fabric.targets.fboss import wire

_LINK = ("state", "speed", "profileID", "fec")
_AFI = ("disable_ipv4_afi", "disable_ipv6_afi", "v4_over_v6_nexthop")


def read_ends(files: Mapping[str, bytes | None]) -> Ends:
    """By path; a file that is missing or no JSON says nothing."""
    agent = _rows(_load(files, "agent.conf").get("sw"))
    bgp = _load(files, "bgpcpp.conf")
    ports = _list(agent, "ports")
    links = {str(port.get("name")): tuple(str(port.get(key, "")) for key in _LINK) for port in ports}
    return Ends(_sessions(bgp, _subnets(agent, ports)), links)


def _load(files: Mapping[str, bytes | None], name: str) -> dict[str, Any]:
    for path, content in files.items():
        if path.rpartition("/")[2] == name and content is not None:
            try:
                return _rows(wire.loads(content, source=path))
            except FabricError:
                return {}
    return {}


def _rows(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    found = value.get(key)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _subnets(agent: Mapping[str, Any], ports: list[dict[str, Any]]) -> Subnets:
    """Interfaces by the port of their VLAN, where it has one alone."""
    names = {str(port.get("logicalID")): str(port.get("name")) for port in ports}
    members = [(str(row.get("vlanID")), str(row.get("logicalPort"))) for row in _list(agent, "vlanPorts")]
    count = Counter(vlan for vlan, _ in members)
    port_of = {vlan: names.get(port, "") for vlan, port in members if count[vlan] == 1}
    return Subnets(
        (port_of.get(str(row.get("vlanID")), ""), str(address))
        for row in _list(agent, "interfaces")
        for address in row.get("ipAddresses") or ()
    )


def _sessions(bgp: Mapping[str, Any], subnets: Subnets) -> dict[str, SessionEnd]:
    groups = {str(row.get("name")): row for row in _list(bgp, "peer_groups")}
    found: dict[str, SessionEnd] = {}
    for row in _list(bgp, "peers"):
        peer = canonical(str(row.get("peer_addr")))
        both = {**groups.get(str(row.get("peer_group_name")), {}), **row}
        local = both.get("local_as_4_byte", bgp.get("local_as_4_byte"))
        families = tuple(f"{key}={both[key]}" for key in _AFI if key in both)
        found[peer] = SessionEnd(
            str(local),
            str(both.get("remote_as_4_byte")),
            str(both.get("local_addr")),
            families,
            subnets.next_to(peer)[0],
        )
    return found
