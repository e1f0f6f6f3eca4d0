"""The design as plain rows, for tables, CSV and JSON. `chosen` are device names (None: all)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fabric.design.fabric import Fabric
from fabric.design.figures import figures
from fabric.design.ip import fmt4, fmt6

Chosen = frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Table:
    """Column names and rows."""

    header: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def _is_in(chosen: Chosen, *names: str) -> bool:
    return chosen is None or any(name in chosen for name in names)


def devices(fabric: Fabric, chosen: Chosen) -> Table:
    """Switches, then hosts."""
    rows: list[tuple[Any, ...]] = []
    for s in fabric.switches:
        if _is_in(chosen, s.name):
            loopback = fmt6(s.loopback6) if s.loopback6 is not None else None
            zone, rack = (s.zone or None), (s.number if s.role == "rtsw" else None)
            rows.append(
                (
                    s.name,
                    s.role,
                    zone,
                    rack,
                    s.model,
                    s.nos,
                    s.asn,
                    fmt4(s.router_id),
                    loopback,
                    fmt4(s.management),
                    s.state,
                )
            )
    model = fabric.platform.name
    rows += [
        (h.name, "host", h.zone, h.rack, model, None, None, None, None, None, h.state)
        for h in fabric.hosts()
        if _is_in(chosen, h.name)
    ]
    return Table(
        ("name", "role", "zone", "rack", "model", "nos", "asn", "router_id", "loopback6", "management", "state"), rows
    )


def links(fabric: Fabric, chosen: Chosen) -> Table:
    """Cables from their upper end."""
    rows = [
        (
            k.tier,
            k.a,
            k.a_port,
            k.b,
            k.b_port,
            k.cabled.cable,
            k.cabled.length_m,
            k.cabled.speed_gbps,
            *_pairs(k.a4, k.b4, k.a6, k.b6),
            k.state,
        )
        for k in fabric.links()
        if _is_in(chosen, k.a, k.b)
    ]
    header = (
        "tier",
        "a",
        "a_port",
        "b",
        "b_port",
        "cable",
        "length_m",
        "gbps",
        "a_ipv4",
        "b_ipv4",
        "a_ipv6",
        "b_ipv6",
        "state",
    )
    return Table(header, rows)


def _pairs(a4: int | None, b4: int | None, a6: int | None, b6: int | None) -> tuple[str | None, ...]:
    four = tuple(fmt4(x) if x is not None else None for x in (a4, b4))
    six = tuple(fmt6(x) if x is not None else None for x in (a6, b6))
    return (*four, *six)


def addresses(fabric: Fabric, chosen: Chosen) -> Table:
    """Loopbacks, management addresses, then link ends."""
    rows: list[tuple[Any, ...]] = []
    for s in fabric.switches:
        if not _is_in(chosen, s.name):
            continue
        if fabric.pools.host4 is not None:
            rows.append((s.name, "loopback", f"{fmt4(s.router_id)}/32"))
        if s.loopback6 is not None:
            rows.append((s.name, "loopback", f"{fmt6(s.loopback6)}/128"))
        rows.append((s.name, "management", f"{fmt4(s.management)}/{fabric.spec.mgmt.network.prefixlen}"))
    for k in fabric.links():
        for name, port, four, six in ((k.a, k.a_port, k.a4, k.a6), (k.b, k.b_port, k.b4, k.b6)):
            if _is_in(chosen, name):
                rows += [(name, port, f"{fmt4(four)}/31")] if four is not None else []
                rows += [(name, port, f"{fmt6(six)}/{k.len6}")] if six is not None else []
    return Table(("device", "interface", "address"), rows)


def racks(fabric: Fabric, chosen: Chosen) -> Table:
    """One row a rack."""
    power = {zone.number: zone for zone in figures(fabric).zones}
    rows: list[tuple[Any, ...]] = []
    for plan in fabric.zones.values():
        zone = power[plan.number]
        for rack in range(1, plan.racks + 1):
            switch = fabric.rtsw_name(plan.number, rack)
            hosts = [host.name for host in fabric.hosts_of(plan.number, rack)]
            if not _is_in(chosen, switch, *hosts):
                continue
            four, six = fabric.rack_prefix(plan.number, rack)
            rows.append(
                (
                    plan.number, rack, plan.profile_name, plan.profile.rack, switch, " ".join(hosts),
                    f"{fmt4(four.base)}/{four.length}" if four else None, f"{fmt6(six.base)}/{six.length}" if six else None,
                    None if zone.rack_watts is None else zone.rack_watts / 1000, zone.rack_budget_watts / 1000,
                )
            )  # fmt: skip
    return Table(
        ("zone", "rack", "profile", "standard", "rtsw", "hosts", "ipv4_prefix", "ipv6_prefix", "kw", "kw_budget"), rows
    )
