"""The published cluster of 1,708 switches and 56,256 cables is judged in seconds: what is counted is the judging, not the reading."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from fabric.design.build import design
from fabric.design.fabric import Fabric
from fabric.spec.cluster import ClusterSpec
from fabric.targets.facts import NextHop, Route
from fabric.verify.cabling import judge_cabling
from fabric.verify.finding import count
from fabric.verify.route_plan import RoutePlan
from fabric.verify.route_table import compare_routes
from fabric.verify.routing import judge_routing
from tests.conftest import edited
from tests.verify.simulated import Simulated

LIMIT_S = 10.0
"""CPU seconds for cables, sessions and interfaces of the whole cluster."""


@pytest.fixture(scope="module")
def large() -> Fabric:
    return design(ClusterSpec.model_validate(edited("roce-24k", {})))


@pytest.mark.scale
def test_whole_cluster_with_faults(large: Fabric) -> None:
    sim = Simulated(large)
    sim.swap(("z03-ctsw07", "Ethernet3/1/1"), ("z03-ctsw07", "Ethernet3/2/1"))
    sim.cut(("atsw009", "Ethernet3/1/1"))
    network, plan = sim.facts(), RoutePlan(large)
    start = time.process_time()
    findings = [*judge_cabling(large, network), *judge_routing(large, plan, network)]
    took = time.process_time() - start
    failed = {finding.check for finding in findings if finding.verdict == "fail"}
    assert failed == {"cabling.swap", "cabling.missing", "routing.session"}
    assert count(findings).failed == 5
    assert took < LIMIT_S, f"{took:.1f} s"


def table(plan: RoutePlan, name: str) -> Iterator[Route]:
    """A forwarding table as a reader makes it: new objects for each route."""
    for prefix, hops in plan.expected(plan.fabric.by_name[name]).hops.items():
        yield Route(prefix, tuple(NextHop(hop, None) for hop in sorted(hops)), "bgp")


@pytest.mark.scale
def test_table_of_one_switch(large: Fabric) -> None:
    """A table is compared in some 30 ms (0.2 s allowed), while devices are read, so that not all 1,708 are ever held."""
    plan = RoutePlan(large)
    for name in ("z01-rtsw001", "z01-ctsw01", "atsw001"):
        routes = list(table(plan, name))
        assert len(routes) > 3000
        took = []
        for _ in range(3):  # the quickest: what else this process does meanwhile is not asked
            start = time.process_time()
            report = compare_routes(plan.expected(large.by_name[name]), routes)
            took.append(time.process_time() - start)
        assert min(took) < 0.2
        assert (report.right, report.deviant) == (len(routes), {})
