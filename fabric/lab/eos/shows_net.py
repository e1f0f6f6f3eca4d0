"""Answers about neighbours, sessions and routes, in EOS's JSON shapes and text, from live data."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from fabric.lab.eos.values import short_name

Json = dict[str, Any]

_ID_TYPES = {
    "mac": "macAddress",
    "ifname": "interfaceName",
    "local": "local",
    "ip": "networkAddress",
    "ifalias": "interfaceAlias",
}
_CAPABILITIES = {"Bridge": "bridge", "Router": "router", "Wlan": "wlanAccessPoint", "Station": "stationOnly"}
_FAMILY = {"4": "ipv4Unicast", "6": "ipv6Unicast"}


def dotted(mac: str) -> str:
    """0000.5e00.5311 for 00:00:5e:00:53:11, as EOS text and LLDP write it; anything else unchanged."""
    digits = mac.replace(":", "").lower()
    if re.fullmatch(r"[0-9a-f]{12}", digits) is None:
        return mac
    return f"{digits[:4]}.{digits[4:8]}.{digits[8:]}"


# ---------------------------------------------------------------------------------------------------------------- LLDP


def lldp_detail(neighbors: Sequence[Json], ports: dict[str, str], now: float) -> Json:
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
        text = _value(chassis.get(source))
        if text is not None:
            out[key] = text
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


def lldp(detail: Json, now: float) -> Json:
    """`show lldp neighbors | json`, from the detailed answer: one row a neighbour."""
    rows = [
        {
            "port": port,
            "neighborDevice": entry.get("systemName", ""),
            "neighborPort": entry["neighborInterfaceInfo"]["interfaceId_v2"],
            "ttl": entry["ttl"],
        }
        for port, found in detail["lldpNeighbors"].items()
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


def lldp_text(answer: Json) -> str:
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


def lldp_detail_text(detail: Json) -> str:
    """`show lldp neighbors detail`, the fields that operators look for."""
    out: list[str] = []
    for port, found in detail["lldpNeighbors"].items():
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


def _age(text: str) -> float:
    match = re.match(r"(\d+) days?, (\d+):(\d+):(\d+)", text)
    if match is None:
        return 0.0
    days, hours, minutes, seconds = (int(part) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


# ----------------------------------------------------------------------------------------------------------------- BGP


def bgp_summary(answer: Json, asn: str | None, now: float, name_of: Callable[[str], str]) -> Json:
    """`show ip bgp summary | json` and its like, from FRR's summary of one family; `asn` None = no BGP configured."""
    if asn is None:
        return {"vrfs": {}}
    peers = {_peer_name(peer, name_of): _peer(state, now) for peer, state in (answer.get("peers") or {}).items()}
    vrf = {"vrf": "default", "routerId": str(answer.get("routerId") or "0.0.0.0"), "asn": asn, "peers": peers}  # noqa: S104
    return {"vrfs": {"default": vrf}}


def _peer_name(peer: str, name_of: Callable[[str], str]) -> str:
    return peer if ":" in peer or peer[:1].isdigit() else f"fe80::%{short_name(name_of(peer))}"


def _peer(state: Json, now: float) -> Json:
    word, reason = _state(str(state.get("state", "Idle")))
    received = int(state.get("pfxRcd") or 0)
    out: Json = {
        "version": 4,
        "msgReceived": int(state.get("msgRcvd") or 0),
        "msgSent": int(state.get("msgSent") or 0),
        "inMsgQueue": int(state.get("inq") or 0),
        "outMsgQueue": int(state.get("outq") or 0),
        "asn": str(state.get("remoteAs", "")),
        "prefixAccepted": received,
        "prefixReceived": received,
        "upDownTime": now - float(state.get("peerUptimeMsec") or 0) / 1000,
        "underMaintenance": False,
        "peerState": word,
    }
    if reason:
        out["peerStateIdleReason"] = reason
    if state.get("desc"):
        out["description"] = state["desc"]
    return out


def _state(text: str) -> tuple[str, str | None]:
    word, _, reason = text.partition(" (")
    if reason:
        return "Idle", "Admin" if reason.startswith("Admin") else reason.rstrip(")")
    return word if word in ("Established", "Active", "Connect", "OpenSent", "OpenConfirm") else "Idle", None


def bgp_all(by_family: dict[str, Json], asn: str | None, name_of: Callable[[str], str]) -> Json:
    """`show bgp summary | json`: one entry a peer, with its families. `by_family`: "4", "6" -> FRR's summary."""
    if asn is None:
        return {"vrfs": {}}
    peers: dict[str, Json] = {}
    router = "0.0.0.0"  # noqa: S104
    for family, answer in by_family.items():
        router = str(answer.get("routerId") or router)
        for peer, state in (answer.get("peers") or {}).items():
            word, _ = _state(str(state.get("state", "Idle")))
            entry = peers.setdefault(
                _peer_name(peer, name_of), {"peerState": word, "peerAsn": str(state.get("remoteAs", ""))}
            )
            count = int(state.get("pfxRcd") or 0)
            entry[_FAMILY[family]] = {
                "afiSafiState": "negotiated" if word == "Established" else "advertised",
                "nlrisReceived": count,
                "nlrisAccepted": count,
            }
    return {"vrfs": {"default": {"vrf": "default", "routerId": router, "asn": asn, "peers": peers}}}


