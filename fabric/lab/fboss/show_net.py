"""`fboss2 show lldp|route|ndp|arp` in FBOSS's models (device-answers.md B3, B5)."""

from __future__ import annotations

from typing import Any

from fabric.lab.fboss import desired, kernel
from fabric.lab.fboss.box import Box

Json = dict[str, Any]

_STATES = {"FAILED": "UNREACHABLE"}
_LINK_LOCAL = "fe80::/64"
_NO_MAC = "00:00:00:00:00:00"


def lldp(box: Box, names: list[str]) -> Json:
    """`show lldp`: one row a neighbour; ports without neighbour are not listed."""
    ports = {port.get("name"): port for port in box.ports()}
    rows = []
    for heard in box.neighbours():
        port = ports.get(heard.port)
        if names and heard.port not in names:
            continue
        rows.append(
            {
                "localPort": heard.port,
                "systemName": heard.system or heard.chassis,
                "remotePort": heard.port_id,
                "remotePlatform": heard.platform,
                "remotePortDescription": (port or {}).get("description", ""),  # of the local port, in spite of the name
                "status": "up" if port is not None and box.link(port).carrier else "down",
                "expectedPeer": ((port or {}).get("expectedLLDPValues") or {}).get("5", ""),
            }
        )
    return {"lldpEntries": rows}


def routes(box: Box, _names: list[str]) -> Json:
    """`show route`: the kernel's table without the management interface."""
    rows = [
        *_rows(box, "-4", kernel.ip_json("-4", "route", "show")),
        *_rows(box, "-6", kernel.ip_json("-6", "route", "show")),
    ]
    return {"routeEntries": rows}


def _rows(box: Box, family: str, found: list[Json]) -> list[Json]:
    rows: dict[str, list[Json]] = {}
    for row in found:
        hops = kernel.hops_of(row)
        devices = {hop["dev"] for hop in hops} | ({row["dev"]} if "dev" in row else set())
        if devices - box.by_link.keys() - {"lo"} or row.get("type") in ("multicast", "unreachable"):
            continue
        prefix = kernel.full_prefix(row["dst"], family)
        if prefix == _LINK_LOCAL or row.get("type") == "blackhole":
            rows[prefix] = []
        elif hops:
            rows[prefix] = [_hop(box, hop["gateway"], hop["weight"], hop["dev"]) for hop in hops]
        else:
            rows[prefix] = [_hop(box, _own(box, row["dev"], prefix), 1, row["dev"])]
    if family == "-4":  # the kernel keeps these in its local table
        for address in desired.wish({"sw": box.sw}, box.node.ports).loopback:
            if ":" not in address:
                rows.setdefault(address, [_hop(box, address.partition("/")[0], 1, "lo")])
    return [_entry(prefix, hops) for prefix, hops in rows.items()]


def _entry(prefix: str, hops: list[Json]) -> Json:
    uneven = len({hop["weight"] for hop in hops}) > 1
    return {"networkAddress": prefix + (" (UCMP Active)" if uneven else ""), "nextHops": hops, "overridenEcmpMode": ""}


def _hop(box: Box, address: str, weight: int, device: str) -> Json:
    made: Json = {"addr": address, "weight": weight}
    name = _svi_name(box, device)
    if name:
        made["ifName"] = name
    return {**made, "isBackup": False}


def _svi(box: Box, device: str) -> Json:
    port = box.by_link.get(device)
    if port is not None:
        return box.homes.get(port["logicalID"], {})
    return next((svi for svi in desired.items(box.sw, "interfaces") if svi.get("isVirtual")), {})


def _svi_name(box: Box, device: str) -> str:
    svi = _svi(box, device)
    return svi.get("name") or (f"fboss{svi['intfID']}" if svi else "")


def _own(box: Box, device: str, prefix: str) -> str:
    """The address of ours that makes a connected route."""
    import ipaddress

    net = ipaddress.ip_network(prefix)
    for text in _svi(box, device).get("ipAddresses", []):
        address = ipaddress.ip_interface(text).ip
        if address.version == net.version and address in net:
            return str(address)
    return prefix.partition("/")[0]


def ndp(box: Box, wanted: list[str]) -> Json:
    """`show ndp`."""
    rows = []
    for row, port, svi in _neighbours(box, "-6", wanted):
        rows.append(
            {
                "ip": row["dst"],
                "mac": row.get("lladdr", _NO_MAC),
                "port": port.get("name", ""),
                "vlanName": f"vlan{port.get('ingressVlan', 0)}",
                "vlanID": svi.get("intfID", 0),
                "state": _state(row),
                "ttl": 0,
                "classID": 0,
                "switchName": "--",
                "resolvedSince": "--",
            }
        )
    return {"ndpEntries": rows}


def arp(box: Box, wanted: list[str]) -> Json:
    """`show arp`."""
    rows = []
    for row, port, _ in _neighbours(box, "-4", wanted):
        vlan = port.get("ingressVlan", 0)
        rows.append(
            {
                "ip": row["dst"],
                "mac": row.get("lladdr", _NO_MAC),
                "port": port["logicalID"],
                "vlan": f"vlan{vlan} ({vlan})",
                "state": _state(row),
                "ttl": 0,
                "classID": 0,
                "ifName": port.get("name", ""),
                "switchName": "--",
            }
        )
    return {"arpEntries": rows}


def _neighbours(box: Box, family: str, wanted: list[str]) -> list[tuple[Json, Json, Json]]:
    found = []
    for row in kernel.ip_json(family, "neigh", "show"):
        port = box.by_link.get(row.get("dev", ""))
        skipped = {"PERMANENT", "NOARP"} & set(row.get("state", []))
        if port is not None and not skipped and (not wanted or row["dst"] in wanted):
            found.append((row, port, box.homes.get(port["logicalID"], {})))
    return found


def _state(row: Json) -> str:
    word: str = (row.get("state") or ["INCOMPLETE"])[0]
    return _STATES.get(word, word)
