"""Every refusal of the switch, VLANs, interfaces and routes: the minimal configuration, one change, the expected problem."""

from __future__ import annotations

import pytest

from tests.targets.fboss_minimal import DELETE, Change, Row, assert_problem, row

SET = "sw.switchSettings"
INFO = f"{SET}.switchIdToSwitchInfo"
PORT = "sw.ports.0"
INTF = "sw.interfaces.0"
SAI: Change = ("sw.sdkVersion", {"saiSdk": "sai"})
VOQ: Change = (f"{INFO}.0.switchType", 2)


SWITCH = [
    row("sw", "is missing or empty", ("sw", DELETE)),
    row("sw", "is missing or empty", ("sw", {})),
    row(INFO, "must not be empty", (INFO, {})),
    row(INFO, "mixes VOQ and NPU", (f"{INFO}.1", {"switchType": 2, "asicType": 5})),
    row(f"{INFO}.0.asicType", "is not TOMAHAWK3 (5)", (f"{INFO}.0.asicType", 6)),
    row(f"{PORT}.logicalID", "1 is outside every portIdRange", (f"{INFO}.0.portIdRange.minimum", 2)),
    row(
        "sw.ports.1.logicalID", "3000 is outside", (f"{INFO}.0.portIdRange.maximum", 0), ("sw.ports.1.logicalID", 3000)
    ),
    row(f"{SET}.exactMatchTableConfigs", "at most one", (f"{SET}.exactMatchTableConfigs", [{}, {}])),
    row(f"{SET}.ecmpWidth", "must be above 0, not 0", (f"{SET}.ecmpWidth", 0)),
    row(f"{SET}.ecmpWidth", "513 is above the 512 of TOMAHAWK3", (f"{SET}.ecmpWidth", 513)),
    row(f"{SET}.minLinksToJoinVOQDomain", "VOQ", (f"{SET}.minLinksToJoinVOQDomain", 1)),
    row(f"{SET}.minLinksToRemainInVOQDomain", "VOQ", (f"{SET}.minLinksToRemainInVOQDomain", 1)),
    row(f"{SET}.qcmEnable", "is refused by SAI", (f"{SET}.qcmEnable", True), SAI),
    row(f"{INFO}.0.switchMac", "'02:00' is not a MAC", (f"{INFO}.0.switchMac", "02:00")),
    row("sw.cpuMAC", "is not a MAC", ("sw.cpuMAC", "")),
    row(f"{INTF}.mac", "is not a MAC", (f"{INTF}.mac", "02:00:00:00:00:0g")),
    row("sw.lacp.systemID", "is not a MAC", ("sw.lacp", {"systemPriority": 1})),
    row(f"{SET}.macAddrsToBlock.0.macAddress", "is not a MAC", (f"{SET}.macAddrsToBlock", [{"vlanID": 1}])),
    row("sw.staticMacAddrs.0.macAddress", "is not a MAC", ("sw.staticMacAddrs", [{"macAddress": "x"}])),
    row("sw.ports", "161 ports, TOMAHAWK3 has 160", ("sw.ports", [{"logicalID": n + 1} for n in range(161)])),
    row("sw.ports.1.logicalID", "port 1 is declared twice", ("sw.ports.1.logicalID", 1)),
    row("sw.vlans.1.id", "VLAN 2001 is declared twice", ("sw.vlans.1.id", 2001)),
    row("sw.defaultVlan", "VLAN 7 is not in vlans", ("sw.defaultVlan", 7)),
    row("sw.vlanPorts.2", "port 1 is in VLAN 2001 twice", ("sw.vlanPorts.+", {"vlanID": 2001, "logicalPort": 1})),
    row("sw.interfaces.1.intfID", "interface 2001 is declared twice", ("sw.interfaces.1.intfID", 2001)),
    row(f"{INTF}.vlanID", "VLAN 9 does not exist", (f"{INTF}.vlanID", 9)),
    row("sw.interfaces.1.vlanID", "VLAN 2001 has two interfaces", ("sw.interfaces.1.vlanID", 2001)),
    row(f"{INTF}.portID", "type PORT needs it", (f"{INTF}.type", 3)),
    row(f"{INTF}.portID", "port 77 is not configured", (f"{INTF}.type", 3), (f"{INTF}.portID", 77)),
    row(f"{INTF}.portID", "only for interfaces of type PORT", (f"{INTF}.portID", 1)),
    row(f"{INTF}.type", "SYSTEM_PORT is for VOQ", (f"{INTF}.type", 2)),
    row(PORT, "is in VLAN 2001, which has no interface", (INTF, DELETE)),
    row(PORT, "is in no VLAN", ("sw.vlanPorts.0", DELETE)),
    row(f"{INTF}.ipAddresses.0", "'10.0.0.0/33' is not an address", (f"{INTF}.ipAddresses.0", "10.0.0.0/33")),
    row(f"{INTF}.ipAddresses.0", "is not an address", (f"{INTF}.ipAddresses.0", "10.0.0.0/255.0.0.0")),
    row(f"{INTF}.ipAddresses.2", "stands twice", (f"{INTF}.ipAddresses.+", "10.0.0.0/30")),
    row(
        "sw.interfaces.1.ipAddresses.0",
        "the subnet 10.0.0.0/31 is on sw.interfaces[0]",
        ("sw.interfaces.1.ipAddresses.0", "10.0.0.1/31"),
    ),
    row(f"{INTF}.ndp.routerAddress", "'10.0.0.0' is not an IPv6", (f"{INTF}.ndp.routerAddress", "10.0.0.0")),
    row(f"{INTF}.ndp.routerAddress", "neither an address", (f"{INTF}.ndp.routerAddress", "2001:db8::1")),
    row("sw.dhcpRelaySrcOverrideV4", "is not an IPv4", ("sw.dhcpRelaySrcOverrideV4", "::1")),
    row("sw.vlans.0.dhcpRelayAddressV6", "is not an IPv6", ("sw.vlans.0.dhcpRelayAddressV6", "10.0.0.1")),
    row(
        f'{INTF}.dhcpRelayOverridesV4["02:00:00:00:00:01"]',
        "is not an IPv4",
        (f"{INTF}.dhcpRelayOverridesV4", {"02:00:00:00:00:01": "x"}),
    ),
    row("sw.icmpV4UnavailableSrcAddress", "is not an IPv4", ("sw.icmpV4UnavailableSrcAddress", "x")),
    row("sw.staticRoutesToNull.0.prefix", "'x' is not a prefix", ("sw.staticRoutesToNull", [{"prefix": "x"}])),
    row("sw.staticRoutesToCPU.0.prefix", "'' is not a prefix", ("sw.staticRoutesToCPU", [{}])),
    row(
        "sw.staticRoutesWithNhops.0.nexthops.0",
        "is not an IP",
        ("sw.staticRoutesWithNhops", [{"prefix": "::/0", "nexthops": ["fe80::1%eth0"]}]),
    ),
    row(
        "sw.aggregatePorts.1.key", "aggregate port 3 is declared twice", ("sw.aggregatePorts", [{"key": 3}, {"key": 3}])
    ),
]


@pytest.mark.parametrize("case", [*SWITCH])
def test_one_change_one_problem(case: Row) -> None:
    assert_problem(case)
