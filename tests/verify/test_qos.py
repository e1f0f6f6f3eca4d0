"""QoS: what is rendered is read as declared; drift on one switch is named, and only there."""

from __future__ import annotations

from typing import Any

import pytest

from fabric.design.build import design
from fabric.design.fabric import Fabric
from fabric.spec.cluster import ClusterSpec
from fabric.targets.facts import Version
from fabric.verify.finding import Finding
from fabric.verify.observed import Observed
from fabric.verify.qos import judge_qos, read_qos
from fabric.verify.qos_reading import UnreadableError
from tests.conftest import edited
from tests.verify.simulated import Simulated


def made(changes: dict[str, Any], inventory: str = "lab") -> Fabric:
    return design(ClusterSpec.model_validate(edited(inventory, changes)))


SMALL_24K = {"backend.zones": [{"id": "1-2", "racks": 3, "rack_profile": "grand-teton"}]}
SMALL_WEDGE = {"backend.zones": [{"id": 1, "racks": 2, "rack_profile": "wedge400"}]}
SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "lab": ("lab", {}),
    "ecn": ("lab", {"qos": {"ecn": {"min_bytes": 1_000_000, "max_bytes": 2_000_000, "probability": 50}}}),
    "no watchdog, no monitoring": ("lab", {"qos": {"pfc_watchdog": None, "monitoring": None}}),
    "watchdog only reports": ("lab", {"qos": {"pfc_watchdog": {"detect_ms": 300, "recover_ms": 500, "action": "none"}}}),
    "other classes": (
        "lab",
        {"qos": {"lossless": {"dscp": ["24-31"], "traffic_class": 3, "queue": 3, "pfc_priority": 3, "weight": 60},
                 "monitoring": {"dscp": [8], "traffic_class": 1, "queue": 4, "weight": 10}}},
    ),
    "mtu": ("lab", {"mtu": {"ip": 8000, "frame": 9412}}),
    "drained and planned": (
        "lab",
        {"state": [{"match": {"name": "z01-ctsw01"}, "state": "drained"}, {"match": {"name": "z02-rtsw002"}, "state": "planned"}]},
    ),
    "native": ("lab", {"fboss": {"sdk": "native"}}),
    "24k": ("roce-24k", SMALL_24K),
}  # fmt: skip


def qos(sim: Simulated) -> list[Finding]:
    return judge_qos(sim.fabric, sim.facts(qos=True))


@pytest.mark.parametrize("shape", SHAPES)
def test_rendered_is_read_as_declared(shape: str) -> None:
    inventory, changes = SHAPES[shape]
    findings = qos(Simulated(made(changes, inventory)))
    assert [f for f in findings if f.verdict != "pass"] == []
    assert len(findings) > 6


LAB = made({"qos": {"ecn": {"min_bytes": 1_000_000, "max_bytes": 2_000_000}}})
EOS, FBOSS = "z02-rtsw001", "z01-rtsw001"
ECN_LINE = "      random-detect ecn minimum-threshold 1000 kbytes maximum-threshold 2000 kbytes max-mark-probability 100 weight 0\n"


