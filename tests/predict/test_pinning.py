"""Paths fixed by a controller, on the declared 24,576-GPU cluster: the rows of the model's table on pinning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fabric.design.fabric import Fabric
from fabric.predict.failures import without
from fabric.predict.flows import ring
from fabric.predict.from_design import fabric_net
from fabric.predict.hashing import HashPolicy
from fabric.predict.load import link_loads
from fabric.predict.net import Ints, Net, norm
from fabric.predict.pinning import PathPlan, plan_by_destination, plan_paths

PINNED = HashPolicy("pinned", 1, True, "mod")


@pytest.fixture(scope="module")
def net(make_fabric: Callable[..., Fabric]) -> Net:
    return fabric_net(make_fabric("roce-24k"))


def order(net: Net, placement: str) -> Ints:
    """Hosts by the index: as they stand, shuffled inside each zone, shuffled over all."""
    hosts, shuffled = np.arange(len(net.hosts)), np.random.default_rng(3).permutation
    if placement == "rack":
        return hosts
    return (
        shuffled(hosts) if placement == "random" else np.concatenate([shuffled(zone) for zone in hosts.reshape(8, -1)])
    )


def reached(net: Net, plan: Callable[[Net, Ints, Ints], PathPlan], placement: str) -> float:
    phase = ring(order(net, placement), net.rails).phases[0]
    return round(
        100 * norm(net, link_loads(net, phase.src, phase.dst, 1.0, PINNED, 0, plan(net, phase.src, phase.dst))), 1
    )


@pytest.mark.parametrize(("placement", "low", "high"), [("rack", 100, 100), ("zone", 100, 100), ("random", 12, 18.3)])
def test_a_plan_for_all_flows(net: Net, placement: str, low: float, high: float) -> None:
    """performance-model.md, section 3: 100, 100, and 12-14 under the placement bound (here 18.3: 18 CTSWs a zone)."""
    assert low <= reached(net, plan_paths, placement) <= high


@pytest.mark.parametrize(("placement", "expected"), [("rack", 100), ("zone", 50)])
def test_pinning_by_destination(net: Net, placement: str, expected: float) -> None:
    """Row V7: half of the bandwidth is lost once the order inside the zones is not that of the racks."""
    assert reached(net, plan_by_destination, placement) == expected


def test_flows_inside_a_rack_need_no_pins(net: Net) -> None:
    nic = np.arange(8)
    assert (plan_paths(net, nic, nic + 8).choice == -1).all()


@pytest.mark.parametrize("placement", ["rack", "zone"])
def test_a_failed_uplink_costs_half_at_most(net: Net, placement: str) -> None:
    """Choices in a set that lacks a member move on by one, so that a link may get a second flow, and none gets a third."""
    uplink = net.name(int(net.set_members[net.set_start[1]])).partition(" ")[0]
    lost = without(net, [uplink])
    assert int(lost.set_size.sum()) != int(net.set_size.sum())
    assert reached(lost, plan_paths, placement) >= 50
