"""Answers about routes, in EOS's JSON shapes and text, from FRR's table."""

from __future__ import annotations

from collections.abc import Callable

from fabric.lab.eos.shows_base import Json


def table(answer: Json, name_of: Callable[[str], str], hidden: str, *, routing: bool) -> Json:
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


def text(answer: Json) -> str:
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