@pytest.mark.parametrize(
    ("name", "old", "new", "check", "measured"),
    [
        (EOS, "priority-flow-control priority 2 no-drop", "priority-flow-control priority 3 no-drop", "pfc",
         "PFC without loss on priority 3"),
        (EOS, "   priority-flow-control on\n", "", "pfc", "PFC without loss on priority none"),
        (EOS, "   qos trust dscp\n", "", "pfc", "PFC without loss on priority none"),
        (EOS, ECN_LINE, "", "ecn", "queue 2: no ECN"),
        (EOS, ECN_LINE, ECN_LINE.replace("2000 kbytes", "5 mbytes"), "ecn", "queue 2: ECN from 1,000,000 to 5,000,000 bytes, 100 %"),
        (EOS, "bandwidth percent 80", "bandwidth percent 70", "scheduling", "queue 2 with weight 70"),
        (EOS, "pause watchdog port timer timeout 0.2", "pause watchdog port timer timeout 0.5", "watchdog",
         "watchdog of the ports: 500 ms, 400 ms, drop"),
        (EOS, "priority-flow-control pause watchdog action drop", "priority-flow-control pause watchdog action notify-only", "watchdog",
         "watchdog global: 200 ms, 400 ms, none"),
        (EOS, "qos map traffic-class 2 to tx-queue 2", "qos map traffic-class 2 to tx-queue 3", "class", "traffic class 2 in queue 3"),
        (EOS, "interface Ethernet8/1/1\n   description z02-ctsw01:Ethernet3/1/1\n   mtu 9000",
         "interface Ethernet8/1/1\n   description z02-ctsw01:Ethernet3/1/1", "mtu", "IP MTU 1,500 on Ethernet8/1/1"),
        (EOS, "ipv6 address 2001:db8:1::41/127\n   service-profile ROCE", "ipv6 address 2001:db8:1::41/127", "pfc",
         "no lossless settings on Ethernet8/1/1"),
        (FBOSS, '"fromDscpToTrafficClass": [50, 51', '"fromDscpToTrafficClass": [51', "class", "DSCP 50 in no known traffic class"),
        (FBOSS, '"minimumLength": 1000000', '"minimumLength": 1500000', "ecn", "queue 2: ECN from 1,500,000 to 2,000,000 bytes, 100 %"),
        (FBOSS, '"weight": 80', '"weight": 8', "scheduling", "queue 2 with weight 8"),
        (FBOSS, '"detectionTimeMsecs": 200', '"detectionTimeMsecs": 10', "watchdog", "watchdog of the ports: 10 ms, 400 ms, drop"),
        (FBOSS, '"trafficClassToPgId": {"0": 0, "2": 2', '"trafficClassToPgId": {"0": 0, "2": 0', "class",
         "traffic class 2 in priority group 0"),
    ],
)  # fmt: skip
def test_drift_is_named(name: str, old: str, new: str, check: str, measured: str) -> None:
    sim = Simulated(LAB)
    sim.edits[name] = (old, new)
    failed = [f for f in qos(sim) if f.verdict == "fail"]
    assert [(f.check, f.subject, f.measured) for f in failed] == [(f"qos.{check}", name, measured)]


def test_odd_one_out_of_a_tier_is_named() -> None:
    fabric = made(SMALL_24K, "roce-24k")
    sim = Simulated(fabric)
    sim.edits["z01-rtsw002"] = ('"headroomLimitBytes": 548640', '"headroomLimitBytes": 548641')
    sim.images["z02-ctsw05"] = "4.29.9M"
    failed = {(f.check, f.subject) for f in qos(sim) if f.verdict == "fail"}
    assert failed == {("qos.buffers-equal", "z01-rtsw002"), ("qos.image-equal", "z02-ctsw05")}


def test_without_a_majority_nobody_is_blamed() -> None:
    sim = Simulated(LAB, images={"atsw001": "4.29.9M"})
    (found,) = [f for f in qos(sim) if f.verdict == "fail"]
    assert (found.check, found.subject) == ("qos.image-equal", "atsw arista-7804r3 (eos)")
    assert "4.29.9M on atsw001" in found.measured
    assert "4.30.1F on atsw002" in found.measured


@pytest.mark.parametrize(
    ("image", "verdict"), [("4.31.2F", "pass"), ("4.31.2F-1234.4312F (engineering build)", "pass"), ("4.30.1F", "fail")]
)
def test_declared_image(image: str, verdict: str) -> None:
    fabric = made({"overrides": [{"match": {"name": "atsw001"}, "set": {"image": "4.31.2F"}}]})
    found = [f for f in qos(Simulated(fabric, images={"atsw001": image})) if f.check == "qos.image"]
    assert [(f.subject, f.verdict) for f in found] == [("atsw001", verdict)]


def test_unknown_image_and_unread_configuration_are_unknown() -> None:
    network = dict(Simulated(LAB).facts(qos=True))
    network[EOS] = Observed(EOS, version=Version(EOS, None, None, None), errors={"configuration": "no answer in 30 s"})
    found = [f for f in judge_qos(LAB, network) if f.verdict != "pass"]
    assert [(f.check, f.verdict, f.measured) for f in found] == [
        ("qos.class", "unknown", "no answer in 30 s"), ("qos.image", "unknown", "the device does not say its image"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [None, b"", b"{}", b'{"sw": 3}', b'{"sw": {"ports": [3]}}', b"[" * 100_000, b"\xff\xfe",
     b'{"sw": {"ports": [{"name": "eth2/1/1", "pfc": 4}]}}'],
)  # fmt: skip
def test_garbage_is_unreadable(content: bytes | None) -> None:
    for name in (EOS, FBOSS):
        with pytest.raises(UnreadableError):
            read_qos(LAB, LAB.by_name[name], content)


def test_huge_range_in_a_configuration() -> None:
    with pytest.raises(UnreadableError):
        read_qos(LAB, LAB.by_name[EOS], b"interface Ethernet1\nqos map dscp 0-999999999 to traffic-class 1\n")
