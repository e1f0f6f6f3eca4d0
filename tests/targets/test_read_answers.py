"""The readers of what devices answer: against the recorded shapes, their older and newer forms, and against damage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.targets.device import DeviceError, DeviceRefusedError, Pending
from fabric.targets.eos import read_bgp as eos_bgp
from fabric.targets.eos import read_interface as eos_interface
from fabric.targets.eos import read_lldp as eos_lldp
from fabric.targets.eos import read_route as eos_route
from fabric.targets.eos import read_session, read_version
from fabric.targets.eos.read_answer import configuration, masked, refusals
from fabric.targets.facts import BgpSession, InterfaceState, LldpNeighbor, NextHop, Route, Version
from fabric.targets.fboss import read_bgp as fboss_bgp
from fabric.targets.fboss import read_interface as fboss_interface
from fabric.targets.fboss import read_lldp as fboss_lldp
from fabric.targets.fboss import read_route as fboss_route
from fabric.targets.fboss import read_version as fboss_version
from fabric.targets.fboss.read_pending import read_sessions
from fabric.targets.swap_box import read_pending

Read = Callable[[str], Any]
READERS: dict[str, Read] = {
    "eos/show_lldp_neighbors_detail.json": eos_lldp.read_lldp,
    "eos/show_ip_bgp_summary.json": eos_bgp.read_bgp,
    "eos/show_ip_bgp_summary.old-integer-asn.json": eos_bgp.read_bgp,
    "eos/show_bgp_summary.json": eos_bgp.read_bgp,
    "eos/show_bgp_ipv6_unicast_summary.json": eos_bgp.read_bgp,
    "eos/show_ip_route.json": eos_route.read_route,
    "eos/show_ipv6_route.json": eos_route.read_route,
    "eos/show_interfaces.json": eos_interface.read_interfaces,
    "eos/show_interfaces_status.json": eos_interface.read_interface_status,
    "eos/show_configuration_sessions_detail.before-4.32.json": read_session.read_sessions,
    "eos/show_configuration_sessions_detail.from-4.32.json": read_session.read_sessions,
    "eos/show_version.json": lambda text: read_version.read_version(text, '{"hostname": "x"}'),
    "eos/show_hostname.json": lambda text: read_version.read_version("{}", text),
    "eos/show_running-config.txt": lambda text: configuration(text, "x"),
    "fboss/show_lldp.json": fboss_lldp.read_lldp,
    "fboss/show_bgp_summary.json": fboss_bgp.read_bgp,
    "fboss/show_route.json": fboss_route.read_route,
    "fboss/show_interface.json": lambda text: fboss_interface.read_interfaces(text, {}),
    "fboss/show_port.json": fboss_interface.read_admin,
    "fboss/show_product.json": fboss_version.read_product,
}


@pytest.fixture(scope="session")
def answers(reference_dir: Path) -> Path:
    return reference_dir / "device-answers"


@pytest.mark.parametrize("name", READERS)
def test_no_damage_of_an_answer_raises_anything_but_a_device_error(name: str, answers: Path) -> None:
    text, read = (answers / name).read_text(), READERS[name]
    assert read(text)
    for damaged in _damaged(text):
        try:
            read(damaged)
        except DeviceError as error:
            assert "\n" not in str(error)


def _damaged(text: str) -> Iterator[str]:
    """Cut at every byte; each value of the JSON in turn replaced by one of another type, or left out."""
    step = max(1, len(text) // 3000)  # show_interfaces is long: there, every third place
    yield from (text[:end] for end in range(0, len(text), step))
    if not text.startswith("{"):
        return
    for path in _places(json.loads(text)):
        for value in (None, 5, -1, True, "x", "", [], {}, [None], {"": None}, 1e400, 10**400):
            yield json.dumps(_with(json.loads(text), path, value))


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _places(item, (*at, key))


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    place = value
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = new
    return value


@settings(max_examples=300, deadline=None)
@given(
    st.text()
    | st.binary().map(lambda raw: raw.decode("utf-8", "replace"))
    | st.just("[" * 100_000)
    | st.just('{"a":' * 100_000)
)
def test_garbage_is_a_device_error_or_a_value(text: str) -> None:
    for read in (*READERS.values(), read_pending, read_sessions, refusals, masked, fboss_version.read_agent_version):
        try:
            read(text)
        except DeviceError:
            continue


# --------------------------------------------------------------------------------------------------------------- EOS


def test_eos_lldp(answers: Path) -> None:
    text = (answers / "eos/show_lldp_neighbors_detail.json").read_text()
    first, *others = eos_lldp.read_lldp(text)
    assert first == LldpNeighbor(
        "Ethernet3/1/1", "rtsw001.c01.example.net", "eth2/1/1", "ctsw001:Ethernet3/1/1", "0000.5e00.5311"
    )
    assert [it.port for it in others].count("Ethernet3/2/1") == 2, "both agents of a NIC"
    old = text.replace('"interfaceId_v2"', '"other"')
    assert eos_lldp.read_lldp(old)[0].port_id == "eth2/1/1", "the quotes inside the string are gone"


def test_eos_bgp_in_all_forms(answers: Path) -> None:
    def read(name: str) -> list[BgpSession]:
        return eos_bgp.read_bgp((answers / f"eos/{name}.json").read_text())

    assert read("show_ip_bgp_summary")[0] == BgpSession("198.51.100.1", 64501, "established", 16, 16, None)
    assert [it.state for it in read("show_ip_bgp_summary")] == ["established", "active", "idle"]
    assert read("show_ip_bgp_summary.old-integer-asn")[0].remote_asn == 64501
    assert read("show_ip_bgp_summary.no-bgp") == read("show_ip_bgp_summary.no-peers") == []
    assert eos_bgp.read_bgp("% BGP inactive") == []
    unnumbered = read("show_bgp_ipv6_unicast_summary")[1]
    assert unnumbered.peer.endswith("%Et3/1/1")
    assert unnumbered.remote_asn == 65536 + 8, "asdot"
    assert read("show_bgp_summary")[1] == BgpSession("2001:db8:128::1", 64501, "established", 16, 16, None)


def test_eos_bgp_session_of_both_families_counts_once() -> None:
    one = BgpSession("fe80::1%Et1", 65001, "established", 3, None, None)
    assert eos_bgp.merge_bgp([[one], [one]]) == [BgpSession("fe80::1%Et1", 65001, "established", 6, None, None)]


def test_eos_routes(answers: Path) -> None:
    routed, connected = eos_route.read_route((answers / "eos/show_ip_route.json").read_text())
    hops = (NextHop("198.51.100.1", "Ethernet3/1/1"), NextHop("198.51.100.3", "Ethernet3/1/5"))
    assert routed == Route("203.0.113.0/24", hops, "bgp")
    assert connected == Route("198.51.100.0/31", (NextHop(None, "Ethernet3/1/1"),), "connected")
    assert eos_route.read_route((answers / "eos/show_ip_route.not-found.json").read_text()) == []


def test_eos_interfaces(answers: Path) -> None:
    up = eos_interface.read_interfaces((answers / "eos/show_interfaces.json").read_text())[0]
    assert up == InterfaceState("Ethernet3/1/1", True, True, 9214, 400, "rtsw001:eth2/1/1")
    states = eos_interface.read_interface_status((answers / "eos/show_interfaces_status.json").read_text())
    assert [(it.admin_up, it.oper_up, it.speed_gbps, it.mtu) for it in states[:3]] == [
        (True, True, 400, None),
        (True, False, None, None),
        (False, False, 400, None),
    ]


def test_eos_version_of_new_and_old_releases(answers: Path) -> None:
    def read(name: str) -> Version:
        hostname = (answers / "eos/show_hostname.json").read_text()
        return read_version.read_version((answers / f"eos/{name}.json").read_text(), hostname)

    assert read("show_version") == Version("ctsw001", "DCS-7808-EXAMPLE", "4.34.1F", 86400.25)
    assert read("show_version.old-4.15") == Version("ctsw001", "vEOS", "4.15.5M", None)


@pytest.mark.parametrize("form", ["before-4.32", "from-4.32"])
def test_eos_armed_session_in_both_forms(form: str, answers: Path) -> None:
    text = (
        (answers / f"eos/show_configuration_sessions_detail.{form}.json").read_text().replace("tool-0001", "fabric-r1")
    )
    assert read_session.unfinished(read_session.read_sessions(text)) == [
        Pending("r1", armed=True, ours=True, detail="session fabric-r1: commit timer armed")
    ]


def test_eos_sessions_that_are_history_are_not_pending(answers: Path) -> None:
    text = (answers / "eos/show_configuration_sessions_detail.pending-and-completed.json").read_text()
    assert [it.token for it in read_session.unfinished(read_session.read_sessions(text))] == ["tool-0002"]


def test_every_error_line_of_eos_is_a_refusal(answers: Path) -> None:
    lines = (answers / "eos/error_lines.txt").read_text().splitlines()
    assert len(refusals("\n".join(lines))) == len(lines)
    assert not refusals(
        "! Interface does not exist. The configuration will not take effect until the module is inserted. at line 1"
    )


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("+username a role x secret sha512 $6$abc", "+username a role x secret sha512 <secret>"),
        ("-tacacs-server host 192.0.2.1 key 7 0822455D0A16", "-tacacs-server host 192.0.2.1 key 7 <secret>"),
        (
            "> snmp-server community open ro% Invalid input at line 1",
            "> snmp-server community <secret> ro% Invalid input at line 1",
        ),
        ("   neighbor RTSW password 7 abc==", "   neighbor RTSW password 7 <secret>"),
        ("   set community 65000:100 additive", "   set community 65000:100 additive"),
        ("   authentication protocol password public-key", "   authentication protocol password public-key"),
        ("username a ssh-key ssh-ed25519 AAAA a@b", "username a ssh-key ssh-ed25519 AAAA a@b"),
    ],
)
def test_secrets_in_what_eos_says_are_masked(line: str, shown: str) -> None:
    assert masked(line) == shown


def test_a_configuration_is_whole_and_without_header(answers: Path) -> None:
    text = (answers / "eos/show_running-config.txt").read_text()
    assert configuration(text, "x").splitlines()[0] == next(
        line for line in text.splitlines() if not line.startswith("!")
    )
    with pytest.raises(DeviceError, match="cut short"):
        configuration(text[:-8], "x")


# ------------------------------------------------------------------------------------------------------------- FBOSS


def test_fboss_lldp(answers: Path) -> None:
    text = (answers / "fboss/show_lldp.json").read_text()
    assert fboss_lldp.read_lldp(text) == [
        LldpNeighbor("eth2/1/1", "ctsw001.c01.example.net", "Ethernet3/1/1", None, None),
        LldpNeighbor("eth3/1/1", None, "00:00:5e:00:53:22", None, "00:00:5e:00:53:22"),
    ]
    assert fboss_lldp.read_lldp((answers / "fboss/show_lldp.empty.json").read_text()) == []


def test_fboss_bgp(answers: Path) -> None:
    text = (answers / "fboss/show_bgp_summary.json").read_text()
    sessions = fboss_bgp.read_bgp(text)
    assert sessions[0] == BgpSession("2001:db8:128::", 64496, "established", 16, 16, "ctsw001.c01")
    assert [it.state for it in sessions] == ["established", "idle", "idle"]
    old = text.replace("prepolicy_", "x_").replace("postpolicy_", "y_").replace("remote_as_4_byte", "z")
    assert fboss_bgp.read_bgp(old)[0] == BgpSession("2001:db8:128::", None, "established", 16, None, "ctsw001.c01")


def test_fboss_routes(answers: Path) -> None:
    routes = fboss_route.read_route((answers / "fboss/show_route.json").read_text())
    assert routes[1].prefix == "2001:db8:66::/48", "without the UCMP mark"
    assert routes[0].next_hops[0] == NextHop("fe80::200:5eff:fe00:5301", "fboss4001")
    assert routes[2].next_hops == ()


def test_fboss_interfaces(answers: Path) -> None:
    admin = fboss_interface.read_admin((answers / "fboss/show_port.json").read_text())
    states = fboss_interface.read_interfaces((answers / "fboss/show_interface.json").read_text(), admin)
    assert states == [
        InterfaceState("eth2/1/1", True, True, 9000, 400, "ctsw001.c01:Ethernet3/1/1"),
        InterfaceState("eth3/1/1", False, False, 9000, 200, "gpu0001:ens1f0np0"),
    ]


def test_fboss_version(answers: Path) -> None:
    assert fboss_version.read_product((answers / "fboss/show_product.json").read_text()) == "MINIPACK2-EXAMPLE"
    history = (answers / "fboss/fboss_sw_agent_boot_history.log").read_text()
    assert fboss_version.read_boot_history(history) == "buildPackageVersion"
    assert fboss_version.read_uptime("3600.25 7000.00\n") == 3600.25


def test_a_daemon_that_does_not_answer_is_a_refusal() -> None:
    with pytest.raises(DeviceRefusedError, match="did not answer"):
        fboss_lldp.read_lldp("{}\n")
