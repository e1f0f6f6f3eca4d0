"""Routing: the expected routes against a BGP that runs round by round, and faults named where they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fabric.design.build import design
from fabric.design.fabric import Fabric
from fabric.spec.cluster import ClusterSpec
from fabric.targets.facts import BgpSession, InterfaceState, NextHop, Route
from fabric.verify.finding import Finding
from fabric.verify.fold import fold
from fabric.verify.observed import Network, Observed
from fabric.verify.route_plan import RoutePlan
from fabric.verify.route_table import compare_routes
from fabric.verify.routing import judge_routing
from fabric.verify.runner import judge
from tests.conftest import edited
from tests.verify.simulated import Simulated, converge

PLANES = {
    "backend.atsw.planes": 2, "backend.atsw.count": 2, "backend.rack_profiles.fboss-rack.uplinks": 4,
    "backend.rack_profiles.eos-rack.uplinks": 4,
}  # fmt: skip


def state(**names: str) -> dict[str, Any]:
    return {"state": [{"match": {"name": name.replace("_", "-")}, "state": what} for name, what in names.items()]}


SHAPES: dict[str, dict[str, Any]] = {
    "lab": {},
    "ipv6": {"addressing.family": "ipv6", "addressing.ipv4": None},
    "single links": {"bgp.aggregate_racks": False},
    "planes": PLANES,
    "drained ctsw": state(z01_ctsw01="drained"),
    "drained atsw": state(atsw001="drained"),
    "drained rack": state(z02_rtsw001="drained"),
    "planned ctsw": state(z02_ctsw02="planned"),
    "planned rack": state(z01_rtsw002="planned"),
    "planned atsw": state(atsw002="planned"),
    "planned host, single links": {"bgp.aggregate_racks": False, **state(z01_r001_h2="planned")},
    "all ctsws of a zone drained": {"state": [{"match": {"role": "ctsw", "zone": 1}, "state": "drained"}]},
    "plane drained": {**PLANES, "state": [{"match": {"name": "atsw00[13]"}, "state": "drained"}]},
    "plane planned": {**PLANES, "state": [{"match": {"name": "atsw00[24]"}, "state": "planned"}]},
    "planes, drained and planned": {**PLANES, **state(z01_ctsw01="drained", z01_ctsw03="planned", atsw004="drained")},
    "parallel links": {"backend.ctsw.uplinks": 4},
    "one zone": {"backend.atsw": None, "backend.ctsw.uplinks": 0, "backend.zones": [{"id": 1, "racks": 3, "rack_profile": "eos-rack"}]},
}  # fmt: skip


def made(changes: dict[str, Any]) -> Fabric:
    return design(ClusterSpec.model_validate(edited("lab", changes)))


@pytest.mark.parametrize("shape", SHAPES)
def test_expected_routes_are_what_bgp_converges_to(shape: str) -> None:
    fabric = made(SHAPES[shape])
    plan, tables = RoutePlan(fabric), converge(Simulated(fabric))
    for switch in plan.live:
        found = {
            route.prefix: frozenset(hop.address for hop in route.next_hops)
            for route in tables[switch.name]
            if route.protocol == "bgp"
        }
        assert plan.expected(switch).hops == found, switch.name


def routing(sim: Simulated, change: Callable[[dict[str, Observed]], None] | None = None) -> list[Finding]:
    network = dict(sim.facts(routes=True))
    if change is not None:
        change(network)
    return judge_routing(sim.fabric, RoutePlan(sim.fabric), network)


def failed(findings: list[Finding]) -> set[tuple[str, str]]:
    return {(f.check.partition(".")[2], f.subject) for f in findings if f.verdict == "fail"}


@pytest.mark.parametrize("shape", SHAPES)
def test_healthy(shape: str) -> None:
    assert {finding.verdict for finding in routing(Simulated(made(SHAPES[shape])))} == {"pass"}


LAB = made({})
LINK = "z01-ctsw01:Ethernet3/1/1 <-> z01-rtsw001:eth8/1/1"
OTHER = "atsw002:Ethernet3/7/1 <-> z02-ctsw01:Ethernet6/35/1"


@pytest.mark.parametrize(
    ("ends", "links"),
    [
        ([("z01-ctsw01", "Ethernet3/1/1")], {LINK}),
        ([("z01-ctsw01", "Ethernet3/1/1"), ("z02-ctsw01", "Ethernet6/35/1")], {LINK, None}),
    ],
)
def test_session_down_is_the_only_fault(ends: list[tuple[str, str]], links: set[str | None]) -> None:
    """The routes that follow are told with it, on no other switch."""
    findings = routing(Simulated(LAB, down=set(ends)))
    found = {subject if subject == LINK else None for check, subject in failed(findings) if check == "session"}
    assert found == links
    assert len(failed(findings)) == len(ends)
    assert all("lack a next hop, as they must" in f.evidence[0] for f in findings if f.verdict == "fail")


@pytest.mark.parametrize("shape", ["lab", "planes", "parallel links", "drained ctsw", "single links"])
def test_every_single_session_down(shape: str) -> None:
    """Whichever link's sessions fail: one finding, and no switch is blamed for what follows."""
    fabric = made(SHAPES[shape])
    for link in fabric.links():
        if link.tier != "host":
            found = failed(routing(Simulated(fabric, down={(link.a, link.a_port)})))
            assert found == {("session", f"{link.a}:{link.a_port} <-> {link.b}:{link.b_port}")}


