"""Same changes found over ports and over devices; names chosen and written short."""

from __future__ import annotations

import pytest

from fabric.change.abstract import Abstracter, collapse, group_key
from fabric.change.diff_model import Change
from fabric.change.names import compress_names, select_devices
from fabric.errors import FabricError
from fabric.targets.base import DeviceRef

ABSTRACT = Abstracter(frozenset({"z01-rtsw001", "z01-ctsw01", "host7"}))


@pytest.mark.parametrize(
    ("line", "abstract"),
    [
        ("+    description z01-rtsw001:Ethernet2/1/1", "+    description <name>:<port>"),
        ("+    description z01-rtsw001.dc1.example.net eth2/1/1", "+    description <name> <port>"),
        ("-    ip address 10.0.0.1/31", "-    ip address <addr>"),
        ("+    ipv6 address 2001:db8:1::/127", "+    ipv6 address <addr>"),
        ("+ x ::1 fe80::1", "+ x <addr> <addr>"),
        ("+ mac 00:1c:73:00:00:01 001c.7300.0001", "+ mac <mac> <mac>"),
        ("+    neighbor 10.0.0.1 remote-as 4200000001", "+    neighbor <addr> remote-as <asn>"),
        ("- router bgp 65001", "- router bgp <asn>"),
        ("~ peers[10.0.0.1].remote_as_4_byte: 65001 -> 65002", "~ peers[<addr>].remote_as_4_byte: <asn>"),
        ("+ set community 65000:100 additive", "+ set community 65000:100 additive"),
        ("+ mtu 9214", "+ mtu 9214"),
        ("+ route-map RM-RTSW-IN permit 10", "+ route-map RM-RTSW-IN permit 10"),
    ],
)
def test_abstraction(line: str, abstract: str) -> None:
    assert ABSTRACT.text(line) == abstract


def mtu(port: str, value: int) -> Change:
    return Change((f"-    mtu {value}", "+    mtu 9214"), port, (f"  interface {port}",))


def test_the_same_over_ports_is_one() -> None:
    changes = [mtu("Ethernet1/1", 1500), mtu("Ethernet1/2", 1500), mtu("Ethernet1/3", 9000), mtu("Ethernet1/4", 1500)]
    found = collapse(changes, ABSTRACT)
    assert [(item.count, item.subjects) for item in found] == [
        (3, ("Ethernet1/1", "Ethernet1/2", "Ethernet1/4")),
        (1, ("Ethernet1/3",)),
    ]


def test_a_number_is_not_taken_for_its_own_subject() -> None:
    weights = [Change((f"~ queues[{i}].weight: 1 -> {i}",), str(i)) for i in (3, 4)]
    assert [item.count for item in collapse(weights, ABSTRACT)] == [1, 1]
    alike = [Change((f"~ queues[{i}].weight: 1 -> 9",), str(i)) for i in (3, 4)]
    assert [item.count for item in collapse(alike, ABSTRACT)] == [2]


def key(*changes: Change) -> str:
    return group_key([("/x", "changed", collapse(changes, ABSTRACT))], ABSTRACT)


def test_devices_group_by_ports_but_not_by_addresses() -> None:
    peer = [
        Change((f"+    neighbor {a} remote-as {n}",), a, ("  router bgp 1",))
        for a, n in (("10.0.0.1", 7), ("10.9.0.3", 8))
    ]
    assert key(peer[0]) == key(peer[1])
    assert key(mtu("Ethernet1/1", 1)) != key(mtu("Ethernet1/2", 1))
    assert key(mtu("Ethernet1/1", 1)) != key(mtu("Ethernet1/1", 2))
    assert key(mtu("Ethernet1/1", 1)) != key(mtu("Ethernet1/1", 1), mtu("Ethernet1/2", 1))


@pytest.mark.parametrize(
    ("names", "short"),
    [
        ([], ""),
        (["a"], "a"),
        ([f"z{z:02}-rtsw{i:03}" for z in range(1, 9) for i in range(1, 193)], "z01..08-rtsw001..192"),
        (["r1", "r2", "r4", "r10", "r09"], "r1..2, r4, r09..10"),
        (["z1-r1", "z1-r2", "z2-r1", "z2-r3"], "z1-r1..2, z2-r1, z2-r3"),
        ([f"a{i * 2}" for i in range(12)], "a0, a2, a4, a6, a8, a10, a12, a14, ... and 4 more"),
        (["x-9", "x-10"], "x-9, x-10"),
    ],
)
def test_short_names(names: list[str], short: str) -> None:
    assert compress_names(names) == short


DEVICES = [DeviceRef(name, "rtsw", "fboss") for name in ("z1-rtsw1", "z1-rtsw2", "z2-rtsw1")]


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        (["z1-*"], ["z1-rtsw1", "z1-rtsw2"]),
        (["z2-rtsw1", "z1-rtsw1"], ["z1-rtsw1", "z2-rtsw1"]),
        (["*"], [d.name for d in DEVICES]),
    ],
)
def test_selection(patterns: list[str], chosen: list[str]) -> None:
    assert [device.name for device in select_devices(DEVICES, patterns)] == chosen


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (
            "z1-rtws1",
            "--device 'z1-rtws1' matches none of 3 devices (hint: did you mean z1-rtsw1, z2-rtsw1, z1-rtsw2?)",
        ),
        ("*q*", "--device '*q*' matches none of 3 devices (hint: names look like z1-rtsw1, z1-rtsw2, z2-rtsw1)"),
    ],
)
def test_a_pattern_that_matches_none(pattern: str, message: str) -> None:
    with pytest.raises(FabricError) as refused:
        select_devices(DEVICES, ["z1-*", pattern])
    assert str(refused.value) == message
