"""Every refusal of hashing, buffers, mirrors, flags and the SDK port map: the minimal configuration, one change, the expected problem."""

from __future__ import annotations

import pytest

from tests.targets.fboss_minimal import DELETE, Json, Row, assert_problem, row, silent

FLOWLET = "sw.flowletSwitchingConfig"
PG = "sw.portPgConfigs.pgs.1"


def _many_mirrors() -> list[Json]:
    return [{"name": f"m{n}", "destination": {"egressPort": {"logicalID": 1}}} for n in range(5)]


BUFFERS = [
    row(
        "sw.loadBalancers.1.id", "load balancer 1 is declared twice", ("sw.loadBalancers.+", {"id": 1, "algorithm": 1})
    ),
    row(
        "sw.loadBalancers.0.fieldSelection.udfGroups.0",
        "no UDF group 'x'",
        ("sw.loadBalancers.0.fieldSelection.udfGroups.0", "x"),
    ),
    row(
        "sw.udfConfig.udfGroups.qp.udfPacketMatcherIds.0",
        "no packet matcher 'x'",
        ("sw.udfConfig.udfGroups.qp.udfPacketMatcherIds.0", "x"),
    ),
    row("sw.udfConfig.udfGroups.qp.type", "aborts", ("sw.udfConfig.udfGroups.qp.type", DELETE)),
    silent("sw.udfConfig.udfGroups.qp.name", "is not the key 'qp'", ("sw.udfConfig.udfGroups.qp.name", "x")),
    row(
        f"{FLOWLET}.standbyInactivityIntervalUsecs",
        "needed with standbySwitchingMode",
        (f"{FLOWLET}.standbySwitchingMode", 1),
    ),
    row(
        f"{FLOWLET}.standbySwitchingMode",
        "needed with standbyFlowletTableSize",
        (f"{FLOWLET}.standbyFlowletTableSize", 1),
    ),
    row(f"{FLOWLET}.standbySwitchingMode", "must differ", (f"{FLOWLET}.standbySwitchingMode", 0)),
    row("sw.portPgConfigs.lossy", "9 PGs, at most 8", ("sw.portPgConfigs.lossy", [{"id": n % 8} for n in range(9)])),
    row(f"{PG}.id", "PG 8 is outside", (f"{PG}.id", 8)),
    row(f"{PG}.resumeBytes", "excludes resumeOffsetBytes", (f"{PG}.resumeBytes", 1), (f"{PG}.resumeOffsetBytes", 1)),
    row(f"{PG}.bufferPoolName", "'x' is not in bufferPoolConfigs", (f"{PG}.bufferPoolName", "x")),
    row(f"{PG}.bufferPoolName", "must not be empty", (f"{PG}.bufferPoolName", "")),
    row(
        f"{PG}.bufferPoolName",
        "'two', but sw.portPgConfigs.pgs[0] uses 'pool'",
        (f"{PG}.bufferPoolName", "two"),
        ("sw.bufferPoolConfigs.two", {"sharedBytes": 1, "headroomBytes": 2540}),
    ),
    row("sw.bufferPoolConfigs.pool.headroomBytes", "is needed", ("sw.bufferPoolConfigs.pool.headroomBytes", DELETE)),
    row(
        "sw.bufferPoolConfigs.pool",
        "33075119 B a memory (130218 cells), TOMAHAWK3 can use 130217",
        ("sw.bufferPoolConfigs.pool.sharedBytes", 130217 * 254 + 1 - 25400),
    ),
    silent(
        f"{PG}.headroomLimitBytes",
        "25401 is more than the 25400 of the whole pool",
        (f"{PG}.headroomLimitBytes", 25401),
    ),
    row(
        "sw.mirrors.1.name",
        "mirror 'sflow' is declared twice",
        ("sw.mirrors.+", {"name": "sflow", "destination": {"egressPort": {"name": "eth1/1/1"}}}),
    ),
    row("sw.mirrors", "5 mirrors, TOMAHAWK3 has 4", ("sw.mirrors", _many_mirrors())),
    row("sw.mirrors.0.destination", "needs an egress port or a tunnel", ("sw.mirrors.0.destination", {"ip": "::1"})),
    row(
        "sw.mirrors.0.destination.tunnel.sflowTunnel",
        "needs udpSrcPort and udpDstPort",
        ("sw.mirrors.0.destination.tunnel.sflowTunnel.udpSrcPort", DELETE),
    ),
    row(
        "sw.mirrors.0.destination.egressPort",
        "is not a configured port",
        ("sw.mirrors.0.destination", {"egressPort": {"logicalID": 2}}),
    ),
    row(
        "sw.mirrors.0.destination.egressPort",
        "is not a configured port",
        ("sw.mirrors.0.destination", {"egressPort": {"name": "x"}}),
    ),
    row(
        "sw.mirrors.0.destination.tunnel.sflowTunnel.ip",
        "is not an IP",
        ("sw.mirrors.0.destination.tunnel.sflowTunnel.ip", "x"),
    ),
    row("sw.mirrors.0.destination.tunnel.srcIp", "is not an IP", ("sw.mirrors.0.destination.tunnel.srcIp", "x")),
    row("sw.sFlowCollectors.0.ip", "is not an IP", ("sw.sFlowCollectors", [{"ip": "x"}])),
    row(
        "sw.sFlowCollectors.1",
        "collector 192.0.2.1 is declared twice",
        ("sw.sFlowCollectors", [{"ip": "192.0.2.1"}] * 2),
    ),
]

OTHERS = [
    silent(
        "defaultCommandLineArgs.flowletSwitchingEnabled",
        'did you mean "flowletSwitchingEnable"',
        ("defaultCommandLineArgs.flowletSwitchingEnabled", "true"),
    ),
    silent(
        "defaultCommandLineArgs.ecmp_width",
        "'-1' is not a value for a flag of type uint32",
        ("defaultCommandLineArgs.ecmp_width", "-1"),
    ),
    silent(
        "platform.chip.bcm.config.portmap_5",
        "'1:400:8' does not start at lane 13, where eth1/2/1 of testbox is",
        ("platform", {"chip": {"bcm": {"config": {"portmap_1": "1:400:8", "portmap_5": "1:400:8", "x": "y"}}}}),
    ),
]


@pytest.mark.parametrize("case", [*BUFFERS, *OTHERS])
def test_one_change_one_problem(case: Row) -> None:
    assert_problem(case)
