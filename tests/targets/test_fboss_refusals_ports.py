"""Every refusal of ports: the minimal configuration, one change, the expected problem."""

from __future__ import annotations

import pytest

from tests.targets.fboss_minimal import DELETE, Change, Row, assert_problem, row, silent

PORT = "sw.ports.0"
SAI: Change = ("sw.sdkVersion", {"saiSdk": "sai"})


PORTS = [
    row(f"{PORT}.logicalID", "testbox has no port 9", (f"{PORT}.logicalID", 9)),
    row(f"{PORT}.profileID", "testbox has no profile 23", (f"{PORT}.profileID", 23)),
    row(f"{PORT}.profileID", "eth1/1/1 does not offer profile 26 (it has 22, 24, 35)", (f"{PORT}.profileID", 26)),
    row(f"{PORT}.speed", "200000 is not the 100000 of profile 22", (f"{PORT}.profileID", 22)),
    row(
        "sw.ports.2.state",
        "port 2 is subsumed by port 1 with profile 35: it must not be enabled",
        (f"{PORT}.profileID", 35),
        (f"{PORT}.speed", 400000),
        ("sw.ports.+", {"logicalID": 2, "state": 2, "profileID": 24, "speed": 200000}),
        ("sw.vlanPorts.+", {"vlanID": 4001, "logicalPort": 2}),
    ),
    row(
        "sw.ports.2",
        "leave it out under SAI",
        (f"{PORT}.profileID", 35),
        (f"{PORT}.speed", 400000),
        ("sw.ports.+", {"logicalID": 2, "state": 1, "profileID": 24}),
        SAI,
        level="warning",
    ),
    silent(
        "sw.ports.2.state",
        "port 6 uses lanes of port 5",
        ("sw.ports.1.profileID", 35),
        ("sw.ports.1.speed", 400000),
        ("sw.ports.+", {"logicalID": 6, "state": 2, "profileID": 24, "speed": 200000}),
        ("sw.vlanPorts.+", {"vlanID": 4001, "logicalPort": 6}),
    ),
    silent(f"{PORT}.name", "'eth1/2/1' is the name of port 5; port 1 is eth1/1/1", (f"{PORT}.name", "eth1/2/1")),
    silent(f"{PORT}.name", "'eth99' is not a port of testbox", (f"{PORT}.name", "eth99")),
    row(f"{PORT}.portType", "no queues for port type 1", (f"{PORT}.portType", 1)),
    row(f"{PORT}.drainState", "only interface and fabric", (f"{PORT}.portType", 4), (f"{PORT}.drainState", 1)),
    row(f"{PORT}.selfHealingECMPLagEnable", "selfHealingEcmpLagConfig", (f"{PORT}.selfHealingECMPLagEnable", True)),
    row(f"{PORT}.portDownHoldoffTimeMs", "negative", (f"{PORT}.portDownHoldoffTimeMs", -1)),
    row(f"{PORT}.portUpHoldoffTimeMs", "negative", (f"{PORT}.portUpHoldoffTimeMs", -1)),
    row(f"{PORT}.llrConfigName", "TOMAHAWK3 has no link-layer retry", (f"{PORT}.llrConfigName", "x")),
    row(f"{PORT}.portQueueConfigName", "'x' is not in portQueueConfigs", (f"{PORT}.portQueueConfigName", "x")),
    row(f"{PORT}.flowletConfigName", "'x' is not in portFlowletConfigs", (f"{PORT}.flowletConfigName", "x")),
    row(f"{PORT}.pfc", "PAUSE and PFC are both on", (f"{PORT}.pause.tx", True)),
    row(f"{PORT}.pfc.watchdog", "needs a portPgConfigName", (f"{PORT}.pfc.portPgConfigName", "")),
    row(f"{PORT}.pfc.portPgConfigName", "'x' is not in portPgConfigs", (f"{PORT}.pfc.portPgConfigName", "x")),
    row(f"{PORT}.pfc.portPgConfigName", "there are no portPgConfigs", ("sw.portPgConfigs", DELETE)),
    row(
        "sw.ports.1.pfc.watchdog.recoveryAction",
        "differs from that of sw.ports[0]",
        ("sw.ports.1.pfc.watchdog.recoveryAction", 1),
    ),
    row(f"{PORT}.ingressMirror", "there is no mirror 'x'", (f"{PORT}.ingressMirror", "x")),
    row(f"{PORT}.egressMirror", "there is no mirror 'x'", (f"{PORT}.egressMirror", "x")),
    row(
        f"{PORT}.sFlowEgressRate",
        "egress sampling",
        (f"{PORT}.sampleDest", 1),
        (f"{PORT}.ingressMirror", "sflow"),
        (f"{PORT}.sFlowEgressRate", 1),
    ),
    row(f"{PORT}.sampleDest", "MIRROR needs ingressMirror", (f"{PORT}.sampleDest", 1)),
    row(
        "sw.ports.1.ingressMirror",
        "samples to 'two', sw.ports[0] to 'sflow'",
        ("sw.mirrors.+", {"name": "two", "destination": {"egressPort": {"logicalID": 1}}}),
        (f"{PORT}.sampleDest", 1),
        (f"{PORT}.ingressMirror", "sflow"),
        ("sw.ports.1.sampleDest", 1),
        ("sw.ports.1.ingressMirror", "two"),
    ),
]


@pytest.mark.parametrize("case", [*PORTS])
def test_one_change_one_problem(case: Row) -> None:
    assert_problem(case)
