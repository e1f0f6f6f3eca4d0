from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fabric.design.ib.model import Subnet
from fabric.design.load import load_subnet
from fabric.forwarding.walk import balance, walk
from fabric.forwarding.wiring import EndpointRow, SwitchRow, Wiring, from_subnet, wire
from tests.forwarding.trees import tree_routes

SPEC = Path(__file__).resolve().parents[2] / "inventories" / "ib-lab" / "cluster.yaml"


@pytest.fixture(scope="module")
def subnet() -> Subnet:
    return load_subnet(SPEC).subnet


def test_a_designed_subnet_as_arrays(subnet: Subnet) -> None:
    wiring = from_subnet(subnet)
    assert (len(wiring.switches), wiring.width, len(wiring.endpoints)) == (128, 17, 384)
    assert np.bincount(wiring.level).tolist() == [48, 48, 32]
    names = {
        wiring.channel_name(int(s) * wiring.width + int(p)) for s, p in zip(*np.nonzero(wiring.far != -1), strict=True)
    }
    upper = {f"{link.a}[{link.a_port}] -> {link.b}[{link.b_port}]" for link in subnet.links}
    lower = {f"{link.b}[{link.b_port}] -> {link.a}[{link.a_port}]" for link in subnet.links if link.tier != "host"}
    assert names == upper | lower
    assert walk(tree_routes(wiring)).whole
    assert [tier.ratio for tier in balance(walk(tree_routes(wiring)))] == [1.0] * 4


def test_levels_follow_from_links_alone(subnet: Subnet) -> None:
    designed = from_subnet(subnet)
    assert _unlevelled(subnet).level.tolist() == designed.level.tolist()


def _unlevelled(subnet: Subnet) -> Wiring:
    """The same wiring from plain rows, as live links give it."""
    guid = {switch.name: switch.guid for switch in subnet.switches} | {hca.name: hca.node_guid for hca in subnet.hcas}
    switches = [SwitchRow(switch.guid, switch.name, switch.ports) for switch in subnet.switches]
    endpoints = [EndpointRow(hca.node_guid, 1, hca.port_guid, hca.name) for hca in subnet.hcas]
    return wire(
        switches, endpoints, [((guid[link.b], link.b_port), (guid[link.a], link.a_port)) for link in subnet.links]
    )


def test_a_planned_cable_is_not_there_and_a_service_does_not_count(subnet: Subnet) -> None:
    first = next(index for index, link in enumerate(subnet.links) if link.tier == "host")
    links = list(subnet.links)
    links[first] = replace(links[first], state="planned")
    hcas = list(subnet.hcas)
    hcas[-1] = replace(hcas[-1], purpose="storage")
    wiring = from_subnet(replace(subnet, links=tuple(links), hcas=tuple(hcas)))
    assert int((wiring.home < 0).sum()) == 1
    walked = walk(tree_routes(wiring))
    assert walked.pairs == 383 * 382
    assert walked.delivered == 382 * 381
    assert walked.failed == {"hole": 2 * 382}
    assert (walked.others, walked.others_failed) == (48, {})
