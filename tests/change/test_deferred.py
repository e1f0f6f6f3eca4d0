"""A change that both ends of a session need: deferred at the first end, seen to at the second, and looked at once more at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.change.deferred import Deferred, Ledger, expect, words
from fabric.change.events import Note, Step, WaveEnded, WaveStarted
from fabric.change.gates import Health, missing
from fabric.change.runs import load_run
from fabric.targets.ends import Ends, FarEnds, SessionEnd, Subnets
from fabric.targets.facts import BgpSession
from tests.change.fake_cluster import Cluster, job, results
from tests.change.fake_fleet import fails, refused

RTSW, CTSW, OTHER = "z01-rtsw001", "z01-ctsw01", "z01-rtsw002"
ONE, TWO = "Ethernet1/1", "Ethernet2/1"


def made(path: Path, cables: Mapping[str, FarEnds]) -> Cluster:
    """Devices whose cabled sessions are up while both ends have the same MTU, which the change sets to another."""
    cluster = Cluster(path / "state", job(9000, 2, 1), job(9100, 2, 1))
    cluster.new.cables = cluster.fleet.cables = cables
    return cluster.install()


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return made(tmp_path, {RTSW: {TWO: (CTSW, TWO)}, CTSW: {TWO: (RTSW, TWO)}})


def unhealthy(cluster: Cluster) -> list[str]:
    return [problem for event in cluster.events if isinstance(event, WaveEnded) for problem in event.problems]


def test_both_ends_change_and_the_session_is_up_again(cluster: Cluster) -> None:
    ended = cluster.apply()
    assert set(results(ended).values()) == {"done"}
    told = {e.device: e.detail for e in cluster.events if isinstance(e, Step) and e.step == "checking"}
    assert told == {RTSW: f"not waited for until {CTSW} is changed: BGP session to 2001:db8::1", CTSW: "", OTHER: ""}
    assert (unhealthy(cluster), [e.title for e in cluster.events if isinstance(e, WaveStarted)][-1]) == (
        [],
        "final gate",
    )
    record = load_run(cluster.state, "last")
    assert [d["far"] for d in record.devices[RTSW].deferred] == [CTSW]
    assert record.status == "complete"


def test_nothing_deferred_needs_no_final_gate(tmp_path: Path) -> None:
    cluster = made(tmp_path, {})
    cluster.apply()
    assert "final gate" not in [e.title for e in cluster.events if isinstance(e, WaveStarted)]


def test_a_session_that_is_not_touched_must_still_come_back(cluster: Cluster) -> None:
    cluster.fleet.faults = {RTSW: {"breaks-bgp"}}  # its session to 10.0.0.1
    ended = cluster.apply()
    assert ended[RTSW].result == "rolled-back"
    assert "10.0.0.1 was established and is idle" in ended[RTSW].detail
    assert {cluster.holds(name) for name in ended} == {"old"}


def test_a_session_that_does_not_come_up_fails_the_second_end(cluster: Cluster) -> None:
    cluster.fleet.faults = {CTSW: {"never-agrees"}}
    ended = cluster.apply()
    assert (ended[RTSW].result, ended[CTSW].result) == ("done", "rolled-back")
    assert "2001:db8::1 was established and is idle" in ended[CTSW].detail
    assert len(unhealthy(cluster)) == 1  # the first end, as the final gate sees it
    assert unhealthy(cluster)[0].startswith(f"{RTSW}: BGP session to 2001:db8::1")
    assert load_run(cluster.state, "last").status == "incomplete"


def test_a_far_end_that_the_run_does_not_come_to_is_told(cluster: Cluster) -> None:
    def hook(name: str, point: str) -> None:
        if (name, point) == (RTSW, "confirm"):
            cluster.control.interrupt()

    cluster.fleet.hook = hook
    assert cluster.apply()[RTSW].result == "done"
    assert unhealthy(cluster) == [f"{RTSW}: not waited for until {CTSW} is changed: BGP session to 2001:db8::1"]


def test_a_far_end_outside_the_run_is_waited_for(cluster: Cluster) -> None:
    plan = cluster.plan()
    alone = replace(plan, devices=tuple(device for device in plan.devices if device.name == RTSW))
    assert cluster.operator().apply(alone)[RTSW].result == "rolled-back"


def test_two_ends_in_one_wave_are_looked_at_after_it(tmp_path: Path) -> None:
    pair = ("z01-rtsw002", "z01-rtsw004")
    cluster = Cluster(tmp_path / "state", job(9000, 4, 1), job(9100, 4, 1))
    cluster.new.cables = cluster.fleet.cables = {pair[0]: {ONE: (pair[1], ONE)}, pair[1]: {ONE: (pair[0], ONE)}}
    cluster.install()
    ended = cluster.apply()
    assert set(results(ended).values()) == {"done"}
    assert unhealthy(cluster) == []


def test_a_device_that_is_cut_off_is_told(tmp_path: Path) -> None:
    cables = {RTSW: {ONE: (CTSW, ONE), TWO: (CTSW, TWO)}, CTSW: {ONE: (RTSW, ONE), TWO: (RTSW, TWO)}}
    cluster = made(tmp_path, cables)
    assert set(results(cluster.apply()).values()) == {"done"}
    assert [e.device for e in cluster.events if isinstance(e, Note) and "cut off" in e.text] == [RTSW]


@pytest.mark.parametrize("then", ["resume", "rollback"])
def test_a_run_that_stopped_between_the_two_ends(cluster: Cluster, then: str) -> None:
    cluster.fleet.hook = fails(CTSW, "stage", refused())
    assert cluster.apply()[CTSW].result == "failed"
    cluster.fleet.hook = lambda _name, _point: None
    cluster.control = type(cluster.control)()
    cluster.events.clear()
    if then == "rollback":
        cluster.operator().rollback("last")
        assert {cluster.holds(name) for name in cluster.new.files} == {"old"}
        return
    ended = cluster.operator().resume("last")
    assert ended[CTSW].result == "done"
    assert (unhealthy(cluster), load_run(cluster.state, "last").status) == ([], "complete")
    final = [e for e in cluster.events if isinstance(e, WaveStarted)][-1]
    assert (final.title, set(final.devices)) == ("final gate", set(cluster.new.files))


def end(asn: str = "1", port: str = ONE, remote: str = "2") -> SessionEnd:
    return SessionEnd(asn, remote, "", ("ipv4",), port)


LINK = ("up", "400")
EXPECT: dict[str, tuple[Ends, Ends, set[str], set[str]]] = {
    "nothing touched": (Ends({"10.0.0.1": end()}), Ends({"10.0.0.1": end()}), {"10.0.0.1"}, set()),
    "own AS": (Ends({"10.0.0.1": end()}), Ends({"10.0.0.1": end("9")}), {"10.0.0.1"}, {"10.0.0.1"}),
    "remote AS": (Ends({"10.0.0.1": end()}), Ends({"10.0.0.1": end(remote="9")}), {"10.0.0.1"}, {"10.0.0.1"}),
    "address": (Ends({"10.0.0.1": end()}), Ends({"10.0.0.9": end()}), {"10.0.0.1", "10.0.0.9"}, {"10.0.0.9"}),
    "address elsewhere": (Ends({"10.0.0.1": end()}), Ends({"10.0.0.9": end(port=TWO)}), {"10.0.0.1"}, set()),
    "one more family": (
        Ends({"10.0.0.1": end()}), Ends({"10.0.0.1": end(), "2001:db8::9": end()}), {"10.0.0.1"}, set(),
    ),
    "its link": (
        Ends({"10.0.0.1": end()}, {ONE: LINK}), Ends({"10.0.0.1": end()}, {ONE: ("up", "200")}), {"10.0.0.1"}, {"10.0.0.1", ONE},
    ),
    "a link that was down": (Ends({}, {TWO: LINK}), Ends({}, {TWO: ("up", "200")}), {"10.0.0.1"}, set()),
}  # fmt: skip


@pytest.mark.parametrize("case", EXPECT)
def test_what_a_change_touches(case: str) -> None:
    old, new, peers, touched = EXPECT[case]
    found = expect(Health(frozenset({"10.0.0.1"}), frozenset({ONE})), old, new)
    assert [set(found.peers), set(found.links), set(found.touched)] == [peers, {ONE}, touched]
    assert Health.of(found.data()) == found


def test_a_link_deferred_at_one_end_is_owed_at_the_other() -> None:
    ledger = Ledger(["a", "b"])
    health = Health(frozenset(), frozenset({ONE, TWO}), frozenset({ONE, TWO}))
    found = ledger.defer("a", health, Ends(), {ONE: ("b", "far"), TWO: ("host", "nic")})
    assert words(found) == f"not waited for until b is changed: link {ONE}"
    assert [Deferred.of(one.data()) for one in found] == found
    assert ledger.expected("a", health, Ends()).links == {TWO}
    assert ledger.expected("b", Health(frozenset(), frozenset()), Ends()).links == set()
    ledger.settle("a", changed=True)
    assert ledger.unfinished() == [f"a: {words(found)}"]
    assert ledger.expected("b", Health(frozenset(), frozenset()), Ends()).links == {"far"}
    ledger.settle("b", changed=False)
    assert ledger.expected("a", health, Ends()).links == {ONE, TWO}


def test_the_gate_tells_addresses_and_ports_apart() -> None:
    before = Health(frozenset({"10.0.0.1"}), frozenset({ONE}))
    assert missing(before, [], [], b"neighbor 10.0.0.11 remote-as 1\ninterface Ethernet1/10\n") == []
    assert len(missing(before, [BgpSession("10.0.0.2", 1, "idle", 0, 0, None)], [], b"neighbor 10.0.0.1 x\n")) == 1


def test_subnets() -> None:
    nets = Subnets(
        [("a", "10.0.0.0/31"), ("b", "10.0.0.2/31"), ("c", "2001:db8::1/127"), ("x", "dhcp"), ("d", "10.0.0.9/24")]
    )
    asked = ["10.0.0.1", "10.0.0.3", "2001:db8::", "10.0.0.77", "10.1.0.0", "x"]
    assert [nets.next_to(a)[0] for a in asked] == ["a", "b", "c", "d", "", ""]
