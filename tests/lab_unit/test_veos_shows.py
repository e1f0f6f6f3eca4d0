"""The JSON answers of the virtual EOS have the recorded shapes; numbers and states come from live data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab_unit.veos_box import VeosBox

CONFIG = """\
hostname ctsw001
dns domain c01.example.net
interface Ethernet3/1/1
   description rtsw001:eth2/1/1
   mtu 9000
   speed 400g-8
   no switchport
   ip address 198.51.100.0/31
interface Ethernet3/2/1
   shutdown
interface Ethernet3/9/1
   no switchport
interface Loopback0
   ip address 192.0.2.1/32
interface Management0
   vrf MGMT
ip routing
ipv6 unicast-routing
router bgp 64496
   router-id 192.0.2.1
"""

# What a recording has and the virtual switch has not, with why.
_ABSENT = {
    "kernelVersion": "cEOS only",
    "maxFrameSize": "only sometimes present; lldpd does not tell it",
    "interfaceDescription": "absent when not sent",
    "stationOnly": "a capability of the recorded neighbour",
    "wlanAccessPoint": "a capability of the recorded neighbour",
    "bridge": "a capability of the recorded neighbour",
    "peerStateIdleReason": "only when idle",
}


@pytest.fixture
def box(tmp_path: Path) -> VeosBox:
    return VeosBox(tmp_path, startup=CONFIG)


def shape(value: Any) -> Any:
    """The keys and types of an answer; the entries of a table of ports, peers or prefixes are one shape."""
    if isinstance(value, dict):
        inner = [shape(one) for one in value.values() if isinstance(one, dict)]
        named = any(mark in key for key in value for mark in ("/", ".", ":")) or any(
            key[-1:].isdigit() and key[:1].isupper() for key in value
        )
        if named and len(inner) == len(value):
            return {"*": _merged(inner)}
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_merged([shape(one) for one in value])] if value else []
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def _merged(shapes: list[Any]) -> Any:
    if all(isinstance(one, dict) for one in shapes):
        keys = dict.fromkeys(key for one in shapes for key in one)
        return {key: _merged([one[key] for one in shapes if key in one]) for key in keys}
    if all(isinstance(one, list) for one in shapes):
        inner = [entry for one in shapes for entry in one]
        return [_merged(inner)] if inner else []
    return shapes[0]


def missing(wanted: Any, got: Any, path: str = "") -> list[str]:
    """Where `got` lacks a key of `wanted`, or has another type."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        out: list[str] = []
        for key, one in wanted.items():
            if key not in got:
                out += [] if key in _ABSENT else [f"{path}.{key}"]
            else:
                out += missing(one, got[key], f"{path}.{key}")
        return out
    if isinstance(wanted, list) and isinstance(got, list):
        return missing(wanted[0], got[0], f"{path}[]") if wanted and got else []
    return (
        []
        if type(wanted) is type(got) and (not isinstance(wanted, str) or wanted == got)
        else [f"{path}: {wanted} is {got}"]
    )


@pytest.mark.parametrize(
    ("command", "recording"),
    [
        ("show version", "show_version.json"),
        ("show hostname", "show_hostname.json"),
        ("show uptime", "show_uptime.json"),
        ("show boot-config", "show_boot-config.json"),
        ("show reload cause", "show_reload_cause.none.json"),
        ("show lldp neighbors detail", "show_lldp_neighbors_detail.json"),
        ("show lldp neighbors", "show_lldp_neighbors.json"),
        ("show ip bgp summary", "show_ip_bgp_summary.json"),
        ("show ipv6 bgp summary", "show_bgp_ipv6_unicast_summary.json"),
        ("show bgp ipv6 unicast summary vrf all", "show_bgp_ipv6_unicast_summary.json"),
        ("show bgp summary", "show_bgp_summary.json"),
        ("show ip route", "show_ip_route.json"),
        ("show ipv6 route", "show_ipv6_route.json"),
        ("show interfaces status", "show_interfaces_status.json"),
        ("show interfaces", "show_interfaces.json"),
        ("show interfaces counters errors", "show_interfaces_counters_errors.json"),
        ("show interfaces counters discards", "show_interfaces_counters_discards.json"),
        ("show priority-flow-control counters", "show_priority-flow-control_counters.json"),
        ("show priority-flow-control counters watchdog", "show_priority-flow-control_counters_watchdog.no-event.json"),
        ("show running-config", "show_running-config.json"),
        ("show configuration sessions detail", "show_configuration_sessions_detail.none.json"),
    ],
)
def test_answers_have_the_recorded_shape(box: VeosBox, reference_dir: Path, command: str, recording: str) -> None:
    wanted = json.loads((reference_dir / "device-answers" / "eos" / recording).read_text(encoding="utf-8"))
    got = box.cli().json(command)
    if recording == "show_running-config.json":  # lines are keys there
        assert set(wanted) == set(got)
        assert got["cmds"]["interface Ethernet3/2/1"] == {"comments": [], "cmds": {"shutdown": None}}
        return
    assert missing(shape(wanted), shape(got)) == []