def edit_bgp(name: str, of: str, **fields: Any) -> Callable[[dict[str, Observed]], None]:
    def change(network: dict[str, Observed]) -> None:
        sessions = tuple(replace(s, **fields) if s.peer == of else s for s in network[name].bgp or ())
        network[name] = replace(network[name], bgp=sessions)

    return change


def test_wrong_as_and_unexpected_session() -> None:
    (found,) = [
        f for f in routing(Simulated(LAB), edit_bgp("z01-ctsw01", "10.64.0.1", remote_asn=65000)) if f.verdict == "fail"
    ]
    assert (found.subject, found.measured) == (LINK, "IPv4: z01-ctsw01 has AS 65000 behind it")

    def more(network: dict[str, Observed]) -> None:
        session = BgpSession("192.0.2.9", 65001, "established", 1, 1, "old\x1b[31m")
        network["atsw001"] = replace(network["atsw001"], bgp=(*(network["atsw001"].bgp or ()), session))

    (found,) = [f for f in routing(Simulated(LAB), more) if f.verdict == "fail"]
    assert found.check == "routing.unexpected-session"
    assert found.measured == "a session to 192.0.2.9 (old?[31m), established, AS 65001"


def test_spelling_of_peers() -> None:
    peer = "2001:db8:1::1"
    assert not failed(routing(Simulated(LAB), edit_bgp("z01-ctsw01", peer, peer="2001:DB8:1:0::1")))


def table(name: str, change: Callable[[list[Route]], list[Route]]) -> Callable[[dict[str, Observed]], None]:
    """Edits the forwarding table of one switch."""

    def edit(network: dict[str, Observed]) -> None:
        plan = RoutePlan(LAB)
        routes = change(converge(Simulated(LAB))[name])
        network[name] = replace(network[name], routes=compare_routes(plan.expected(LAB.by_name[name]), routes))

    return edit


RACK = "10.128.1.0/27"
"""Of z02-rtsw001."""


def hops(routes: list[Route], prefix: str, *addresses: str) -> list[Route]:
    made_of = tuple(NextHop(address, None) for address in addresses)
    return [replace(route, next_hops=made_of) if route.prefix == prefix else route for route in routes]


@pytest.mark.parametrize(
    ("name", "change", "check", "text"),
    [
        ("z01-rtsw001", lambda r: hops(r, RACK, "10.64.0.0"), "ecmp", f"{RACK}: no next hop z01-ctsw02"),
        ("z01-rtsw001", lambda r: [x for x in r if x.prefix != RACK], "missing-prefix",
         f"{RACK}: no route, though z01-ctsw01, z01-ctsw02 have one"),
        ("z01-rtsw001", lambda r: hops(r, RACK, "10.64.0.0", "10.64.0.2", "10.0.0.1"), "ecmp",
         f"{RACK}: a next hop 10.0.0.1, which the design does not have for it"),
        ("z01-ctsw01", lambda r: hops(r, "10.128.0.0/27", "10.32.0.0"), "path",
         "10.128.0.0/27: no next hop z01-rtsw001; a next hop atsw001, which the design does not have for it"),
        ("atsw001", lambda r: [*r, Route("0.0.0.0/0", (NextHop("10.32.0.1", None),), "static")], "unexpected-prefix",
         "a route via z01-ctsw01 (Ethernet3/1/1)"),
        ("z02-rtsw001", lambda r: [x for x in r if x.prefix != "10.128.1.0/31"], "nic-link",
         "the port is up and 10.128.1.0/31 is not in the table"),
    ],
)  # fmt: skip
def test_one_table_differs(name: str, change: Callable[[list[Route]], list[Route]], check: str, text: str) -> None:
    (found,) = [f for f in routing(Simulated(LAB), table(name, change)) if f.verdict == "fail"]
    assert (found.check, found.measured, name in found.subject) == (f"routing.{check}", text, True)


def test_equal_differences_of_many_switches_are_one_finding() -> None:
    def edit(network: dict[str, Observed]) -> None:
        for name, first in (("z01-rtsw001", "10.64.0.0"), ("z01-rtsw002", "10.64.0.8")):
            table(name, lambda routes, first=first: hops(routes, RACK, first))(network)  # type: ignore[misc]

    assert failed(routing(Simulated(LAB), edit)) == {("ecmp", "z01-rtsw001, z01-rtsw002")}


