"""Stable keys and sound cabling: adding hosts, units and services moves nothing; every port has one cable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fabric.design.ib.build import design_subnet
from fabric.design.ib.figures import cages_of
from fabric.design.ib.model import Subnet
from fabric.design.ib.shape import tree_of
from fabric.design.ib.tables import hcas, links, switches
from fabric.errors import DesignError
from fabric.spec.cluster import ClusterSpec

SHAPES = st.fixed_dictionaries(
    {
        "cabling": st.sampled_from(["rail-optimised", "host-per-leaf"]),
        "pods": st.sampled_from(["unit-first", "rail-first"]),
        "core_stripe": st.sampled_from(["even", "minimal"]),
        "growth": st.fixed_dictionaries({"units": st.integers(2, 8)}),
    },
    optional={
        "tiers": st.just(3),
        "leaf_uplinks": st.sampled_from([2, 4, 8]),
        "leaves_per_pod": st.sampled_from([2, 4, 8]),
        "spine_uplinks": st.sampled_from([2, 4, 8]),
    },
)


def small(hosts: int, shape: dict[str, Any], **more: Any) -> Subnet:
    site = {"name": "dc1", "domain": "example.net"}
    backend = {"kind": "infiniband", "switch_ports": 16, "hosts_per_unit": 8, "hosts": hosts, **shape, **more}
    spec = {"schema": 1, "name": "ib", "site": site, "hosts": {"platform": "grand-teton-h100"}, "backend": backend}
    return design_subnet(ClusterSpec.model_validate(spec))


def _fits(shape: dict[str, Any]) -> bool:
    """Whether pods of that width and that many uplinks can be joined at all; test_check_ib holds the refusals."""
    try:
        small(1, shape)
    except DesignError as error:
        assert "pods: a core would need" in error.message or "leaves a pod give" in error.message
        return False
    return True


def facts(subnet: Subnet) -> tuple[set[Any], set[Any], set[Any]]:
    return set(switches(subnet, None).rows), set(hcas(subnet, None).rows), set(links(subnet, None).rows)


@given(shape=SHAPES, hosts=st.integers(1, 63), more=st.integers(1, 63))
@settings(max_examples=15, deadline=None)
def test_adding_hosts_and_units_moves_nothing(shape: dict[str, Any], hosts: int, more: int) -> None:
    assume(_fits(shape))
    room = shape["growth"]["units"] * 8
    hosts = min(hosts, room - 1)
    before, after = facts(small(hosts, shape)), facts(small(min(room, hosts + more), shape))
    assert all(old <= new for old, new in zip(before, after, strict=True))


@given(shape=SHAPES, hosts=st.integers(1, 64))
@settings(max_examples=15, deadline=None)
def test_every_port_has_one_cable_and_every_guid_one_owner(shape: dict[str, Any], hosts: int) -> None:
    assume(_fits(shape))
    subnet = small(min(hosts, shape["growth"]["units"] * 8), shape)
    ends = Counter(end for link in subnet.links for end in ((link.a, link.a_port), (link.b, link.b_port)))
    assert set(ends.values()) == {1}
    assert all(1 <= port <= subnet.switch[name].ports for name, port in ends if name in subnet.switch)
    guids = [s.guid for s in subnet.switches] + [g for h in subnet.hcas for g in (h.node_guid, h.port_guid)]
    assert len(set(guids)) == len(guids) == len(subnet.name_of)
    assert Counter(link.tier for link in subnet.links) == subnet.figures.links
    assert len(subnet.switches) + len(subnet.hcas) == subnet.figures.lids
    up = Counter(link.b for link in subnet.links if link.tier == "leaf")
    assert len(set(up.values())) <= 1  # every leaf has as many uplinks as the next


def _real_cages(subnet: Subnet, per: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, cage, side in {
        (name, (port - 1) // per, side)
        for link in subnet.links
        for name, port, side in ((link.a, link.a_port, DOWN[link.tier]), (link.b, link.b_port, UP[link.tier]))
        if side
    }:
        assert name in subnet.switch and cage >= 0
        found[side] += 1
    return found


DOWN = {"host": "leaf down", "leaf": "spine down", "spine": "core down"}
UP = {"host": "", "leaf": "leaf up", "spine": "spine up"}


@given(shape=SHAPES, hosts=st.integers(1, 64), port=st.integers(1, 8))
@settings(max_examples=15, deadline=None)
def test_cages_are_counted_without_a_link(shape: dict[str, Any], hosts: int, port: int) -> None:
    assume(_fits(shape))
    hosts = min(hosts, shape["growth"]["units"] * 8 - 8)
    service = {
        "name": "st1",
        "purpose": "storage",
        "ports": [{"unit": shape["growth"]["units"], "leaf": 2, "port": port}],
    }
    subnet = small(hosts, shape, services=[service])
    assert {cage.side: cage.modules for cage in cages_of(tree_of(subnet.spec))} == _real_cages(subnet, 2)


def test_a_service_takes_a_free_port_and_moves_nothing(make_subnet: Callable[..., Subnet]) -> None:
    shape = {"growth": {"units": 8}}
    service = {"name": "ufm1", "purpose": "sm", "ports": [{"unit": 6, "leaf": 1, "port": 8}]}
    plain, with_sm = (
        small(47, shape),
        small(47, shape, services=[service], subnet_manager={"hosts": [{"host": "ufm1"}]}),
    )
    assert all(old <= new for old, new in zip(facts(plain), facts(with_sm), strict=True))
    (manager,) = with_sm.managers
    assert (manager.hca.purpose, manager.hca.name, len(with_sm.compute)) == ("sm", "ufm1 mlx5_0", 47 * 8)
    assert with_sm.partitions[0].members[manager.hca.port_guid] == "full"


def test_rails_and_pairs_of_cages(make_subnet: Callable[..., Subnet]) -> None:
    """Cabled by rail: a leaf sees one rail. Host by leaf: both ports of a cage go to one host. Cages go to pairs of switches."""
    by_rail, by_host = (
        small(64, {"growth": {"units": 8}}),
        small(64, {"growth": {"units": 8}, "cabling": "host-per-leaf"}),
    )
    for link in by_rail.links:
        if link.tier == "host":
            assert by_rail.switch[link.a].rail == by_rail.hca[link.b].rail
    cage: dict[tuple[str, int], set[str]] = {}
    for link in by_host.links:
        if link.tier == "host":
            cage.setdefault((link.a, (link.a_port - 1) // 2), set()).add(by_host.hca[link.b].host)
        else:
            for name, port, far in ((link.a, link.a_port, link.b), (link.b, link.b_port, link.a)):
                cage.setdefault((name, (port - 1) // 2), set()).add(_pair(by_host, far))
    assert {len(far) for far in cage.values()} == {1}


def _pair(subnet: Subnet, name: str) -> str:
    switch = subnet.switch[name]
    place = {"leaf": switch.number - 1, "spine": switch.plane, "core": switch.number - 1}[switch.tier]
    return f"{switch.tier} {switch.pod} {switch.plane if switch.tier == 'core' else ''} {place // 2}"
