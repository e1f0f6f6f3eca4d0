"""What follows from a spec besides ports: memberships, rules, masters, states, tiers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.design.ib import stripe
from fabric.design.ib.build import design_subnet
from fabric.design.ib.model import Subnet, UlpRule
from fabric.design.ib.tree import first_up
from fabric.design.load import load_subnet
from fabric.errors import FabricError
from fabric.spec.cluster import ClusterSpec

Make = Callable[..., Subnet]
SMALL: dict[str, Any] = {"hosts": 16, "hosts_per_unit": 8, "switch_ports": 16}
TENANTS: list[dict[str, Any]] = [
    {"name": "a", "pkey": 0x1001, "members": [{"units": 1}, {"hosts": ["gt0009"], "membership": "limited"}], "sl": 1},
    {"name": "b", "pkey": 0x1002, "members": [{"racks": "5-8", "membership": "both"}], "ipoib": {}},
]
SMS = {"hosts": [{"host": "gt0001"}, {"host": "gt0009", "rail": 7}, {"host": "gt0002", "priority": 15}]}


def counts(subnet: Subnet) -> dict[str, Counter[str]]:
    return {partition.name: Counter(partition.members.values()) for partition in subnet.partitions}


def test_without_partitions_every_port_is_full(make_subnet: Make) -> None:
    assert counts(make_subnet(**SMALL)) == {"Default": {"full": 128}}


def test_beside_tenants_only_the_sms_are_full(make_subnet: Make) -> None:
    subnet = make_subnet(**SMALL, partitions=TENANTS, qos={}, subnet_manager=SMS)
    assert counts(subnet) == {
        "Default": {"limited": 125, "full": 3},
        "a": {"full": 64, "limited": 8},
        "b": {"both": 64},
    }
    group = subnet.partitions[2].ipoib
    assert group is not None and (group.mtu, group.rate_gbps) == (4096, 400)
    assert (subnet.partitions[1].sl, subnet.partitions[2].sl) == (1, None)


def test_default_may_be_told_otherwise_for_hosts_of_no_tenant(make_subnet: Make) -> None:
    default = {"name": "Default", "pkey": 0x7FFF, "members": [{"hosts": ["gt0016"]}]}
    subnet = make_subnet(**SMALL, partitions=[{**TENANTS[0], "sl": None}, default])
    full = {guid for guid, membership in subnet.partitions[0].members.items() if membership == "full"}
    assert {subnet.name_of[guid].split()[0] for guid in full} == {"gt0016"}


def test_the_master_comes_first(make_subnet: Make) -> None:
    managers = make_subnet(**SMALL, subnet_manager=SMS).managers
    assert [(m.hca.name, m.priority) for m in managers] == [
        ("gt0002 mlx5_0", 15),
        ("gt0001 mlx5_0", 14),
        ("gt0009 mlx5_7", 13),
    ]


def test_rules_end_with_a_default(make_subnet: Make) -> None:
    ulps = [
        {"ulp": "any", "partition": "a", "sl": 1},
        {"ulp": "any", "target": "gt0001 mlx5_1", "sl": 1},
        {"ulp": "any", "service_id": "0x1-0x2", "sl": 1},
        {"ulp": "sdp", "port_num": "10-20", "sl": 1},
        {"ulp": "ipoib", "sl": 0},
    ]
    subnet = make_subnet(**SMALL, partitions=TENANTS, qos={"ulps": ulps})
    assert subnet.ulps == (
        UlpRule("any, pkey 0x1001", 1),
        UlpRule("any, target-port-guid 0x0000a00000000011", 1),
        UlpRule("any, service-id 0x1-0x2", 1),
        UlpRule("sdp, port-num 10-20", 1),
        UlpRule("ipoib", 0),
        UlpRule("default", 0),
    )


@pytest.mark.parametrize(
    ("backend", "tiers", "roots"),
    [
        ({"hosts": 2, "hosts_per_unit": 2, "switch_ports": 16}, 2, "spine"),
        (SMALL, 2, "spine"),
        ({**SMALL, "tiers": 3}, 3, "core"),
        ({**SMALL, "growth": {"units": 3}}, 3, "core"),
    ],
)
def test_tiers_and_roots(backend: dict[str, Any], tiers: int, roots: str, make_subnet: Make) -> None:
    subnet = make_subnet(**backend)
    assert (subnet.tiers, {switch.tier for switch in subnet.roots}) == (tiers, {roots})


@pytest.mark.parametrize(
    ("match", "state", "expected"),
    [
        ({"role": "leaf", "name": "leaf0001"}, "planned", {"host": 8, "leaf": 8}),
        ({"role": "spine", "name": "spine01"}, "drained", {"leaf": 16}),
        ({"name": "gt0003"}, "planned", {"host": 8}),
        ({"role": "core"}, "drained", {}),
    ],
)
def test_a_state_reaches_the_cables(
    match: dict[str, str], state: str, expected: dict[str, int], make_ib_spec: Callable[..., ClusterSpec]
) -> None:
    data = make_ib_spec(**SMALL).model_dump(by_alias=True, exclude_unset=True)
    subnet = design_subnet(ClusterSpec.model_validate({**data, "state": [{"match": match, "state": state}]}))
    assert Counter(link.tier for link in subnet.links if link.state == state) == expected
    assert {link.state for link in subnet.links} <= {state, "deployed"}


@pytest.mark.parametrize(
    ("uplinks", "above", "spread"),
    [(32, 12, (2, 3)), (32, 16, (2, 2)), (24, 12, (2, 2)), (8, 3, (2, 3)), (1, 1, (1, 1))],
)
def test_a_stripe_fills_all_alike(uplinks: int, above: int, spread: tuple[int, int]) -> None:
    below = 24
    steps = [(q, *step) for q in range(below) for step in stripe.stripe(q, uplinks, above)]
    ports = Counter(upper for _, _, upper, _ in steps)
    links = Counter((q, upper) for q, _, upper, _ in steps)
    assert (min(links.values()), max(links.values())) == spread == stripe.spread(uplinks, above)
    assert max(ports.values()) - min(ports.values()) <= 1
    assert max(ports.values()) == stripe.ports_needed(below, uplinks, above)
    assert len({(upper, port) for _, _, upper, port in steps}) == len(steps)
    assert all(
        [uplink for q, uplink, _, _ in steps if q == below_q] == list(range(uplinks)) for below_q in range(below)
    )


@pytest.mark.parametrize(
    ("radix", "down", "up", "per_cage", "port"),
    [
        (64, 32, 32, 2, 33),
        (64, 31, 31, 2, 33),
        (64, 48, 16, 2, 49),
        (64, 47, 16, 2, 49),
        (64, 47, 17, 2, 48),
        (40, 20, 20, 1, 21),
    ],
)
def test_where_uplinks_begin(radix: int, down: int, up: int, per_cage: int, port: int) -> None:
    assert first_up(radix, down, up, per_cage) == port


def test_a_roce_cluster_is_no_subnet(spec_file: Callable[..., Path]) -> None:
    with pytest.raises(FabricError, match=r"backend\.kind is roce"):
        load_subnet(spec_file("lab"))


def test_a_guid_file_stands_beside_the_spec(spec_file: Callable[..., Path]) -> None:
    path = spec_file("ib-lab", {"backend.guids": {"file": "guids.csv"}})
    (path.parent / "guids.csv").write_text("name,node_guid,port_guid\nleaf0001,0x1\nleaf0002,,\nx,0x2,0x3\n")
    with pytest.raises(FabricError) as caught:
        load_subnet(path)
    errors = [str(error) for error in getattr(caught.value, "errors", [caught.value])]
    assert [error.split(": ")[0].rpartition("/")[2] for error in errors] == ["guids.csv:2", "guids.csv:4", "guids.csv"]
