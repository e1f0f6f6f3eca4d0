"""Routes of EOS, from `show ip route | json` and `show ipv6 route | json`."""

from __future__ import annotations

from fabric.targets.answer import Json, child, mapping, prefix, rows, text
from fabric.targets.eos.read_answer import answer_object
from fabric.targets.facts import NextHop, Route


def read_route(answer: str) -> list[Route]:
    """The routes of the default VRF; none when it does not route."""
    what = "show ip route"
    vrfs = child(answer_object(answer, what), "vrfs", what)
    if "default" not in vrfs:
        return []
    found = child(child(vrfs, "default", what), "routes", what)
    return [_route(dst, mapping(row, f"{what}: {dst}"), what) for dst, row in found.items()]


def _route(dst: str, row: Json, what: str) -> Route:
    vias = rows(row, "vias", f"{what}: {dst}") if "vias" in row else []
    hops = tuple(NextHop(text(via, "nexthopAddr"), text(via, "interface")) for via in vias)
    return Route(prefix(dst, what), hops, _protocol(text(row, "routeType")))


def _protocol(kind: str | None) -> str | None:
    """`eBGP` and `iBGP` are "bgp"; the other words are taken in lower case."""
    if kind is None:
        return None
    return "bgp" if kind.lower().endswith("bgp") else kind.lower()
