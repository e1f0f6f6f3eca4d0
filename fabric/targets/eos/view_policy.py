"""Which routes may pass: prefix lists and route maps, so that only what the spec declares is learnt, told on and originated.

Loops cannot arise: every tier of a zone shares an AS number, so a route that would come back is refused by its own AS path; RTSWs
tell only their own prefixes; an aggregate installs a discard route for what it covers.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Prefix, Switch

PREPENDS = 3
"""Times that a drained switch adds its AS number. Between equal ways one is enough; three is the custom (inferred)."""


@dataclass(frozen=True, slots=True)
class PrefixListView:
    """A prefix list: `rules` are what follows `seq N permit`, in order (`10.255.0.0/16 eq 32`)."""

    name: str
    rules: list[str]


@dataclass(frozen=True, slots=True)
class RouteMapView:
    """A route map of permits: `matches` are match clauses, one an entry; `prepend` is the AS path put in front, or empty."""

    name: str
    matches: list[str]
    prepend: str


@dataclass(frozen=True, slots=True)
class PolicyView:
    """Lists and maps of a switch, each sorted by name; `aggregates` are the prefixes that an RTSW sums up."""

    lists4: list[PrefixListView]
    lists6: list[PrefixListView]
    maps: list[RouteMapView]
    map_in: str
    map_out: str
    map_connected: str
    aggregates: list[str]


@dataclass(frozen=True, slots=True)
class _Family:
    """One address family's prefixes as texts: each a list of rules; `aggregate` is empty when racks are not summed up."""

    match: str
    prefix: str
    loopbacks: list[str]
    racks: list[str]
    own_loopback: str
    own_links: list[str]
    aggregate: str


def policy_view(fabric: Fabric, switch: Switch) -> PolicyView:
    """The policies of a switch."""
    families = [family for family in (_ipv4(fabric, switch), _ipv6(fabric, switch)) if family is not None]
    rtsw = switch.role == "rtsw"
    drained = switch.state == "drained"
    out = "RM-DRAIN-OUT" if drained else "RM-FABRIC-OUT"
    prepend = " ".join([str(switch.asn)] * PREPENDS) if drained else ""
    told = ("LOCAL",) if rtsw else ("LOOPBACKS", "RACKS")
    local = ("LOOPBACKS", "HOST-LINKS") if rtsw else ("LOOPBACKS",)
    maps = [
        RouteMapView("RM-CONNECTED", _matches(families, local), ""),
        RouteMapView("RM-FABRIC-IN", _matches(families, ("LOOPBACKS", "RACKS")), ""),
        RouteMapView(out, _matches(families, told), prepend),
    ]
    return PolicyView(
        lists4=[entry for family in families if family.prefix == "PL" for entry in _lists(family, rtsw=rtsw)],
        lists6=[entry for family in families if family.prefix == "PL6" for entry in _lists(family, rtsw=rtsw)],
        maps=sorted(maps, key=lambda entry: entry.name),
        map_in="RM-FABRIC-IN",
        map_out=out,
        map_connected="RM-CONNECTED",
        aggregates=[family.aggregate for family in families if rtsw and family.aggregate],
    )


def _matches(families: list[_Family], lists: tuple[str, ...]) -> list[str]:
    return [f"{family.match} prefix-list {family.prefix}-{name}" for family in families for name in lists]


def _lists(family: _Family, *, rtsw: bool) -> list[PrefixListView]:
    lists = [
        PrefixListView(f"{family.prefix}-LOOPBACKS", family.loopbacks),
        PrefixListView(f"{family.prefix}-RACKS", family.racks),
    ]
    if rtsw:
        own = [family.aggregate] if family.aggregate else family.own_links
        lists.append(PrefixListView(f"{family.prefix}-HOST-LINKS", family.own_links))
        lists.append(PrefixListView(f"{family.prefix}-LOCAL", [family.own_loopback, *own]))
    return sorted(lists, key=lambda entry: entry.name)


def _rule(prefix: str, length: int) -> str:
    """The rule that takes exactly the prefixes of `length` inside `prefix`."""
    return prefix if prefix.endswith(f"/{length}") else f"{prefix} eq {length}"


def _ipv4(fabric: Fabric, switch: Switch) -> _Family | None:
    plan = fabric.spec.addressing
    if plan is None or plan.ipv4 is None:
        return None
    rack, _ = _rack(fabric, switch)
    own = _text4(rack)
    length = rack.length if rack is not None and fabric.spec.bgp.aggregate_racks else 31
    return _Family(
        match="ip address",
        prefix="PL",
        loopbacks=[_rule(str(plan.router_ids), 32)],
        racks=[_rule(str(plan.ipv4.host_links), length)],
        own_loopback=f"{fmt4(switch.router_id)}/32",
        own_links=[_rule(own, 31)],
        aggregate=own if fabric.spec.bgp.aggregate_racks and length < 31 else "",
    )


def _ipv6(fabric: Fabric, switch: Switch) -> _Family | None:
    plan = fabric.spec.addressing
    if plan is None or plan.ipv6 is None or switch.loopback6 is None:
        return None
    _, rack = _rack(fabric, switch)
    own = _text6(rack)
    length = rack.length if rack is not None and fabric.spec.bgp.aggregate_racks else 64
    return _Family(
        match="ipv6 address",
        prefix="PL6",
        loopbacks=[_rule(str(plan.ipv6.loopbacks), 128)],
        racks=[_rule(str(plan.ipv6.host_links), length)],
        own_loopback=f"{fmt6(switch.loopback6)}/128",
        own_links=[_rule(own, 64)],
        aggregate=own if fabric.spec.bgp.aggregate_racks and length < 64 else "",
    )


def _rack(fabric: Fabric, switch: Switch) -> tuple[Prefix | None, Prefix | None]:
    """The rack prefixes of an RTSW; for other roles those of some rack, as all racks' are of one length."""
    return fabric.rack_prefix(switch.zone, switch.number) if switch.role == "rtsw" else fabric.rack_prefix(1, 1)


def _text4(prefix: Prefix | None) -> str:
    return "" if prefix is None else f"{fmt4(prefix.base)}/{prefix.length}"


def _text6(prefix: Prefix | None) -> str:
    return "" if prefix is None else f"{fmt6(prefix.base)}/{prefix.length}"