def bgp_text(answer: Json, now: float) -> str:
    """The text of a summary of one family."""
    if not answer["vrfs"]:
        return "% BGP inactive\n"
    vrf = answer["vrfs"]["default"]
    out = [
        "BGP summary information for VRF default",
        f"Router identifier {vrf['routerId']}, local AS number {vrf['asn']}",
        "Neighbor Status Codes: m - Under maintenance",
        "  Description              Neighbor             V AS           MsgRcvd   MsgSent  InQ OutQ  Up/Down State   PfxRcd PfxAcc",
    ]
    for peer, state in vrf["peers"].items():
        shown = {"Established": "Estab"}.get(state["peerState"], state["peerState"])
        if state.get("peerStateIdleReason"):
            shown += f"({state['peerStateIdleReason']})"
        up = time.strftime("%H:%M:%S", time.gmtime(max(0.0, now - state["upDownTime"])))
        out.append(
            f"  {state.get('description', '')[:24]:<24} {peer:<20} 4 {state['asn']:<12} {state['msgReceived']:>7} "
            f"{state['msgSent']:>9} {state['inMsgQueue']:>4} {state['outMsgQueue']:>4} {up:>8} {shown:<7} "
            f"{state['prefixReceived']:<6} {state['prefixAccepted']}"
        )
    return "\n".join(out) + "\n"


# -------------------------------------------------------------------------------------------------------------- routes


def routes(answer: Json, name_of: Callable[[str], str], hidden: str, *, routing: bool) -> Json:
    """`show ip route | json` and `show ipv6 route | json` from FRR's table. `hidden`: the Linux name of the management port, whose
    routes stand in another VRF on EOS.
    """
    shown: Json = {}
    for prefix, entries in answer.items():
        for entry in entries if isinstance(entries, list) else []:
            route = _route(entry, name_of, hidden)
            if route is not None:
                shown[prefix] = route
    vrf = {
        "routingDisabled": not routing,
        "allRoutesProgrammedHardware": True,
        "allRoutesProgrammedKernel": True,
        "defaultRouteState": "reachable" if {"0.0.0.0/0", "::/0"} & set(shown) else "notSet",
        "routes": shown,
    }
    return {"vrfs": {"default": vrf}}


def _route(entry: Json, name_of: Callable[[str], str], hidden: str) -> Json | None:
    protocol = str(entry.get("protocol", ""))
    hops = [hop for hop in entry.get("nexthops") or [] if hop.get("active") and hop.get("interfaceName") != hidden]
    if (
        not entry.get("selected")
        or not hops
        or protocol in ("local", "kernel")
        or str(entry.get("prefix", "")).startswith("fe80")
    ):
        return None
    direct = protocol == "connected"
    if any(hop.get("blackhole") or hop.get("unreachable") for hop in hops):
        return _own_aggregate(entry)
    vias = [
        ({} if direct or not hop.get("ip") else {"nexthopAddr": hop["ip"]})
        | {"interface": name_of(hop.get("interfaceName", ""))}
        for hop in hops
    ]
    programmed = bool(entry.get("installed", direct))
    return {
        "hardwareProgrammed": programmed,
        "routeType": {"bgp": "eBGP"}.get(protocol, protocol),
        "routeLeaked": False,
        "kernelProgrammed": programmed,
        "routeAction": "forward",
        "directlyConnected": direct,
        "preference": int(entry.get("distance") or 0),
        "metric": int(entry.get("metric") or 0),
        "vias": vias,
    }


def _own_aggregate(entry: Json) -> Json:
    """An aggregate of our own: what is not covered more exactly is dropped."""
    return {
        "hardwareProgrammed": True,
        "routeType": "bgpAggregate",
        "routeLeaked": False,
        "kernelProgrammed": True,
        "routeAction": "drop",
        "directlyConnected": True,
        "preference": int(entry.get("distance") or 0),
        "metric": int(entry.get("metric") or 0),
        "vias": [{"interface": "Null0"}],
    }


_CODES = {"bgpAggregate": "A B", "connected": "C  ", "eBGP": "B E", "static": "S  "}


def routes_text(answer: Json) -> str:
    """The text of a routing table."""
    vrf = answer["vrfs"]["default"]
    out = ["", "VRF: default", "Codes: C - connected, S - static, B - Other BGP Routes, B E - eBGP", ""]
    out += [
        "Gateway of last resort is not set" if vrf["defaultRouteState"] == "notSet" else "Gateway of last resort:",
        "",
    ]
    for prefix, route in vrf["routes"].items():
        head = f" {_CODES.get(route['routeType'], '   ')}    {prefix}"
        for place, via in enumerate(route["vias"]):
            where = (
                f"via {via['nexthopAddr']}, {via['interface']}"
                if "nexthopAddr" in via
                else f"is directly connected, {via['interface']}"
            )
            measure = "" if route["directlyConnected"] else f" [{route['preference']}/{route['metric']}]"
            out.append(f"{head}{measure} {where}" if place == 0 else f"{' ' * len(head + measure)} {where}")
    if vrf["routingDisabled"]:
        out.append("! IP routing not enabled")
    return "\n".join(out) + "\n\n"
