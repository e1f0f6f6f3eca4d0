"""What single flows printed, as measurements and clues with names of cables and ports."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from fabric.design.seats import Seating, load_seating
from fabric.verify.collectives.flows import address, read_flows
from fabric.verify.collectives.looks import looks
from fabric.verify.collectives.model import Clue, Measurement
from fabric.verify.collectives.node import paths
from fabric.verify.collectives.stages import Group, rounds

SPEC = Path(__file__).parents[3] / "inventories" / "lab" / "cluster.yaml"
ONE, OTHER = "z01-r001-h1", "z01-r002-h1"
TRUNKS = ("z01-ctsw01:Ethernet3/1/1 <-> z01-rtsw001:eth8/1/1", "z01-ctsw01:Ethernet3/2/1 <-> z01-rtsw002:eth8/1/1")


@pytest.fixture(scope="module")
def seating() -> Seating:
    return load_seating(SPEC)


@pytest.fixture(scope="module")
def hops(seating: Seating) -> list[str]:
    """Up by the first trunk and down by the second: each switch answers from where the packet came in."""
    up, down = (next(trunk for trunk in seating.trunks if trunk.name == name) for name in TRUNKS)
    from fabric.design.ip import fmt4

    assert up.a4 is not None and down.b4 is not None
    return ["10.128.0.0", fmt4(up.a4), fmt4(down.b4)]


def told(*lines: dict[str, Any]) -> str:
    return "".join(f"[1,0]<stdout>:paths: {json.dumps(line)}\n" for line in lines)


def read(seating: Seating, text: str) -> tuple[list[Measurement], list[Clue]]:
    found = list(read_flows(seating, Group("paths", "path", (ONE, OTHER), (0,)), text, "run"))
    return [one for one in found if isinstance(one, Measurement)], [one for one in found if isinstance(one, Clue)]


def test_a_flow_has_the_trunks_of_its_way_and_its_rates(seating: Seating, hops: list[str]) -> None:
    way = {"flow": 49152, "hops": hops, "arrived": True, "full": True}
    rate = {"flow": 49152, "run": 1, "sent": 3, "packets": 3, "bytes": 1_000_000, "seconds": 0.5}
    (flow,), clues = read(seating, told(way, rate))
    assert (flow.state, flow.values, flow.trunks, clues) == ("ok", (0.002,), TRUNKS, [])


def test_a_way_with_a_silent_hop_is_not_known(seating: Seating, hops: list[str]) -> None:
    way = {"flow": 49152, "hops": [hops[0], "", hops[2]], "arrived": True, "full": True}
    (flow,), _ = read(seating, told(way, {"flow": 49152, "run": 1, "packets": 2, "sent": 2, "bytes": 10, "seconds": 1}))
    assert flow.trunks == ()


@pytest.mark.parametrize(
    ("reached", "big", "where"),
    [
        (0, None, "z01-rtsw001:eth2/1/1"),
        (1, None, "z01-ctsw01:Ethernet3/1/1"),
        (2, None, "z01-rtsw002:eth8/1/1"),
        (3, None, f"{OTHER}:beth0"),
        (0, 0, "z01-rtsw001:eth8/1/1"),
        (2, 2, "z01-rtsw002:eth2/1/1"),
    ],
)
def test_the_port_where_large_packets_end_is_named(
    seating: Seating, hops: list[str], reached: int, big: int | None, where: str
) -> None:
    way: dict[str, Any] = {"flow": 1, "hops": hops, "arrived": True, "full": False, "full_hops": hops[:reached]}
    if big is not None:
        way.update(big_at=hops[big], big_mtu=1500)
    (flow,), (clue,) = read(seating, told(way))
    assert (flow.state, clue.kind, clue.where) == ("broken", "mtu", where)


def test_a_nic_in_another_port_is_crossed(seating: Seating) -> None:
    heard = {"nic": "beth0", "system": "z01-rtsw001.lab.example.net", "port": "eth2/3/1"}
    (flow,), (clue,) = read(seating, told({"flow": 1, "hops": [], "arrived": False}, heard))
    assert (flow.state, clue.kind, clue.where, clue.peer) == (
        "broken",
        "crossed",
        f"{ONE}:beth0",
        "z01-rtsw001:eth2/3/1",
    )
    _, clues = read(seating, told({"flow": 1, "hops": [], "arrived": False}, {**heard, "port": "eth2/1/1"}))
    assert clues == []


@pytest.mark.parametrize(
    "text", ["", "no such program\n", 'paths: {"flow": 1, "ho', "paths: {}\n", "paths: {nonsense}\n"]
)
def test_without_a_result_it_was_not_made(seating: Seating, text: str) -> None:
    (flow,), clues = read(seating, text)
    assert (flow.state, clues) == ("unmade", [])


def test_a_result_cut_at_any_byte_is_no_traceback_and_no_other_number(seating: Seating, hops: list[str]) -> None:
    way = {"flow": 49152, "hops": hops, "arrived": True, "full": True}
    text = told(way, {"flow": 49152, "run": 1, "sent": 3, "packets": 3, "bytes": 1_000_000, "seconds": 0.5})
    for length in range(len(text)):
        flows, _ = read(seating, text[:length])
        assert all(value == 0.002 for flow in flows for value in flow.values)


def test_flows_go_from_under_every_switch_and_no_host_sends_or_receives_twice(seating: Seating) -> None:
    made = rounds("paths", ("path",), seating.by_host)
    assert len(made) == 2
    for one in made:
        assert {seating.by_host[group.hosts[0]][0].switch for group in one} == {
            s[0].switch for s in seating.by_host.values()
        }
        for end in (0, 1):
            assert len({group.hosts[end] for group in one}) == len(one)


def test_where_runs_broke_off_every_rail_is_looked_at_once_in_both_directions(seating: Seating) -> None:
    broken = [
        Measurement("pairs", "all_gather", (ONE, "z01-r001-h2"), state="broken"),
        Measurement("retest", "all_gather", (OTHER, ONE), state="broken"),
    ]
    groups = looks(broken, (), seating.by_host, ())
    assert {group.hosts for group in groups} == {(ONE, OTHER), (OTHER, ONE)}
    assert sorted(group.rails[0] for group in groups) == sorted([*range(8), *range(8)])
    assert {g.hosts for g in looks(broken, (), seating.by_host, {(ONE, OTHER)})} == {
        (ONE, "z01-r001-h2"),
        ("z01-r001-h2", ONE),
    }
    known = [
        Clue("port-error", f"{OTHER}:beth0", "it had no link"),
        Clue("mtu", "z01-rtsw001:eth3/1/1", "refused", "z01-r001-h2:beth0"),
    ]
    assert looks(broken, known, seating.by_host, ()) == ()


def test_lldp_is_read() -> None:
    def tlv(kind: int, value: bytes) -> bytes:
        return (kind << 9 | len(value)).to_bytes(2, "big") + value

    frame = tlv(1, b"\x04abcdef") + tlv(2, b"\x05eth2/1/1") + tlv(3, b"\x00\x78") + tlv(5, b"z01-rtsw001") + tlv(0, b"")
    assert paths.lldp(frame) == {"port": "eth2/1/1", "system": "z01-rtsw001"}
    for length in range(len(frame)):
        assert paths.lldp(frame[:length]).keys() <= {"port", "system"}


def test_flows_between_two_addresses_of_this_machine(capfd: pytest.CaptureFixture[str]) -> None:
    import threading

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.2", 0))
        port = free.getsockname()[1]
    arguments = [
        "--from",
        "127.0.0.1",
        "--to",
        "127.0.0.2",
        "--flows",
        "1",
        "--repeats",
        "1",
        "--seconds",
        "0.05",
        "--port",
        str(port),
    ]
    receiver = threading.Thread(target=paths.main, args=([*arguments, "--rank", "1"],))
    receiver.start()
    assert paths.main([*arguments, "--rank", "0"]) == 0
    receiver.join(timeout=20)
    lines = [json.loads(line.removeprefix("paths: ")) for line in capfd.readouterr().out.splitlines()]
    assert lines[0]["arrived"] and lines[0]["full"] and lines[1]["packets"] > 0


def test_the_address_of_a_seat(seating: Seating) -> None:
    assert address(seating.by_host[ONE][0]) == "10.128.0.1"


def test_why_a_launcher_did_not_begin_is_in_its_box(seating: Seating) -> None:
    box = f"{'-' * 74}\nA call to mkdir failed:\n\n  Directory: /x\n{'-' * 74}\n"
    group = Group("paths", "path", (ONE, OTHER), (0,))
    for text, reason in ((box, "A call to mkdir failed:"), (f"{'-' * 9}\n", "it printed nothing"), ("a\nb\n", "b")):
        assert [one.reason for one in read_flows(seating, group, text) if isinstance(one, Measurement)] == [reason]


def test_one_flow_of_several_that_loses_large_packets_blames_no_mtu(seating: Seating) -> None:
    group = Group("paths", "path", (ONE, "z01-r001-h2"), (0,))
    fine = {"flow": 1, "hops": [""], "arrived": True, "full": True}
    lossy = {"flow": 2, "hops": [""], "arrived": True, "full": False, "full_hops": [""]}
    run = {"flow": 1, "run": 1, "bytes": 10**9, "seconds": 1.0}
    for lines, states, clues in (([fine, lossy, run], ["ok"], 0), ([lossy], ["broken"], 1)):
        found = list(read_flows(seating, group, "".join(f"paths: {json.dumps(line)}\n" for line in lines)))
        assert [one.state for one in found if isinstance(one, Measurement)] == states
        assert sum(isinstance(one, Clue) for one in found) == clues
