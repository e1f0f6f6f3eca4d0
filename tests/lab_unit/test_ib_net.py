"""The net file of ibsim, the room that it needs, and the lab's own picture of the cables."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.errors import FabricError
from fabric.lab.ib.net import AGGREGATION, hca_id, net_size, net_text
from fabric.lab.ib.prepare import seat_of, wiring
from fabric.lab.ib.wiring import Wiring
from tests.lab_unit.ib_small import small_subnet

Structure = tuple[dict[str, tuple[str, int]], set[frozenset[tuple[str, int]]]]


def _structure(text: str) -> Structure:
    """GUID -> (description, ports), and the cables as pairs of (GUID, port), each of which both ends must tell."""
    nodes: dict[str, tuple[str, int]] = {}
    ids: dict[str, str] = {}
    ends = []
    guid = name = ""
    for line in text.splitlines():
        if found := re.match(r"(?:ca|switch)guid=(\w+)", line):
            guid = found[1]
        elif found := re.match(r'(?:Ca|Switch)\s+(\d+)\s+"([^"]+)"\s+# "([^"]+)"', line):
            nodes[guid], ids[found[2]], name = (found[3], int(found[1])), guid, found[2]
        elif found := re.match(r'\[(\d+)\]\s+"([^"]+)"\[(\d+)\]', line):
            ends.append(((name, int(found[1])), (found[2], int(found[3]))))
    both = {((ids[a], p), (ids[b], q)) for (a, p), (b, q) in ends}
    assert all((b, a) in both for a, b in both), "a cable has only one end"
    return nodes, {frozenset(pair) for pair in both}


def test_a_tiny_net(golden: Callable[[str, str], None]) -> None:
    golden("ib/tiny.net", net_text(small_subnet(hosts=2, rails=2, spines=1, parallel=1)))


def test_a_tiny_net_with_aggregation_nodes(golden: Callable[[str, str], None]) -> None:
    golden("ib/tiny-an.net", net_text(small_subnet(hosts=1, rails=1, spines=1, parallel=1), aggregation_nodes=True))


def test_the_net_of_the_reference_fabric_is_the_one_of_the_reference(reference_dir: Path) -> None:
    theirs = (reference_dir / "infiniband" / "example-64hca-2tier-rail.net").read_text()
    assert _structure(net_text(small_subnet())) == _structure(theirs)


@pytest.mark.parametrize(("aggregation_nodes", "size"), [(False, (76, 12, 332)), (True, (88, 12, 368))])
def test_room(aggregation_nodes: bool, size: tuple[int, int, int]) -> None:
    found = net_size(small_subnet(), aggregation_nodes=aggregation_nodes)
    assert (found.nodes, found.switches, found.ports) == size


def test_what_is_planned_is_not_in_the_net() -> None:
    subnet = small_subnet(hosts=2, rails=2, spines=1, parallel=1)
    switches = tuple(replace(each, state="planned") if each.name == "leaf0001" else each for each in subnet.switches)
    text = net_text(replace(subnet, switches=switches))
    nodes, cables = _structure(text)
    assert "leaf0001" not in {name for name, _ in nodes.values()}
    assert len(cables) == 3


def test_an_hca_keeps_its_port_guid_whatever_its_node_guid_is() -> None:
    subnet = small_subnet(hosts=1, rails=1, spines=1, parallel=1)
    hca = replace(subnet.hcas[0], node_guid=0xB8CE_F603_0000_0000)
    text = net_text(replace(subnet, hcas=(hca,)))
    assert f"caguid={hca.port_guid - 1:#x}\n" in text


def test_ids_fit_sim_host() -> None:
    assert all(len(hca_id(hca)) <= 31 for hca in small_subnet().hcas)


def test_a_guid_of_an_aggregation_node_is_not_given_twice() -> None:
    subnet = small_subnet(hosts=1, rails=1, spines=1, parallel=1)
    hca = replace(subnet.hcas[0], node_guid=AGGREGATION, port_guid=AGGREGATION + 1)
    with pytest.raises(FabricError, match="gt0000 mlx5_0 has a GUID that the lab's aggregation nodes use"):
        net_text(replace(subnet, hcas=(hca,)), aggregation_nodes=True)


def test_the_seat_is_no_sm_host() -> None:
    assert seat_of(small_subnet()).name == "gt0007 mlx5_7"
    assert seat_of(small_subnet(hosts=2, managers=2)).host == "gt0001"  # nobody else is there


@pytest.fixture
def plan() -> Wiring:
    data = wiring(small_subnet())
    return Wiring(data["ids"], [((a, p), (b, q)) for a, p, b, q in data["cables"]])


def test_ports_by_name(plan: Wiring) -> None:
    assert plan.far(plan.socket("leaf0000:9")) == ("spine0000", 1)
    assert plan.socket("gt0003/mlx5_5") == plan.socket("gt0003 mlx5_5:1") == ("gt0003 mlx5_5", 1)
    assert plan.console(("leaf0000", 9)) == '"S-0000900000000000"[9]'


def test_a_directed_route_follows_the_cables_that_are_there(plan: Wiring) -> None:
    seat = "H-0000a000000003f0"  # gt0007 mlx5_7, at leaf0007
    assert plan.route(seat, "leaf0007") == "0,1"
    assert plan.route(seat, "leaf0000") == "0,1,9,1"
    plan.pull(("leaf0000", 9))
    assert plan.route(seat, "leaf0000") == "0,1,9,2"
    plan.pull(("leaf0007", 8))
    with pytest.raises(FabricError, match="no cables lead to leaf0000 any more"):
        plan.route(seat, "leaf0000")


def test_a_port_takes_one_cable(plan: Wiring) -> None:
    with pytest.raises(FabricError, match="leaf0000:9 is taken: spine0000:1 is plugged there"):
        plan.plug(("leaf0000", 9), ("leaf0001", 9))
