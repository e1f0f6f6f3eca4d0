"""The answers of the virtual FBOSS switch have the keys and types of the recorded shapes (device-answers/fboss)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from fabric.lab.fboss import kernel, show_bgp, show_box, show_net, show_ports
from fabric.lab.fboss.box import Box, Neighbour, neighbours
from fabric.lab.fboss.kernel import LinkState
from tests.lab_unit.vfboss_box import GOLDEN, golden_agent, make_node

OPTIONAL = {
    "vlan", "mtu", "ifName", "interfaceID", "total_prefix_count", "process_uptime_seconds", "details", "ingress_policy_name",
    "egress_policy_name", "pfc", "pause", "inPfcPriorityPackets", "outPfcPriorityPackets", "inPfcPackets", "outPfcPackets",
    "hwLogicalPortId", "lastColdbootAppliedInMs",
}  # fmt: skip
"""Fields that the models mark as optional (device-answers.md Part B)."""

FREE = {"queueIdToName", "queueOutBytes", "queueOutDiscardBytes", "transceivers"}
"""Maps: their keys are data."""

UP = {"bytes": 10, "packets": 4, "multicast": 1, "errors": 0, "dropped": 0}
FRR = {
    "bgpState": "Established",
    "bgpTimerUpMsec": 5000,
    "bgpTimerHoldTimeMsecs": 9000,
    "remoteRouterId": "10.255.0.2",
    "connectionsDropped": 1,
    "lastResetDueTo": "Peer closed the session",
    "messageStats": {"updatesSent": 3, "updatesRecv": 4},
    "addressFamilyInfo": {"ipv6Unicast": {"acceptedPrefixCounter": 7, "sentPrefixCounter": 2}},
    "neighborCapabilities": {"gracefulRestartRemoteTimerMsecs": 120000},
    "portLocal": 179,
    "portForeign": 40000,
}
"""What FRR 8.4 says of a neighbour, as far as it is read."""


def fitting(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Differences of keys and types of two JSON values; lists are compared by their first elements."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        if path.rpartition(".")[2] in FREE:
            return
        for key in (ours.keys() ^ theirs.keys()) - OPTIONAL:
            yield f"{path}.{key}: only {'ours' if key in ours else 'theirs'}"
        for key in ours.keys() & theirs.keys():
            yield from fitting(ours[key], theirs[key], f"{path}.{key}")
    elif isinstance(theirs, list) and isinstance(ours, list):
        if ours and theirs:
            yield from fitting(ours[0], theirs[0], f"{path}[]")
    elif type(ours) is not type(theirs):
        yield f"{path}: {type(ours).__name__}, not {type(theirs).__name__}"


class FakeBox(Box):
    """A box without agent, kernel and lldpd."""

    @cached_property
    def state(self) -> dict[str, Any]:
        return {
            "conf": golden_agent("dual-rtsw"), "shut": [], "opened": [], "bootType": "COLD_BOOT",
            "lastAppliedInMs": 2, "lastColdbootAppliedInMs": 1,
        }  # fmt: skip

    @cached_property
    def links(self) -> Mapping[str, LinkState]:
        up = LinkState(True, True, 9000, "", "02:00:00:00:00:01", frozenset(), ("fe80::1",), UP, UP)
        return dict.fromkeys(self.node.ports.values(), up)

    def neighbours(self) -> list[Neighbour]:
        return [Neighbour("eth2/1/1", "z01-r001-h1", "02:00:00:00:00:02", "Linux", "beth0")]


@pytest.fixture
def box(tmp_path: Path) -> FakeBox:
    return FakeBox(make_node(tmp_path, golden_agent("dual-rtsw")))


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {
        ("-4", "route"): [{"dst": "default", "gateway": "10.0.0.1", "dev": "ma0"}],
        ("-6", "route"): [
            {"dst": "2001:db8:8000:9::/64", "protocol": "bgp",
             "nexthops": [{"gateway": "fe80::2", "dev": "eth8_1_1", "weight": 1}, {"gateway": "fe80::3", "dev": "eth8_3_1", "weight": 2}]},
            {"dst": "2001:db8:8000::/60", "type": "blackhole", "protocol": "static"},
            {"dst": "fe80::/64", "dev": "eth8_1_1", "protocol": "kernel"},
        ],
        ("-4", "neigh"): [{"dst": "10.64.0.0", "dev": "eth8_1_1", "lladdr": "02:00:00:00:00:03", "state": ["REACHABLE"]}],
        ("-6", "neigh"): [{"dst": "fe80::2", "dev": "eth8_1_1", "state": ["FAILED"]}],
    }  # fmt: skip
    monkeypatch.setattr(kernel, "ip_json", lambda *words: answers[words[0], words[1]])


Show = Callable[[Box, list[str]], Any]
SHOWS: dict[str, tuple[Show, list[str]]] = {
    "show_lldp.json": (show_net.lldp, []),
    "show_interface.json": (show_ports.interfaces, ["eth8/1/1"]),
    "show_interface_status.json": (show_ports.status, []),
    "show_interface_counters.json": (show_ports.counters, []),
    "show_interface_errors.json": (show_ports.errors, []),
    "show_interface_flaps.json": (show_ports.flaps, []),
    "show_port.json": (show_ports.ports, []),
    "show_transceiver.json": (show_ports.transceivers, []),
    "show_route.json": (show_net.routes, []),
    "show_ndp.json": (show_net.ndp, []),
    "show_arp.json": (show_net.arp, []),
    "show_product.json": (show_box.product, []),
    "show_agent_boot-type.json": (show_box.boot_type, []),
    "show_hw-agent.json": (show_box.hw_agent, []),
    "config_applied-info.json": (show_box.applied_info, []),
}


@pytest.mark.parametrize("name", SHOWS)
def test_shape(name: str, box: FakeBox, routes: None, reference_dir: Path) -> None:
    show, words = SHOWS[name]
    theirs = json.loads((reference_dir / "device-answers" / "fboss" / name).read_text(encoding="utf-8"))["localhost"]
    ours = json.loads(json.dumps(show(box, words)))
    if name == "show_transceiver.json":
        ours, theirs = (next(iter(one["transceivers"].values())) for one in (ours, theirs))
    assert list(fitting(ours, theirs)) == []


def test_shape_of_detailed_ports(box: FakeBox, reference_dir: Path) -> None:
    box.detail = True
    theirs = json.loads(
        (reference_dir / "device-answers" / "fboss" / "show_port.detail.json").read_text(encoding="utf-8")
    )
    ours = show_ports.ports(box, ["eth8/1/1"])
    assert list(fitting(ours, theirs["localhost"])) == []
    stats = ours["portEntries"][0]["hwPortStats"]
    assert stats["ingressBytes"] == 10
    assert stats["inPfcPriorityPackets"] == {"2": 0}


def test_shapes_of_bgp(reference_dir: Path) -> None:
    given = json.loads((GOLDEN / "dual-rtsw.bgpcpp.conf").read_text(encoding="utf-8"))
    answer = {given["peers"][0]["peer_addr"]: FRR}
    folder = reference_dir / "device-answers" / "fboss"
    theirs = json.loads((folder / "show_bgp_summary.json").read_text(encoding="utf-8"))["localhost"]
    rows = show_bgp.sessions(given, answer)
    assert list(fitting({"sessions": rows, **show_bgp.summary_rest(given, 5)}, theirs)) == []
    detailed = json.loads((folder / "show_bgp_neighbors.json").read_text(encoding="utf-8"))["localhost"][0]["details"]
    assert list(fitting(show_bgp.details(given, FRR), detailed)) == []


def test_values_of_bgp() -> None:
    given = json.loads((GOLDEN / "dual-rtsw.bgpcpp.conf").read_text(encoding="utf-8"))
    given["router_id"] = "192.0.2.11"
    first, second, third = (peer["peer_addr"] for peer in given["peers"][:3])
    answer = {first: FRR, second: {"bgpState": "Active"}, third: {"bgpState": "Idle", "adminShutDown": True}}
    rows = {row["peer_addr"]: row for row in show_bgp.sessions(given, answer)}
    assert [rows[peer]["peer"]["peer_state"] for peer in (first, second, third)] == [5, 2, 7]
    assert (rows[first]["postpolicy_rcvd_prefix_count"], rows[first]["uptime"], rows[first]["num_resets"]) == (
        7,
        5000,
        1,
    )
    assert rows[second]["uptime"] == 0
    assert list(rows) == sorted(rows)
    rest = show_bgp.summary_rest(given, 0)
    assert rest["config"]["my_router_id"] == 184680640  # device-answers.md B6
    text = show_bgp.summary_text({"sessions": list(rows.values()), **rest})
    assert "Router ID - 192.0.2.11, Local ASN - " in text
    assert f"Peers: UP - 1, TOTAL - {len(given['peers'])}" in text
    assert " ESTA " in text


def test_values_of_routes(box: FakeBox, routes: None) -> None:
    rows = {row["networkAddress"]: row["nextHops"] for row in show_net.routes(box, [])["routeEntries"]}
    assert [hop["addr"] for hop in rows["2001:db8:8000:9::/64 (UCMP Active)"]] == ["fe80::2", "fe80::3"]
    assert rows["2001:db8:8000:9::/64 (UCMP Active)"][0]["ifName"] == "fboss4001"
    assert rows["2001:db8:8000::/60"] == rows["fe80::/64"] == []
    assert "0.0.0.0/0" not in rows  # management is no matter of the agent
    assert [hop["addr"] for hop in rows["10.255.0.65/32"]] == ["10.255.0.65"]


def test_cabling_errors_of_ports(box: FakeBox, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Neighbour("eth2/1/1", "z01-r001-h2", "", "", "")
    monkeypatch.setattr(FakeBox, "neighbours", lambda _: [heard])
    box.state["conf"]["sw"]["ports"][0]["expectedLLDPValues"] = {"5": "z01-r001-h1", "2": "beth0"}
    entry = show_ports.ports(box, ["eth2/1/1"])["portEntries"][0]
    assert entry["activeErrors"] == "MISMATCHED_NEIGHBOR, MISSING_EXPECTED_NEIGHBOR"


def test_neighbours_of_lldpcli() -> None:
    one = {
        "name": "eth2_1_1",
        "chassis": [
            {
                "id": [{"type": "mac", "value": "02:00:00:00:00:09"}],
                "name": [{"value": "sw"}],
                "descr": [{"value": "FBOSS"}],
            }
        ],
        "port": [{"id": [{"type": "local", "value": "eth8/1/1"}]}],
    }
    silent = {
        "name": "eth2_3_1",
        "chassis": [{"id": [{"value": "02:00:00:00:00:0a"}]}],
        "port": [{"id": [{"value": "x"}]}],
    }
    answer = {"lldp": [{"interface": [silent, one, {**one, "name": "elsewhere"}]}]}
    assert neighbours(answer, {"eth2_1_1": "eth2/1/1", "eth2_3_1": "eth2/3/1"}) == [
        Neighbour("eth2/1/1", "sw", "02:00:00:00:00:09", "FBOSS", "eth8/1/1"),
        Neighbour("eth2/3/1", "", "02:00:00:00:00:0a", "", "x"),
    ]
