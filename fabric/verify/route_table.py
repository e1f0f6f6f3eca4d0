"""A switch's forwarding table against its expected routes, made while it is read; only what deviates is kept."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

from fabric.targets.facts import NextHop, Route
from fabric.verify.lldp_names import port_key
from fabric.verify.route_plan import Expected, Hops

_BY_ITSELF = frozenset({"connected", "local", "kernel", "direct", "linklocal", "aggregate", "attached", "interface"})
"""Protocols of routes that follow from the switch's own addresses; what they cover is not learnt from anybody."""
_LINK_LOCAL = ("fe80:", "ff")
_address = attrgetter("address")


@dataclass(frozen=True, slots=True)
class RouteReport:
    """How a table differs from the expected one.

    `right` counts expected prefixes with the right next hops; `deviant` has what was found for the others, None where there is no route;
    `beyond` are prefixes that the design does not have, with their next hops; `nics` are prefixes of NIC links that are not there, by port.
    """

    right: int
    deviant: dict[str, Hops | None]
    beyond: dict[str, Hops]
    nics: dict[str, tuple[str, ...]]


def compare_routes(expected: Expected, routes: Iterable[Route]) -> RouteReport:
    """The report of one switch."""
    want, width = expected.hops, expected.width
    known: dict[tuple[str | None, ...], Hops] = {}
    missing = dict.fromkeys(want)
    deviant: dict[str, Hops | None] = {}
    beyond: dict[str, Hops] = {}
    local: set[str] = set()
    for route in routes:
        key = tuple(map(_address, route.next_hops))
        found = known.get(key)
        if found is None:
            found = _hops(expected, route.next_hops)
            if not any(address is None or address.startswith("fe80:") for address in key):
                known[key] = found
        wanted = want.get(route.prefix)
        if wanted is None:
            local.add(route.prefix)
            if _foreign(expected, route):
                beyond[route.prefix] = found
            continue
        missing.pop(route.prefix, None)
        if found is not wanted and not same_hops(found, wanted, width):
            deviant[route.prefix] = found
    deviant.update(missing)
    nics = {
        port: gone for port, prefixes in expected.nics.items() if (gone := tuple(p for p in prefixes if p not in local))
    }
    return RouteReport(len(want) - len(deviant), deviant, beyond, nics)


def same_hops(found: Hops, wanted: Hops, width: int | None) -> bool:
    """Whether these are the wanted next hops; where the switch takes fewer than there are, any that many of them."""
    if width is None or len(wanted) <= width:
        return found == wanted
    return len(found) == width and found <= wanted


def _hops(expected: Expected, next_hops: tuple[NextHop, ...]) -> Hops:
    """Addresses of the neighbours; a link-local next hop, which IPv6 has, is the neighbour on that interface."""
    found = []
    for hop in next_hops:
        address = hop.address
        if address is None:
            found.append(f"interface {hop.interface}" if hop.interface else "no address")
        elif address.lower().startswith("fe80:"):
            there = expected.by_port.get(port_key(hop.interface)) if hop.interface else None
            found.append((there[1] if there else None) or address)
        elif address in expected.peers:
            found.append(address)
        else:
            found.append(canonical(address))
    return frozenset(found)


def canonical(address: str) -> str:
    """An address in the form of RFC 5952, without a zone; text that is no address is left as it is."""
    try:
        return str(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return address


def _foreign(expected: Expected, route: Route) -> bool:
    """Whether a route is none of the design's: not the switch's own, not link-local or multicast."""
    if route.prefix in expected.local or route.prefix.startswith(_LINK_LOCAL):
        return False
    if route.protocol in _BY_ITSELF:
        return False
    return route.protocol is not None or any(hop.address is not None for hop in route.next_hops)
