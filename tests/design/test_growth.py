"""Stable keys: growing any dimension moves nothing that exists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.design.fabric import Fabric
from fabric.design.tables import addresses, devices, links

GROWTH = {
    "zones": 6,
    "racks_per_zone": 8,
    "hosts_per_rack": 2,
    "uplinks": 8,
    "ctsw_uplinks": 16,
    "atsws": 16,
    "ctsws_on_atsw": 4,
}
POOLS = {
    "addressing.router_ids": "172.16.0.0/20",
    "addressing.ipv4": {"host_links": "10.128.0.0/16", "rtsw_links": "10.64.0.0/16", "ctsw_links": "10.32.0.0/16"},
    "addressing.ipv6.host_links": "2001:db8:8000::/54",
    "management.network": "10.0.0.0/19",
    "bgp.asn": {"rtsw": 64600, "ctsw": 64700, "atsw": 64800},
}
PROFILE = {"rack": "orv3-600a", "switch": "minipack2", "nos": "fboss", "port_map": "grand-teton"}


def changes(zones: list[int], racks: int, hosts: int, uplinks: int, up: int, planes: int, count: int) -> dict[str, Any]:
    return {
        **POOLS,
        "backend.growth": GROWTH,
        "backend.rack_profiles": {"p": {**PROFILE, "hosts": hosts, "uplinks": uplinks}},
        "backend.zones": [{"id": zone, "racks": racks, "rack_profile": "p"} for zone in zones],
        "backend.ctsw.uplinks": up,
        "backend.atsw.count": count,
        "backend.atsw.planes": planes,
    }


def facts(fabric: Fabric) -> tuple[set[Any], set[Any], set[Any]]:
    return set(devices(fabric, None).rows), set(links(fabric, None).rows), set(addresses(fabric, None).rows)


SIZES = st.fixed_dictionaries(
    {
        "zones": st.lists(st.integers(1, 6), min_size=1, max_size=5, unique=True),
        "racks": st.integers(1, 7),
        "hosts": st.integers(1, 2),
        "uplinks": st.sampled_from([2, 4, 6]),
        "parallel": st.integers(1, 2),
        "planes": st.sampled_from([1, 2]),
        "count": st.integers(1, 3),
    }
)
STEPS = ("zones", "racks", "hosts", "uplinks", "parallel")


def sized(size: dict[str, Any]) -> dict[str, Any]:
    planes = size["planes"] if size["uplinks"] // size["planes"] <= 4 else 2
    up = size["count"] * size["parallel"]
    return changes(size["zones"], size["racks"], size["hosts"], size["uplinks"], up, planes, size["count"])


def grown(size: dict[str, Any], step: str) -> dict[str, Any]:
    bigger = dict(size)
    if step == "zones":
        new = next((zone for zone in range(1, 7) if zone not in size["zones"]), None)
        bigger["zones"] = ([new] if new else []) + size["zones"]  # first in the list: position must not matter
    elif step == "uplinks":
        bigger["uplinks"] = size["uplinks"] + 2 if size["uplinks"] < 6 else 8
    elif step == "hosts":
        bigger["hosts"] = 2
    else:
        bigger[step] = size[step] + 1
    return bigger


@settings(max_examples=60, deadline=None)
@given(size=SIZES, step=st.sampled_from(STEPS))
def test_growth_moves_nothing(make_fabric: Callable[..., Fabric], size: dict[str, Any], step: str) -> None:
    size["planes"] = 2  # so that every number of uplinks up to 8 keeps within 4 CTSWs a plane
    before, after = (facts(make_fabric("lab", sized(one))) for one in (size, grown(size, step)))
    for old, new in zip(before, after, strict=True):
        assert old <= new


@settings(max_examples=40, deadline=None)
@given(size=SIZES, family=st.sampled_from(["dual", "ipv4", "ipv6"]))
def test_both_ends_agree_and_nothing_overlaps(
    make_fabric: Callable[..., Fabric], size: dict[str, Any], family: str
) -> None:
    dropped = {"ipv4": "ipv6", "ipv6": "ipv4"}.get(family)
    cut = {f"addressing.{dropped}": None} if dropped else {}
    fabric = make_fabric("lab", {**sized(size), "addressing.family": family, **cut})
    ends: dict[tuple[str, str], tuple[Any, ...]] = {}
    for switch in fabric.switches:
        for port in fabric.ports(switch):
            assert (switch.name, port.slot.name) not in ends
            asn = fabric.by_name[port.peer].asn if port.peer in fabric.by_name else 0
            assert port.peer_asn == asn
            ends[switch.name, port.slot.name] = (
                port.peer,
                port.peer_port,
                port.local4,
                port.peer4,
                port.local6,
                port.peer6,
            )
    for (name, own_port), (peer, peer_port, local4, peer4, local6, peer6) in ends.items():
        if peer in fabric.by_name:
            assert ends[peer, peer_port] == (name, own_port, peer4, local4, peer6, local6)
    seen = [row[2] for row in addresses(fabric, None).rows]
    assert len(seen) == len(set(seen))
    names = [row[0] for row in devices(fabric, None).rows]
    assert len(names) == len(set(names))


@settings(max_examples=40, deadline=None)
@given(size=SIZES)
def test_every_address_is_inside_its_pool(make_fabric: Callable[..., Fabric], size: dict[str, Any]) -> None:
    fabric = make_fabric("lab", sized(size))
    plan = fabric.spec.plan
    assert plan.ipv4 is not None
    assert plan.ipv6 is not None
    for link in fabric.links():
        four, six = getattr(plan.ipv4, f"{link.tier}_links"), getattr(plan.ipv6, f"{link.tier}_links")
        for address, pool in ((link.a4, four), (link.b4, four), (link.a6, six), (link.b6, six)):
            assert address is not None
            assert int(pool.network_address) <= address <= int(pool.broadcast_address)
    for zone, rack in ((s.zone, s.number) for s in fabric.switches if s.role == "rtsw"):
        four, six = fabric.rack_prefix(zone, rack)
        assert four is not None
        assert six is not None
        for port in fabric.ports(fabric.by_name[fabric.rtsw_name(zone, rack)]):
            if port.role == "host":
                assert port.local4 is not None
                assert port.local6 is not None
                assert port.local4 >> (32 - four.length) == four.base >> (32 - four.length)
                assert port.local6 >> (128 - six.length) == six.base >> (128 - six.length)
    for switch in fabric.switches:
        assert switch.router_id < int(plan.router_ids.broadcast_address) + 1
        assert (
            int(fabric.spec.mgmt.network.network_address)
            < switch.management
            < int(fabric.spec.mgmt.network.broadcast_address)
        )
