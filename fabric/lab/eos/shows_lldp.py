"""Answers about LLDP neighbours, in EOS's JSON shapes and text, from what lldpd hears."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fabric.lab.eos.shows_base import Json
from fabric.lab.eos.values import dotted, short_name

_ID_TYPES = {
    "mac": "macAddress",
    "ifname": "interfaceName",
    "local": "local",
    "ip": "networkAddress",
    "ifalias": "interfaceAlias",
}
_CAPABILITIES = {"Bridge": "bridge", "Router": "router", "Wlan": "wlanAccessPoint", "Station": "stationOnly"}


def detail(neighbors: Sequence[Json], ports: dict[str, str], now: float) -> Json:
    """`show lldp neighbors detail | json`: every port is a key. `ports`: NOS name -> Linux name."""
    found: dict[str, list[Json]] = {port: [] for port in ports}
    names = {linux: port for port, linux in ports.items()}
    for entry in neighbors:
        if entry.get("name") in names:
            found[names[entry["name"]]].append(_neighbor(entry, now))
    return {"lldpNeighbors": {port: {"lldpNeighborInfo": entries} for port, entries in found.items()}}


def _neighbor(entry: Json, now: float) -> Json:
    chassis, port = _first(entry.get("chassis")), _first(entry.get("port"))
    kind, value = _identifier(chassis)
    since = now - _age(str(entry.get("age", "")))
    out: Json = {"chassisIdType": kind, "chassisId": value}
    for key, source in (("systemName", "name"), ("systemDescription", "descr")):
        words = _value(chassis.get(source))
        if words is not None:
            out[key] = words
    out["systemCapabilities"] = {
        _CAPABILITIES[one["type"]]: bool(one.get("enabled"))
        for one in chassis.get("capability") or []
        if one.get("type") in _CAPABILITIES
    }
    out["neighborInterfaceInfo"] = _interface_info(port)
    out["managementAddresses"] = [
        {
            "addressType": "ipv6" if ":" in one["value"] else "ipv4",
            "address": one["value"],
            "interfaceNumType": "ifIndex",
            "interfaceNum": int(_value(chassis.get("mgmt-iface")) or 0),
            "oidString": "",
        }
        for one in chassis.get("mgmt-ip") or []
        if one.get("value")
    ]
    ttl = int(_value(port.get("ttl")) or 120)
    return {**out, "ttl": ttl, "neighborDiscoveryTime": since, "lastChangeTime": since, "lastContactTime": now}


def _interface_info(port: Json) -> Json:
    kind, value = _identifier(port)
    out: Json = {
        "interfaceIdType": kind,
        "interfaceId": value if kind == "macAddress" else f'"{value}"',
        "interfaceId_v2": value,
    }
    description = _value(port.get("descr"))
    if description is not None:
        out["interfaceDescription"] = description
    return {
        **out,
        "autoNegCapability": "notCapable",
        "autoNegAdvertisedCapabilities": [],
        "operMauType": "Unknown",
        "linkAggregationStatus": "capableAndDisabled",
        "linkAggregationInterfaceId": 0,
        "portAndProtocolVlanSupported": {},
        "portAndProtocolVlanEnabled": {},
        "vlanNames": {},
        "protocolIdentityInfo": [],
        "unknownTlvs": [],
        "unknownOrgDefinedTlvs": [],
    }


def brief(detailed: Json, now: float) -> Json:
    """`show lldp neighbors | json`, from the detailed answer: one row a neighbour."""
    rows = [
        {
            "port": port,
            "neighborDevice": entry.get("systemName", ""),
            "neighborPort": entry["neighborInterfaceInfo"]["interfaceId_v2"],
            "ttl": entry["ttl"],
        }
        for port, found in detailed["lldpNeighbors"].items()
        for entry in found["lldpNeighborInfo"]
    ]
    return {
        "tablesLastChangeTime": now,
        "tablesAgeOuts": 0,
        "tablesInserts": len(rows),
        "tablesDeletes": 0,
        "tablesDrops": 0,
        "lldpNeighbors": rows,
    }


def text(answer: Json) -> str:
    """`show lldp neighbors`."""
    head = (
        f"Last table change time   : 0:00:02 ago\nNumber of table inserts  : {answer['tablesInserts']}\n"
        "Number of table deletes  : 0\nNumber of table drops    : 0\nNumber of table age-outs : 0\n\n"
        "Port       Neighbor Device ID             Neighbor Port ID           TTL\n"
    )
    return head + "".join(
        f"{short_name(row['port']):<10} {row['neighborDevice']:<30} {row['neighborPort']:<26} {row['ttl']}\n"
        for row in answer["lldpNeighbors"]
    )


def detail_text(detailed: Json) -> str:
    """`show lldp neighbors detail`, the fields that operators look for."""
    out: list[str] = []
    for port, found in detailed["lldpNeighbors"].items():
        entries = found["lldpNeighborInfo"]
        out.append(f"Interface {port} detected {len(entries)} LLDP neighbors:\n")
        for entry in entries:
            info = entry["neighborInterfaceInfo"]
            out += [
                f"  Neighbor {dotted(entry['chassisId'])}/{info['interfaceId']}",
                f'    - System Name: "{entry.get("systemName", "")}"',
                f'    - Port Description: "{info.get("interfaceDescription", "")}"',
                "",
            ]
    return "\n".join(out) + "\n"


def _first(items: Any) -> Json:
    return items[0] if isinstance(items, list) and items and isinstance(items[0], dict) else {}


def _value(items: Any) -> str | None:
    value = _first(items).get("value")
    return None if value is None else str(value)


def _identifier(block: Json) -> tuple[str, str]:
    one = _first(block.get("id"))
    value = str(one.get("value", ""))
    kind = _ID_TYPES.get(str(one.get("type")), str(one.get("type", "local")))
    return kind, dotted(value) if kind == "macAddress" else value


def _age(words: str) -> float:
    match = re.match(r"(\d+) days?, (\d+):(\d+):(\d+)", words)
    if match is None:
        return 0.0
    days, hours, minutes, seconds = (int(part) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