def test_neighbour_that_lacks_a_route_is_the_one_that_is_named() -> None:
    """A CTSW drops a rack's prefix: the racks below it lose that next hop, and only the CTSW is told of."""

    def edit(network: dict[str, Observed]) -> None:
        table("z01-ctsw01", lambda routes: [r for r in routes if r.prefix != RACK])(network)
        for name, left in (("z01-rtsw001", "10.64.0.2"), ("z01-rtsw002", "10.64.0.10")):
            table(name, lambda routes, left=left: hops(routes, RACK, left))(network)  # type: ignore[misc]

    assert failed(routing(Simulated(LAB), edit)) == {("missing-prefix", "z01-ctsw01")}


def test_prefix_that_its_origin_does_not_announce() -> None:
    def edit(network: dict[str, Observed]) -> None:
        for name in LAB.by_name:
            if name != "z02-rtsw001":
                table(name, lambda routes: [r for r in routes if r.prefix != RACK])(network)

    assert failed(routing(Simulated(LAB), edit)) == {("announce", "z02-rtsw001")}


def test_link_local_next_hops_are_the_neighbours_behind_the_interface() -> None:
    plan, switch = RoutePlan(LAB), LAB.by_name["z01-rtsw001"]
    prefix = "2001:db8:8000:80::/60"
    for first in ("eth8/1/1", "fboss4001"):
        route = Route(prefix, (NextHop("fe80::1", first), NextHop("fe80::1", "eth8/3/1")), "bgp")
        assert prefix not in compare_routes(plan.expected(switch), [route]).deviant
    route = Route(prefix, (NextHop("fe80::1", "eth8/1/1"), NextHop("fe80::1", "eth2/1/1")), "bgp")
    assert prefix in compare_routes(plan.expected(switch), [route]).deviant


def test_narrower_than_the_paths() -> None:
    fabric = made({"overrides": [{"match": {"name": "z01-rtsw001"}, "set": {"ecmp_width": 1}}]})
    expected = RoutePlan(fabric).expected(fabric.by_name["z01-rtsw001"])
    report = [compare_routes(expected, [Route(RACK, tuple(NextHop(a, None) for a in some), "bgp")]).deviant for some in (
        ["10.64.0.0"], ["10.64.0.2"], ["10.64.0.0", "10.64.0.2"], ["10.64.0.4"])]  # fmt: skip
    assert [RACK in deviant for deviant in report] == [False, False, True, True]


def test_dead_and_unreachable_switches() -> None:
    assert failed(routing(Simulated(LAB, dead={"z01-ctsw01"}))) == {("device", "z01-ctsw01")}
    assert not failed(routing(Simulated(LAB, unreachable={"z01-ctsw01"})))
    findings = routing(Simulated(LAB, unreachable={"z01-ctsw01", "z01-rtsw001"}))
    assert {f.subject for f in findings if f.verdict == "unknown"} == {LINK}


@pytest.mark.parametrize(("mtu", "verdict"), [(1500, "fail"), (None, "unknown"), (9000, "pass")])
def test_interface_mtu(mtu: int | None, verdict: str) -> None:
    def edit(network: dict[str, Observed]) -> None:
        ports = network["z01-rtsw001"].interfaces or ()
        changed = tuple(replace(p, mtu=mtu) if p.name in ("eth2/1/1", "eth8/1/1") else p for p in ports)
        network["z01-rtsw001"] = replace(network["z01-rtsw001"], interfaces=changed)

    found = [f for f in routing(Simulated(LAB), edit) if f.check == "routing.mtu" and "z01-rtsw001" in f.subject]
    assert found[0].verdict == verdict
    assert verdict == "pass" or found[0].subject == "z01-rtsw001:eth2/1/1,eth8/1/1"


def test_session_on_a_wrong_cable_is_told_with_the_cable() -> None:
    sim = Simulated(LAB)
    sim.swap(("z01-ctsw01", "Ethernet3/1/1"), ("z01-ctsw01", "Ethernet3/2/1"))
    found = judge(LAB, RoutePlan(LAB), sim.facts(routes=True), ["cabling", "routing"])
    (fault,) = [finding for finding in found if finding.verdict == "fail"]
    assert fault.check == "cabling.swap"
    assert "BGP is down on these 2 links, as it must be" in fault.evidence
    assert fold(found) == found


def test_nothing_read_is_unknown() -> None:
    network: Network = {name: Observed(name, unreachable="timed out") for name in LAB.by_name}
    findings = judge(LAB, RoutePlan(LAB), network, ["cabling", "routing", "qos"])
    assert {finding.verdict for finding in findings} == {"unknown"}


def test_states_unknown_to_the_device() -> None:
    """An interface list without the ports, and none at all."""
    sim = Simulated(LAB)
    for ports in ((), None, (InterfaceState("Vlan1", None, True, None, None, None),)):
        network = dict(sim.facts(routes=True))
        network["z01-rtsw001"] = replace(network["z01-rtsw001"], interfaces=ports)
        assert not failed(judge_routing(LAB, RoutePlan(LAB), network))
