"""Which next hops a switch must have while some sessions are down and some neighbours lack a route: path by path, not in closed form.

Used only for routes that deviate: what follows from a fault that is named already is no fault of the switch that shows it.
"""

from __future__ import annotations

from collections.abc import Mapping

from fabric.design.model import Port, Switch
from fabric.verify.route_plan import Hops, RoutePlan, peer_address

Session = tuple[str, str, int]
"""A session by one end: device, port in the operating system's spelling, family number (0: IPv4, 1: IPv6)."""

Way = tuple[int, Hops]
"""AS path length and next hops."""


class Degraded:
    """Best ways with the sessions `down` (both their ends are in it), and without the (switch, prefix) in `lacking`."""

    def __init__(self, plan: RoutePlan, down: set[Session], lacking: Mapping[str, frozenset[str]]) -> None:
        self._plan = plan
        self._down = down
        self._lacking = lacking
        self._ports: dict[str, list[Port]] = {}
        self._known: dict[tuple[str, str], Way | None] = {}

    def hops(self, switch: Switch, prefix: str) -> Hops | None:
        """The next hops of a prefix of the design on a switch; None when nothing leads there."""
        way = self._best(switch, prefix, 1 if ":" in prefix else 0)
        return None if way is None else way[1]

    def _best(self, switch: Switch, prefix: str, place: int) -> Way | None:
        key = (switch.name, prefix)
        if key not in self._known:
            self._known[key] = self._compute(switch, prefix, place)
        return self._known[key]

    def _compute(self, switch: Switch, prefix: str, place: int) -> Way | None:
        by_name = self._plan.fabric.by_name
        origin = by_name[self._plan.origin[prefix]]
        ways: list[tuple[int, str]] = []
        for port in self._links(switch):
            peer = by_name[port.peer]
            address = peer_address(port, place)
            if address is None or (switch.name, port.slot.name, place) in self._down:
                continue
            far = self._told(switch, peer, origin, prefix, place)
            if far is not None:
                ways.append((far + self._plan.cost(peer), address))
        best = min((cost for cost, _ in ways), default=None)
        return None if best is None else (best, frozenset(address for cost, address in ways if cost == best))

    def _links(self, switch: Switch) -> list[Port]:
        if switch.name not in self._ports:
            ports = self._plan.fabric.ports(switch)
            self._ports[switch.name] = [port for port in ports if port.role in ("up", "down") and port.enabled]
        return self._ports[switch.name]

    def _told(self, switch: Switch, peer: Switch, origin: Switch, prefix: str, place: int) -> int | None:
        """Length of the AS path with which `peer` tells `switch` of the prefix, its own AS not counted; None when it does not."""
        if peer is origin:
            return 0
        if not _passes(switch, peer, origin) or prefix in self._lacking.get(peer.name, ()):
            return None
        way = self._best(peer, prefix, place)
        return None if way is None else way[0]


def _passes(switch: Switch, peer: Switch, origin: Switch) -> bool:
    """Whether `peer` can tell `switch` of what `origin` announces: no tier's AS number comes twice, and racks are no way through."""
    if peer.role == "rtsw":
        return False
    if switch.role == "rtsw":
        return origin is not switch
    if switch.role == "ctsw":  # from an ATSW: only of other zones
        return origin.role != "atsw" and origin.zone != switch.zone
    return origin.role != "atsw" and origin.zone == peer.zone