def test_states_are_live(box: VeosBox) -> None:
    cli = box.cli()
    status = {
        name: (one["linkStatus"], one["lineProtocolStatus"], one["bandwidth"])
        for name, one in cli.json("show interfaces status")["interfaceStatuses"].items()
    }
    assert status == {
        "Ethernet3/1/1": ("connected", "up", 400_000_000_000),
        "Ethernet3/2/1": ("disabled", "down", 0),
        "Ethernet3/9/1": ("notconnect", "notPresent", 0),
        "Management0": ("connected", "up", 1_000_000_000),
    }
    peers = cli.json("show ip bgp summary")["vrfs"]["default"]["peers"]
    assert (
        peers["198.51.100.1"]["peerState"],
        peers["198.51.100.1"]["prefixReceived"],
        peers["198.51.100.1"]["asn"],
    ) == ("Established", 16, "64501")
    assert (peers["198.51.100.5"]["peerState"], peers["198.51.100.5"]["peerStateIdleReason"]) == ("Idle", "Admin")
    routes = cli.json("show ip route")["vrfs"]["default"]["routes"]
    assert set(routes) == {"203.0.113.0/24", "198.51.100.0/31"}, "the management network is in another VRF"
    assert [via["interface"] for via in routes["203.0.113.0/24"]["vias"]] == ["Ethernet3/1/1", "Ethernet3/2/1"]
    assert cli.json("show lldp neighbors detail")["lldpNeighbors"]["Ethernet3/2/1"] == {"lldpNeighborInfo": []}
    interface = cli.json("show interfaces Ethernet3/1/1")["interfaces"]
    assert list(interface) == ["Ethernet3/1/1"]
    assert interface["Ethernet3/1/1"]["mtu"] == 9000


def test_without_bgp_the_summary_is_empty(tmp_path: Path) -> None:
    cli = VeosBox(tmp_path).cli()
    assert cli.json("show ip bgp summary") == {"vrfs": {}}
    assert cli.say("show ip bgp summary") == "% BGP inactive\n"


def test_the_texts_begin_as_recorded(box: VeosBox, reference_dir: Path) -> None:
    folder = reference_dir / "device-answers" / "eos"
    for command, name in (
        ("show lldp neighbors", "show_lldp_neighbors.txt"),
        ("show interfaces status", "show_interfaces_status.txt"),
        ("show boot-config", "show_boot-config.txt"),
    ):
        wanted = (folder / name).read_text(encoding="utf-8").splitlines()
        said = box.cli().say(command).splitlines()
        head = [line for line in wanted if line.startswith(("Port ", "Software", "Console"))]
        assert [line.split(":")[0] for line in head] == [
            line.split(":")[0] for line in said if line.startswith(("Port ", "Software", "Console"))
        ]
    running = box.cli().say("show running-config").splitlines()
    assert running[:6] == [
        "! Command: show running-config",
        "! device: ctsw001 (vEOS-lab, EOS-4.33.1F)",
        "!",
        "! boot system flash:/EOS64-4.33.1F.swi",
        "!",
        "hostname ctsw001",
    ]
    assert running[-2:] == ["!", "end"]
