"""Every refusal of ACLs and actions: the minimal configuration, one change, the expected problem."""

from __future__ import annotations

import pytest

from tests.targets.fboss_minimal import DELETE, Row, assert_problem, row, silent

ACL = "sw.aclTableGroups.0.aclTables.0.aclEntries.0"
ROW = "sw.dataPlaneTrafficPolicy.matchToAction.0"


ACLS = [
    row("sw.aclTableGroups", "is needed", ("sw.aclTableGroups", [])),
    row("sw.aclTableGroups.1.stage", "two table groups for stage 0", ("sw.aclTableGroups.+", {"name": "two"})),
    silent("sw.acls", "is ignored", ("sw.acls", [{"name": "x", "proto": 6}])),
    silent("sw.aclTableGroups.0", "is ignored", ("defaultCommandLineArgs.enable_acl_table_group", "false")),
    row(ACL, "needs at least one matcher", (f"{ACL}.proto", DELETE)),
    row(
        "sw.aclTableGroups.0.aclTables.0.aclEntries.1.name",
        "'roce' is declared twice",
        ("sw.aclTableGroups.0.aclTables.0.aclEntries.+", {"name": "roce", "proto": 6}),
    ),
    row(f"{ACL}.srcIp", "'x/8' is not a prefix", (f"{ACL}.srcIp", "x/8")),
    row(f"{ACL}.dstIp", "is not a prefix", (f"{ACL}.dstIp", "")),
    row(f"{ACL}.dstMac", "is not a MAC", (f"{ACL}.dstMac", "x")),
    row(f"{ACL}.dstIpV6Word3", "wider than 32 bits", (f"{ACL}.dstIpV6Word3", 1 << 32)),
    row(f"{ACL}.dstIpV6Word2", "excludes dstIp", (f"{ACL}.dstIpV6Word2", 1), (f"{ACL}.dstIp", "::/0")),
    row(f"{ACL}.l4SrcPort", "65536 is outside", (f"{ACL}.l4SrcPort", 65536)),
    row(f"{ACL}.l4DstPort", "-1 is outside", (f"{ACL}.l4DstPort", -1)),
    row(f"{ACL}.l4DstPortRange", "9..8 is not a range", (f"{ACL}.l4DstPortRange", {"minimum": 9, "maximum": 8})),
    row(
        f"{ACL}.l4DstPortRange",
        "excludes l4DstPort",
        (f"{ACL}.l4DstPortRange", {"maximum": 8}),
        (f"{ACL}.l4DstPort", 1),
    ),
    row(f"{ACL}.icmpCode", "needs icmpType", (f"{ACL}.icmpCode", 1)),
    row(f"{ACL}.icmpType", "256 is outside 0..255", (f"{ACL}.icmpType", 256)),
    row(f"{ACL}.icmpType", "needs proto 1 (ICMP) or 58", (f"{ACL}.icmpType", 8)),
    row(f"{ACL}.ttl.value", "256 is outside", (f"{ACL}.ttl", {"value": 256})),
    row(f"{ACL}.ttl.mask", "-1 is outside", (f"{ACL}.ttl", {"value": 1, "mask": -1})),
    row(f"{ACL}.udfGroups", "must not be empty", (f"{ACL}.udfGroups", [])),
    row(f"{ACL}.udfGroups.0", "no UDF group 'x'", (f"{ACL}.udfGroups", ["x"])),
    row(f"{ACL}.udfTable.0.udfGroup", "no UDF group 'x'", (f"{ACL}.udfTable", [{"udfGroup": "x"}])),
    row(f"{ROW}.matcher", "there is no ACL 'x'", (f"{ROW}.matcher", "x")),
    row(
        "sw.cpuTrafficPolicy.trafficPolicy.matchToAction.0.matcher",
        "there is no ACL 'x'",
        ("sw.cpuTrafficPolicy.trafficPolicy.matchToAction", [{"matcher": "x"}]),
    ),
    row(f"{ROW}.action.counter", "'x' is not in trafficCounters", (f"{ROW}.action.counter", "x")),
    row(f"{ROW}.action.ingressMirror", "no mirror 'x'", (f"{ROW}.action.ingressMirror", "x")),
    silent(
        f"{ROW}.action.flowletAction",
        "flowletSwitchingEnable",
        ("defaultCommandLineArgs.flowletSwitchingEnable", DELETE),
    ),
]


@pytest.mark.parametrize("case", [*ACLS])
def test_one_change_one_problem(case: Row) -> None:
    assert_problem(case)
