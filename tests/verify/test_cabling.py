"""Cabling: faults alone and in pairs, each named exactly, nobody else blamed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.design.build import design
from fabric.design.fabric import Fabric
from fabric.spec.cluster import ClusterSpec
from fabric.targets.facts import LldpNeighbor
from fabric.verify.cabling import judge_cabling
from fabric.verify.finding import Finding
from tests.conftest import edited
from tests.verify.simulated import Simulated

C1R1, C1R2 = ("z01-ctsw01", "Ethernet3/1/1"), ("z01-ctsw01", "Ethernet3/2/1")
R1C1, R2C1 = ("z01-rtsw001", "eth8/1/1"), ("z01-rtsw002", "eth8/1/1")
R1C2 = ("z01-rtsw001", "eth8/3/1")
R3C1, R3C2 = ("z02-rtsw001", "Ethernet8/1/1"), ("z02-rtsw001", "Ethernet8/2/1")
H1B0, H2B0 = ("z01-r001-h1", "beth0"), ("z01-r001-h2", "beth0")

Fault = Callable[[Simulated], None]


def judged(sim: Simulated) -> list[Finding]:
    return judge_cabling(sim.fabric, sim.facts())


def named(findings: list[Finding], verdict: str = "fail") -> set[tuple[str, str]]:
    return {(finding.check.partition(".")[2], finding.subject) for finding in findings if finding.verdict == verdict}


def stranger(sim: Simulated) -> None:
    sim.extra["z02-rtsw002", "Ethernet9/1/1"] = [LldpNeighbor("Ethernet9/1/1", "printer.example.net", "1", None, None)]


def loop(sim: Simulated) -> None:
    sim.join(("z02-ctsw02", "Ethernet3/30/1"), ("z02-ctsw02", "Ethernet3/31/1"))


# fault: (what it does, what it is called, the devices that it may touch)
FAULTS: dict[str, tuple[Fault, set[tuple[str, str]]]] = {
    "swap on one switch": (
        lambda sim: sim.swap(C1R1, C1R2), {("swap", "z01-ctsw01:Ethernet3/1/1 and z01-ctsw01:Ethernet3/2/1")},
    ),
    "swap of two NICs": (
        lambda sim: sim.swap(("z02-rtsw002", "Ethernet2/1/1"), ("z02-rtsw002", "Ethernet3/1/1")),
        {("swap", "z02-rtsw002:Ethernet2/1/1 and z02-rtsw002:Ethernet3/1/1")},
    ),
    "wrong port": (
        lambda sim: sim.move(R3C1, ("z02-rtsw001", "Ethernet8/3/1")),
        {("wrong-port", "z02-ctsw01:Ethernet3/1/1 <-> z02-rtsw001:Ethernet8/1/1")},
    ),
    "wrong device": (
        lambda sim: sim.move(R3C2, ("z02-rtsw002", "Ethernet8/5/1")),
        {("wrong-device", "z02-ctsw02:Ethernet3/1/1 <-> z02-rtsw001:Ethernet8/2/1")},
    ),
    "cut": (
        lambda sim: sim.cut(("atsw001", "Ethernet3/1/1")),
        {("missing", "atsw001:Ethernet3/1/1 <-> z01-ctsw01:Ethernet6/36/1")},
    ),
    "one way": (
        lambda sim: sim.deaf.add(("atsw002", "Ethernet3/1/1")),
        {("one-way", "atsw002:Ethernet3/1/1 <-> z01-ctsw01:Ethernet6/35/1")},
    ),
    "stranger": (stranger, {("unexpected", "z02-rtsw002:Ethernet9/1/1")}),
    "undeclared cable": (loop, {("unexpected", "z02-ctsw02:Ethernet3/30/1")}),
    "NIC down": (
        lambda sim: sim.cut(("z01-rtsw002", "eth2/1/1")), {("missing", "z01-rtsw002:eth2/1/1 <-> z01-r002-h1:beth0")},
    ),
    "host off": (lambda sim: sim.dead.add("z01-r002-h2"), {("device", "z01-r002-h2")}),
}  # fmt: skip


@pytest.fixture(scope="session")
def lab() -> Fabric:
    return design(ClusterSpec.model_validate(edited("lab", {})))


def test_healthy(lab: Fabric) -> None:
    findings = judged(Simulated(lab))
    assert {finding.verdict for finding in findings} == {"pass"}
    assert len(findings) == len(list(lab.links()))


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault(lab: Fabric, fault: str) -> None:
    sim = Simulated(lab)
    FAULTS[fault][0](sim)
    findings = judged(sim)
    assert named(findings) == FAULTS[fault][1]
    assert not named(findings, "unknown")
    touched = sum(len(finding.links) for finding in findings if finding.verdict == "fail")
    assert sum(finding.verdict == "pass" for finding in findings) == len(list(lab.links())) - touched


@pytest.mark.parametrize("pair", list(itertools.combinations(FAULTS, 2)), ids=" + ".join)
def test_two_faults(lab: Fabric, pair: tuple[str, str]) -> None:
    sim = Simulated(lab)
    for fault in pair:
        FAULTS[fault][0](sim)
    assert named(judged(sim)) == FAULTS[pair[0]][1] | FAULTS[pair[1]][1]


def test_swap_says_which_plugs(lab: Fabric) -> None:
    sim = Simulated(lab)
    sim.swap(R1C1, R2C1)  # the same two cables as crossed at the CTSW: the repair is at one switch
    (found,) = [finding for finding in judged(sim) if finding.verdict == "fail"]
    assert found.action == "exchange the plugs in z01-ctsw01:Ethernet3/1/1 and z01-ctsw01:Ethernet3/2/1"
    assert set(found.links) == {
        "z01-ctsw01:Ethernet3/1/1 <-> z01-rtsw001:eth8/1/1", "z01-ctsw01:Ethernet3/2/1 <-> z01-rtsw002:eth8/1/1",
    }  # fmt: skip


def test_plugs_of_both_ends_exchanged(lab: Fabric) -> None:
    """Upper end to upper end, lower to lower: crossed as well, and one exchange repairs it."""
    sim = Simulated(lab)
    sim.swap(C1R1, R2C1)
    (found,) = [finding for finding in judged(sim) if finding.verdict == "fail"]
    assert found.check == "cabling.swap"
    one, two = found.action.removeprefix("exchange the plugs in ").split(" and ")
    sim.swap(end(sim, one), end(sim, two))
    assert named(judged(sim)) == set()


def end(sim: Simulated, label: str) -> tuple[str, str]:
    name, _, port = label.partition(":")
    return name, port


def test_repairs_are_right(lab: Fabric) -> None:
    """Doing what the findings of a rotation say repairs it."""
    sim = Simulated(lab)
    shuffle(sim, [R1C1, R1C2, R3C1], [1, 2, 0])
    (found,) = [finding for finding in judged(sim) if finding.verdict == "fail"]
    assert found.check == "cabling.rotation"
    repair(sim, found)
    assert named(judged(sim)) == set()


def shuffle(sim: Simulated, plugs: list[tuple[str, str]], order: list[int]) -> None:
    far = [sim.cables[plug] for plug in plugs]
    for plug, place in zip(plugs, order, strict=True):
        sim.join(plug, far[place])


def repair(sim: Simulated, found: Finding) -> None:
    if found.check == "cabling.swap":
        one, two = found.action.removeprefix("exchange the plugs in ").split(" and ")
        sim.swap(end(sim, one), end(sim, two))
        return
    moves = [tuple(move.split(" to ")) for move in found.action.removeprefix("move plugs: ").split(", ")]
    held = {to: sim.cables[end(sim, plug)] for plug, to in moves}
    for to, far in held.items():
        sim.join(end(sim, to), far)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(2, 12))
def test_any_permutation_is_explained(chance: random.Random, size: int) -> None:
    """Any permutation of plugs on any ports is told as rings that cover just the moved cables, and their repairs undo it."""
    sim = Simulated(LAB)
    plugs = chance.sample(sorted(end for end in sim.cables if end[0] in LAB.by_name and end not in UPPER), size)
    declared = dict(sim.cables)
    order = list(range(size))
    chance.shuffle(order)
    shuffle(sim, plugs, order)
    moved = {frozenset((plug, declared[plug])) for plug in plugs if sim.cables[plug] != declared[plug]}
    failed = [finding for finding in judged(sim) if finding.verdict == "fail"]
    assert {finding.check for finding in failed} <= {"cabling.swap", "cabling.rotation"}
    assert sum(len(finding.links) for finding in failed) == len(moved)
    for finding in failed:
        repair(sim, finding)
    assert sim.cables == declared


LAB = design(ClusterSpec.model_validate(edited("lab", {})))
UPPER = {(link.a, link.a_port) for link in LAB.links() if link.tier != "host"}


@pytest.mark.parametrize(
    "change",
    [{"domain": True}, {"unreachable": {"z01-ctsw01"}}, {"unreachable": {"z01-ctsw01", "atsw001"}}],
    ids=["fqdn and quotes", "one unreachable", "two unreachable"],
)  # fmt: skip
def test_no_false_alarm(lab: Fabric, change: dict[str, object]) -> None:
    assert not named(judged(Simulated(lab, **change)))  # type: ignore[arg-type]


def test_unreachable_is_judged_from_the_other_end(lab: Fabric) -> None:
    sim = Simulated(lab, unreachable={"z01-ctsw01"})
    sim.swap(C1R1, C1R2)
    assert {check for check, _ in named(judged(sim))} == {"swap"}
    sim = Simulated(lab, unreachable={"z01-ctsw01"})
    sim.cut(C1R1)
    assert named(judged(sim)) == {("missing", "z01-ctsw01:Ethernet3/1/1 <-> z01-rtsw001:eth8/1/1")}


def test_both_ends_unreachable_is_unknown(lab: Fabric) -> None:
    findings = judged(Simulated(lab, unreachable={"z01-ctsw01", "z01-rtsw001"}))
    assert not named(findings)
    assert ("link", "z01-ctsw01:Ethernet3/1/1 <-> z01-rtsw001:eth8/1/1") in named(findings, "unknown")


def test_dead_switch_is_one_fault(lab: Fabric) -> None:
    assert named(judged(Simulated(lab, dead={"z01-ctsw01"}))) == {("device", "z01-ctsw01")}


@pytest.mark.parametrize("forgotten", [False, True], ids=["just died", "forgotten by its neighbours"])
@pytest.mark.parametrize("name", ["z01-ctsw01", "z01-rtsw001"])
def test_dead_lldp_is_one_fault(lab: Fabric, name: str, forgotten: bool) -> None:
    sim = Simulated(lab)
    sim.silent_hosts = {host.name for host in lab.hosts()}
    sim.swap(("z02-ctsw01", "Ethernet3/1/1"), ("z02-ctsw01", "Ethernet3/2/1"))
    ends = [end for end in sim.cables if end[0] == name]
    sim.deaf |= {*ends, *(sim.cables[end] for end in ends if forgotten)}
    found = judged(sim)
    assert named(found) >= {("lldp", name)}
    assert {kind for kind, _ in named(found)} == {"lldp", "swap"}
    told = next(finding for finding in found if finding.check == "cabling.lldp")
    assert f"check LLDP on {name}" in told.action
    assert told.count == len(ends)


def test_one_more_deaf_port_is_no_dead_lldp(lab: Fabric) -> None:
    sim = Simulated(lab)
    ends = [end for end in sim.cables if end[0] == "z01-ctsw01"]
    sim.deaf |= set(ends[1:])
    assert {kind for kind, _ in named(judged(sim))} == {"one-way"}


def test_silent_hosts(lab: Fabric) -> None:
    sim = Simulated(lab, silent_hosts={"z01-r001-h1", "z02-r002-h1"})
    findings = judged(sim)
    assert not named(findings)
    assert len(named(findings, "unknown")) == 16


def test_silent_host_in_a_swap_is_found_by_the_other(lab: Fabric) -> None:
    sim = Simulated(lab, silent_hosts={"z01-r001-h1"})
    sim.swap(H1B0, H2B0)
    assert named(judged(sim)) == {("swap", "z01-rtsw001:eth2/1/1 and z01-rtsw001:eth3/1/1")}


def test_nic_with_mac_port_id_and_name_in_the_description(lab: Fabric) -> None:
    sim = Simulated(lab, mac_hosts=True)
    assert {finding.verdict for finding in judged(sim)} == {"pass"}
    sim.swap(H1B0, H2B0)
    assert named(judged(sim)) == {("swap", "z01-rtsw001:eth2/1/1 and z01-rtsw001:eth3/1/1")}


def heard(sim: Simulated, *rows: LldpNeighbor) -> list[Finding]:
    """What is said when the NIC port of a switch hears these alone."""
    sim.silent_hosts.add("z01-r001-h1")
    sim.extra["z01-rtsw001", "eth2/1/1"] = list(rows)
    return [finding for finding in judged(sim) if "z01-rtsw001:eth2/1/1" in finding.subject]


@pytest.mark.parametrize(
    ("rows", "verdict", "check"),
    [
        ([("z01-r001-h1", "beth0", None)], "pass", "cabling.link"),
        ([("Z01-R001-H1.LAB.example.net.", '"beth0"', None)], "pass", "cabling.link"),
        ([("z01-r001-h1.other.domain", "beth0", None)], "pass", "cabling.link"),
        ([("z01-r001-h1", "0c:42:a1:d2:00:01", "beth0")], "pass", "cabling.link"),
        ([(None, "0c42.a1d2.0001", None), ("z01-r001-h1", "beth0", None)], "pass", "cabling.link"),
        ([("z01-r001-h1", "0c42a1d20001", None)], "unknown", "cabling.link"),
        ([("z01-r001-h1", "0c42a1d20001", "slot 3, to the fabric")], "unknown", "cabling.link"),
        ([("z01-r001-h1", "beth1", None)], "fail", "cabling.swap"),
        ([("z01-r001-h2", "beth7", None)], "fail", "cabling.wrong-device"),
        ([("gpu99", "beth0", None)], "fail", "cabling.wrong-device"),
        ([(None, None, None)], "fail", "cabling.wrong-device"),
        ([("z01-rtsw002", "Eth2/1/1", None)], "fail", "cabling.wrong-device"),
    ],
)  # fmt: skip
def test_spellings(
    lab: Fabric, rows: list[tuple[str | None, str | None, str | None]], verdict: str, check: str
) -> None:
    neighbors = [
        LldpNeighbor("eth2/1/1", name, port, description, "0c42.a1d2.0001") for name, port, description in rows
    ]
    (found,) = heard(Simulated(lab), *neighbors)
    assert (found.verdict, found.check) == (verdict, check)


@pytest.mark.parametrize("described", [None, "eth8_1_1", "to the spine"])
def test_switch_that_names_no_port_is_found_by_what_it_hears(lab: Fabric, described: str | None) -> None:
    """The far end says a MAC address for its port; on a right cable and on a crossed one."""

    class Unnamed(Simulated):
        def neighbor(self, port: str, far: tuple[str, str]) -> LldpNeighbor:
            made = super().neighbor(port, far)
            mac = replace(made, port_id="26:4c:72:19:35:d1", port_description=described)
            return mac if far in (R1C1, R2C1) else made

    assert not named(judged(Unnamed(lab)))
    crossed = Unnamed(lab)
    crossed.swap(C1R1, C1R2)
    assert named(judged(crossed)) == {("swap", "z01-ctsw01:Ethernet3/1/1 and z01-ctsw01:Ethernet3/2/1")}
    index = Unnamed(lab)
    index.extra[C1R1] = [LldpNeighbor(C1R1[1], "z01-rtsw001", "513", None, None)]
    index.deaf.add(C1R1)
    assert not named(judged(index))


def test_planned_front_end_and_shut_down_ports_are_left_alone() -> None:
    changes = {
        "state": [
            {"match": {"name": "z02-rtsw002"}, "state": "planned"},
            {"match": {"name": "z01-r001-h1"}, "state": "planned"},
        ]
    }
    fabric = design(ClusterSpec.model_validate(edited("lab", changes)))
    sim = Simulated(fabric)
    front = fabric.zones[1].ports.front_end
    assert front is not None
    for port in (front.name, "eth2/1/1"):
        sim.extra["z01-rtsw001", port] = [LldpNeighbor(port, "rsw9", "eth1", None, None)]
    sim.off.add(C1R1)
    findings = judged(sim)
    assert not named(findings)
    assert named(findings, "unknown") == {("link", "z01-ctsw01:Ethernet3/1/1 <-> z01-rtsw001:eth8/1/1")}
