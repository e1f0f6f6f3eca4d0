"""The agent.conf check as a whole: what FBOSS takes passes, and so do the reference configurations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric.errors import FabricError
from fabric.targets.fboss.refusals_agent import agent_refusals, check_agent, flag_takes
from fabric.targets.fboss.wire import Raw
from tests.targets.fboss_minimal import (
    DELETE,
    Change,
    changed,
    minimal_agent,
    minimal_inventory,
    reference_inventory,
)

SET = "sw.switchSettings"
INFO = f"{SET}.switchIdToSwitchInfo"
PORT = "sw.ports.0"
INTF = "sw.interfaces.0"
ACL = "sw.aclTableGroups.0.aclTables.0.aclEntries.0"
SAI: Change = ("sw.sdkVersion", {"saiSdk": "sai"})

ALLOWED: list[list[Change]] = [
    [],
    [SAI],
    [("sw.defaultVlan", 0)],
    [(f"{INFO}.0.portIdRange", {"minimum": 0, "maximum": 0})],
    [(f"{INTF}.ndp.routerAddress", "fe80::7")],
    [("sw.interfaces.1.routerID", 1), ("sw.interfaces.1.ipAddresses.0", "10.0.0.1/31")],
    [(f"{ACL}.proto", 58), (f"{ACL}.icmpType", 135)],
    [("sw.ports.1.state", 1), ("sw.ports.1.speed", 0), ("sw.vlanPorts.1", DELETE)],
    [("sw.vlanPorts.0", DELETE), (f"{INTF}.type", 3), (f"{INTF}.portID", 1)],
    [("sw.portPgConfigs.lossy.0.bufferPoolName", "nowhere")],
    [("defaultCommandLineArgs.ecmp_width", "0x40")],
    [(f"{PORT}.description", None), ("sw.lacp", None), ("sw.vlans.0.intfID", None)],
    [("platform", {"chip": {"bcm": {"config": {"portmap_1": "1:400:8", "portmap_9": "5:100:4"}}}})],
]


@pytest.mark.parametrize("changes", ALLOWED)
def test_what_fboss_takes_is_no_problem(changes: list[Change]) -> None:
    assert check_agent(changed(minimal_agent(), changes), minimal_inventory(), "TOMAHAWK3") == []


def test_a_null_inventory_leaves_only_its_rules_out() -> None:
    conf = changed(minimal_agent(), [(f"{PORT}.name", "eth99"), ("sw.defaultVlan", 7)])
    assert [p.path for p in agent_refusals(conf, None, "TOMAHAWK3")] == ["sw.defaultVlan"]


def test_limits_follow_the_asic() -> None:
    asic6 = changed(minimal_agent(), [(f"{INFO}.0.asicType", 6), (f"{PORT}.pfc.watchdog.recoveryTimeMsecs", 450)])
    (problem,) = agent_refusals(asic6, minimal_inventory(), "TOMAHAWK4")
    assert problem.path == "sw.ports[0].pfc.watchdog.recoveryTimeMsecs"
    assert problem.message == "TOMAHAWK4 takes 100..1500 ms in steps of 100, not 450"
    with pytest.raises(FabricError, match="no limits are known for the FBOSS ASIC 'JERICHO3'"):
        agent_refusals(minimal_agent(), None, "JERICHO3")


def test_dumped_platform_is_taken_and_dumped_sw_is_not() -> None:
    conf = minimal_agent()
    conf["platform"] = Raw("{}", "PlatformConfig")
    assert check_agent(conf, minimal_inventory(), "TOMAHAWK3") == []
    with pytest.raises(TypeError):
        agent_refusals({"sw": Raw("{}")}, None, "TOMAHAWK3")


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("bool", ["true", "T", "0", "no"], ["", "2", "on"]),
        ("int32", ["-5", "0x7fffffff", "2147483647"], ["", "1.0", "2147483648", "1" * 5000, "x"]),
        ("uint32", ["0", "4294967295"], ["-1", "4294967296"]),
        ("int64", ["-9223372036854775808"], ["9223372036854775808"]),
        ("uint64", ["18446744073709551615"], ["18446744073709551616"]),
        ("double", ["1", "-2.5", "1e3"], ["", "nan", "1_0"]),
        ("string", ["", "anything"], []),
    ],
)
def test_flag_values(kind: str, good: list[str], bad: list[str]) -> None:
    assert [flag_takes(kind, value) for value in good] == [True] * len(good)
    assert [flag_takes(kind, value) for value in bad] == [False] * len(bad)


@pytest.mark.parametrize(
    ("conf", "ports", "asic"),
    [
        ("example-rtsw001.wedge400.agent.conf", "ports-wedge400.json", "TOMAHAWK3"),
        ("example-ctsw001.minipack2.agent.conf", "ports-minipack2.json", "TOMAHAWK4"),
        ("samples/wedge400.hw_test.agent.conf", "ports-wedge400.json", "TOMAHAWK3"),
        ("samples/fuji.hw_test.agent.conf", "ports-minipack2.json", "TOMAHAWK4"),
        ("samples/elbert.hw_test.agent.conf", "ports-elbert-7388x5.json", "TOMAHAWK4"),
    ],
)
def test_reference_configurations_pass(reference_dir: Path, conf: str, ports: str, asic: str) -> None:
    value = json.loads((reference_dir / "fboss" / conf).read_text(encoding="utf-8"))
    assert check_agent(value, reference_inventory(reference_dir, ports), asic) == []


def test_the_generic_section_does_not_fit_the_grand_teton_map(reference_dir: Path) -> None:
    value = json.loads(
        (reference_dir / "fboss" / "samples" / "wedge400.hw_test.agent.conf").read_text(encoding="utf-8")
    )
    found = agent_refusals(value, reference_inventory(reference_dir, "ports-wedge400-grandteton.json"), "TOMAHAWK3")
    assert {p.level for p in found} == {"silent"}
    assert len(found) == 24  # of the 32 shared ids (fboss.md section 3)
