"""BGP: one session a link and family, in peer groups by the role of the peer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Port, Switch
from fabric.design.places import setting_place
from fabric.errors import DesignError

MAX_PATHS = 600
MAX_HOLD_S = 7200
"""Most equal-cost paths and longest hold time that EOS takes. Source: AVD schema, router_bgp.maximum_paths, router_bgp.timers."""


@dataclass(frozen=True, slots=True)
class GroupView:
    """A peer group: the peers of one role over one family."""

    name: str
    bfd: bool


class NeighborView(NamedTuple):
    """One session; a tuple for the reason of PortView."""

    address: str
    group: str
    asn: int
    peer: str


@dataclass(frozen=True, slots=True)
class BfdView:
    """BFD timers: milliseconds, and lost packets."""

    interval: int
    multiplier: int


@dataclass(frozen=True, slots=True)
class BgpView:
    """The BGP process. `restart` is the graceful restart time in seconds, 0 = off; `paths` 1 = no ECMP (the default of EOS)."""

    asn: int
    router_id: str
    keepalive: int
    hold: int
    restart: int
    paths: int
    max_routes: int
    bfd: BfdView | None
    groups4: list[GroupView]
    groups6: list[GroupView]
    groups: list[GroupView]
    neighbors: list[NeighborView]


def bgp_view(fabric: Fabric, switch: Switch, ports: list[Port]) -> BgpView:
    """The BGP view of a switch with these ports. A port towards a planned device has its peer group, but no neighbour.

    FabricError for a hold time or ECMP width that EOS does not take.
    """
    bgp = fabric.spec.bgp
    if bgp.timers.hold_s > MAX_HOLD_S:
        raise DesignError(("bgp", "timers", "hold_s"), f"EOS takes at most {MAX_HOLD_S}, found {bgp.timers.hold_s}")
    links = [port for port in ports if port.role in ("down", "up")]
    groups4, groups6 = _groups(fabric, links)
    groups = sorted([*groups4, *groups6], key=lambda group: group.name)
    uses_bfd = bgp.bfd is not None and any(group.bfd for group in groups)
    return BgpView(
        asn=switch.asn,
        router_id=fmt4(switch.router_id),
        keepalive=bgp.timers.keepalive_s,
        hold=bgp.timers.hold_s,
        restart=bgp.graceful_restart_s,
        paths=equal_cost_paths(fabric, switch, links),
        max_routes=bgp.max_routes,
        bfd=BfdView(bgp.bfd.interval_ms, bgp.bfd.multiplier) if bgp.bfd is not None and uses_bfd else None,
        groups4=groups4,
        groups6=groups6,
        groups=groups,
        neighbors=_neighbors(links),
    )


def equal_cost_paths(fabric: Fabric, switch: Switch, links: list[Port]) -> int:
    """`maximum-paths`: the override of the switch, else `bgp.ecmp_width`, else what the switch's cables can give.

    That is the most of: its uplinks; its links to the CTSWs of one zone (an ATSW); its links to one peer. Planned links count,
    so that deploying them changes no other line.
    """
    width = fabric.settings_of(switch).ecmp_width or fabric.spec.bgp.ecmp_width
    if width is not None and width > MAX_PATHS:
        place = setting_place(fabric, switch, "ecmp_width") or ("bgp", "ecmp_width")
        raise DesignError(place, f"EOS takes at most {MAX_PATHS} equal-cost paths, found {width}")
    if width is not None:
        return width
    up = sum(port.role == "up" for port in links)
    below = Counter(port.peer_asn for port in links if port.role == "down")
    return max(up, *below.values(), 1)


def _groups(fabric: Fabric, links: list[Port]) -> tuple[list[GroupView], list[GroupView]]:
    """(IPv4, IPv6) peer groups, by name. BFD only where every peer of the group runs EOS."""
    groups4: list[GroupView] = []
    groups6: list[GroupView] = []
    first = {port.peer_role: port for port in links}
    for role, port in sorted(first.items()):
        bfd = fabric.spec.bgp.bfd is not None and all(
            fabric.by_name[other.peer].nos == "eos" for other in links if other.peer_role == role
        )
        if port.peer4 is not None:
            groups4.append(GroupView(_group4(role), bfd))
        if port.peer6 is not None:
            groups6.append(GroupView(_group6(role), bfd))
    return groups4, groups6


def _group4(role: str) -> str:
    return f"{role.upper()}-V4"


def _group6(role: str) -> str:
    return f"{role.upper()}-V6"


def _neighbors(links: list[Port]) -> list[NeighborView]:
    """The sessions in order of address, IPv4 first."""
    roles = {port.peer_role for port in links}
    names4, names6 = {role: _group4(role) for role in roles}, {role: _group6(role) for role in roles}
    four: list[tuple[int, Port]] = []
    six: list[tuple[int, Port]] = []
    for port in links:
        if port.enabled:
            if port.peer4 is not None:
                four.append((port.peer4, port))
            if port.peer6 is not None:
                six.append((port.peer6, port))
    four.sort(key=_address)
    six.sort(key=_address)
    return [
        *[NeighborView(fmt4(peer), names4[port.peer_role], port.peer_asn, port.peer) for peer, port in four],
        *[NeighborView(fmt6(peer), names6[port.peer_role], port.peer_asn, port.peer) for peer, port in six],
    ]


_address = itemgetter(0)
