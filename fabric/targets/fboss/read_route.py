"""Routes of FBOSS, from `fboss2 show route`."""

from __future__ import annotations

from fabric.targets.answer import Json, name, prefix, rows, text
from fabric.targets.facts import NextHop, Route
from fabric.targets.fboss.read_answer import host_object

_UCMP = " (UCMP Active)"
"""Stands behind a prefix whose next hops have different weights."""


def read_route(answer: str) -> list[Route]:
    """All routes, both families. The protocol is not told; routes to the CPU and discarded ones have no next hops."""
    what = "show route"
    return [_route(row, what) for row in rows(host_object(answer, what), "routeEntries", what)]


def _route(row: Json, what: str) -> Route:
    hops = rows(row, "nextHops", what) if "nextHops" in row else []
    return Route(
        prefix=prefix(name(row, "networkAddress", what).removesuffix(_UCMP), what),
        next_hops=tuple(NextHop(text(hop, "addr"), text(hop, "ifName")) for hop in hops),
        protocol=None,
    )
