"""The EOS target without its peer: golden texts, what is hidden, what is refused, what an operator would check by eye."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fabric.design.build import design
from fabric.design.fabric import Fabric
from fabric.errors import FabricError
from fabric.spec.cluster import ClusterSpec
from fabric.targets.base import Artifact
from fabric.targets.eos import normalise, render, unsupported
from fabric.targets.eos.defaults import HIDDEN
from fabric.targets.eos.templates import MAIN, render_text
from fabric.targets.eos.view import device_view
from fabric.targets.eos.view_ports import port_views
from fabric.templating import environment

ROOT = Path(__file__).resolve().parents[2]
EOS_RACK = {"rack_profiles": {"grand-teton": {"switch": "arista-7388x5", "nos": "eos", "uplinks": 18}}}
OPTICAL = {"cabling": {"host": {"cable": "400g-fr4", "length_m": 2.0}}}
DUAL = {
    "addressing": {
        "family": "dual",
        "ipv4": {"host_links": "10.128.0.0/14", "rtsw_links": "10.64.0.0/14", "ctsw_links": "10.32.0.0/15"},
    }
}
IPV4 = {"addressing": {"family": "ipv4", "ipv6": None, "ipv4": DUAL["addressing"]["ipv4"]}}
WEDGE_200G = {
    "rack_profiles": {"grand-teton": {"switch": "wedge400", "hosts": 1, "port_map": "200g-200g-up", "uplinks": 4}},
    "cabling": {"host": {"cable": "200g-cr4", "length_m": 2.0}, "rtsw": {"cable": "200g-fr4", "length_m": 100.0}},
}
RACKS_3 = {"zones": [{"id": 1, "racks": 3, "rack_profile": "grand-teton"}]}
DRAINED = {"state": [{"match": {"name": "z01-ctsw01"}, "state": "drained"}]}
PLANNED = {
    "state": [
        {"match": {"name": "z01-rtsw002"}, "state": "planned"},
        {"match": {"name": "atsw00?"}, "state": "planned"},
    ]
}


def fabric_of(*changes: dict[str, Any]) -> Fabric:
    """The 24k cluster with two racks in its one zone and small chassis; sections are merged, lists replaced."""
    spec = yaml.safe_load((ROOT / "inventories/roce-24k/cluster.yaml").read_text())
    spec["backend"]["zones"] = [{"id": 1, "racks": 2, "rack_profile": "grand-teton"}]
    spec["backend"]["ctsw"]["model"] = "arista-7804r3"
    for change in copy.deepcopy(changes):
        spec["backend"]["rack_profiles"] = change.pop("rack_profiles", spec["backend"]["rack_profiles"])
        for section, value in change.items():
            spec[section] = {**spec.get(section, {}), **value} if isinstance(value, dict) else value
    return design(ClusterSpec.model_validate(spec))


def artifact(fabric: Fabric, name: str) -> Artifact:
    (found,) = render(fabric, fabric.by_name[name])
    return found


def text_of(fabric: Fabric, name: str) -> str:
    return artifact(fabric, name).content.decode()


def block(text: str, head: str) -> list[str]:
    """The lines of a top-level block, without indentation."""
    return [line.strip() for line in text.split(f"\n{head}\n")[1].split("\n!\n", maxsplit=1)[0].splitlines()]


GOLDEN: dict[str, tuple[str, tuple[dict[str, Any], ...]]] = {
    "ctsw": ("z01-ctsw01", ()),
    "atsw": ("atsw001", ()),
    "ctsw-dual": ("z01-ctsw02", (DUAL,)),
    "ctsw-drained": ("z01-ctsw01", (DRAINED,)),
    "ctsw-planned": ("z01-ctsw01", (PLANNED,)),
    "rtsw-7388x5-dual": ("z01-rtsw001", (EOS_RACK, OPTICAL, DUAL)),
    "rtsw-7388x5-ipv4": ("z01-rtsw002", (EOS_RACK, OPTICAL, IPV4)),
}


@pytest.mark.parametrize("case", GOLDEN)
def test_golden(case: str, golden: Callable[[str, str], None]) -> None:
    name, changes = GOLDEN[case]
    golden(f"eos/{case}.cfg", text_of(fabric_of(*changes), name))


@pytest.mark.parametrize("case", GOLDEN)
def test_nothing_hidden_is_written(case: str) -> None:
    name, changes = GOLDEN[case]
    text = text_of(fabric_of(*changes), name)
    assert text.endswith("\n!\nend\n")
    written = [line for line in text.splitlines() if line.strip() not in ("!", "end")]
    assert normalise(text).splitlines() == written


def test_artifact_holds_placeholders_and_is_private() -> None:
    found = artifact(fabric_of(), "atsw001")
    assert (found.path, found.mode, found.secret, found.role, found.target) == (
        "/mnt/flash/startup-config",
        0o600,
        True,
        "atsw",
        "eos",
    )
    assert b"secret sha512 $SECRET{netops-hash}" in found.content
    assert not artifact(fabric_of({"management": {"users": []}}), "atsw001").secret


def test_two_ports_of_one_cage() -> None:
    """Racks at 200G: two ports a cage. The other lane of a half used cage is shut down, and the first lane of an unused one."""
    fabric = fabric_of(WEDGE_200G, {"backend": RACKS_3})
    text = text_of(fabric, "z01-ctsw01")
    names = re.findall(r"^interface (Ethernet\S+)", text, re.M)
    assert names[:5] == ["Ethernet3/1/1", "Ethernet3/1/5", "Ethernet3/2/1", "Ethernet3/2/5", "Ethernet3/3/1"]
    assert block(text, "interface Ethernet3/2/1")[:3] == [
        "description z01-rtsw003:eth1/1/1",
        "mtu 9000",
        "speed 200g-4",
    ]
    assert block(text, "interface Ethernet3/2/5") == ["shutdown"]
    assert block(text, "interface Ethernet3/3/1") == ["shutdown"]


@pytest.mark.parametrize(
    ("name", "changes"), [("z01-ctsw01", ()), ("atsw001", ()), ("z01-rtsw001", (EOS_RACK, OPTICAL))]
)
def test_every_cage_is_there_once_and_in_order(name: str, changes: tuple[dict[str, Any], ...]) -> None:
    fabric = fabric_of(*changes)
    text = text_of(fabric, name)
    places = [tuple(map(int, found)) for found in re.findall(r"^interface Ethernet(\d+)/(\d+)/(\d+)$", text, re.M)]
    assert places == sorted(set(places))
    assert len(places) == {"z01-ctsw01": 144, "atsw001": 144, "z01-rtsw001": 64}[name]
    used = {port.slot.name for port in fabric.ports(fabric.by_name[name])}
    for head in re.findall(r"^interface (Ethernet\S+)$", text, re.M):
        assert (block(text, f"interface {head}") == ["shutdown"]) == (head not in used)


def test_drained_switch_keeps_its_filters_and_makes_itself_long() -> None:
    text = text_of(fabric_of(DRAINED), "z01-ctsw01")
    neighbors = block(text, "router bgp 4220000000")
    assert "neighbor RTSW-V6 route-map RM-DRAIN-OUT out" in neighbors
    assert "neighbor ATSW-V6 route-map RM-DRAIN-OUT out" in neighbors
    assert "neighbor RTSW-V6 route-map RM-FABRIC-IN in" in neighbors
    assert "RM-FABRIC-OUT" not in text
    for number, name in ((10, "LOOPBACKS"), (20, "RACKS")):
        assert block(text, f"route-map RM-DRAIN-OUT permit {number}") == [
            f"match ipv6 address prefix-list PL6-{name}",
            "set as-path prepend 4220000000 4220000000 4220000000",
        ]


def test_planned_peer_has_a_port_but_no_session() -> None:
    text = text_of(fabric_of(PLANNED), "z01-ctsw01")
    assert block(text, "interface Ethernet3/2/1")[:2] == ["description planned: z01-rtsw002:eth8/1/1", "shutdown"]
    assert "neighbor 2001:db8:1::1 remote-as 4200000000" in text
    assert "remote-as 4200000001" not in text
    assert "description atsw009" not in text.split("router bgp")[1]
    assert "maximum-paths 28 ecmp 28" in text  # planned links count, so that deploying them changes no other line


def test_rtsw_tells_only_its_own_prefixes() -> None:
    text = text_of(fabric_of(EOS_RACK, OPTICAL, DUAL), "z01-rtsw001")
    assert block(text, "ip prefix-list PL-LOCAL") == ["seq 10 permit 10.255.2.1/32", "seq 20 permit 10.128.0.0/27"]
    assert "aggregate-address 10.128.0.0/27 summary-only" in text
    lists = [line for head in ("10", "20") for line in block(text, f"route-map RM-FABRIC-OUT permit {head}")]
    assert lists == ["match ip address prefix-list PL-LOCAL", "match ipv6 address prefix-list PL6-LOCAL"]


def test_without_aggregation_the_links_themselves_pass() -> None:
    fabric = fabric_of(EOS_RACK, OPTICAL, DUAL, {"bgp": {"aggregate_racks": False}})
    rtsw, ctsw = text_of(fabric, "z01-rtsw001"), text_of(fabric, "z01-ctsw01")
    assert "aggregate-address" not in rtsw
    assert block(rtsw, "ip prefix-list PL-LOCAL")[1] == "seq 20 permit 10.128.0.0/27 eq 31"
    assert block(ctsw, "ip prefix-list PL-RACKS") == ["seq 10 permit 10.128.0.0/14 eq 31"]
    assert block(ctsw, "ipv6 prefix-list PL6-RACKS") == ["seq 10 permit 2001:db8:8000::/47 eq 64"]


def test_every_session_has_its_link_and_family() -> None:
    fabric = fabric_of(EOS_RACK, OPTICAL, DUAL)
    for name in ("z01-rtsw001", "z01-ctsw01", "atsw001"):
        ports = [port for port in fabric.ports(fabric.by_name[name]) if port.role in ("up", "down")]
        found = re.findall(r"neighbor (\S+) remote-as", text_of(fabric, name))
        assert len(found) == len(set(found)) == 2 * len(ports)


def test_ipv6_only_activates_no_ipv4() -> None:
    text = text_of(fabric_of(), "z01-ctsw01")
    assert "ipv6 unicast-routing" in text
    for absent in ("address-family ipv4", "ip prefix-list PL-", "-V4", "   ip address 10.255"):
        assert absent not in text


def test_classes_of_the_control_plane_are_left_to_it() -> None:
    text = text_of(fabric_of(), "z01-ctsw01")
    assert "qos map dscp 48 to traffic-class 7" in text
    assert "tx-queue 7" not in text
    assert "qos map traffic-class 7" not in text
    assert "qos rewrite" not in text  # one DSCP a class would be left of many


SEEDED = {"overrides": [{"match": {"role": "ctsw"}, "set": {"hash_seed": 9}}]}
WRR_CONTROL = {"qos": {"control": {"scheduling": "wrr", "weight": 1}, "monitoring": None}}
LIMITS: dict[str, tuple[str, tuple[dict[str, Any], ...], list[str]]] = {
    "sand": ("z01-ctsw01", (), ["PFC headroom"]),
    "sand-seed": ("z01-ctsw01", (SEEDED,), ["hash seed", "PFC headroom"]),
    "atsw-no-seed": ("atsw001", (SEEDED,), ["PFC headroom"]),
    "trident-dlb": ("z01-rtsw001", (EOS_RACK, OPTICAL, {"load_balancing": {"method": "dlb"}}), ["UDF", "dynamic load balancing"]),
    "trident-ecmp": ("z01-rtsw001", (EOS_RACK, OPTICAL, {"load_balancing": {"method": "ecmp"}}), []),
    "pfc-priority": ("z01-ctsw01", ({"qos": {"lossless": {"pfc_priority": 4}}},), ["PFC priority 4", "PFC headroom"]),
    "control-wrr": ("z01-ctsw01", (WRR_CONTROL,), ["class control", "PFC headroom"]),
    "fboss": ("z01-rtsw001", (), []),
}  # fmt: skip


@pytest.mark.parametrize("case", LIMITS)
def test_unsupported_says_what_eos_is_not_given(case: str) -> None:
    name, changes, expected = LIMITS[case]
    fabric = fabric_of(*changes)
    found = unsupported(fabric, fabric.by_name[name])
    assert len(found) == len(expected)
    assert all(part in sentence for part, sentence in zip(expected, found, strict=True))


@pytest.mark.parametrize(
    ("source", "place", "hint"),
    [
        ("hostname {{ v.name }}\n{{ v.familly }}\n", f"templates/eos/{MAIN}:2: ", "near: family"),
        ("{% for p in v.ports %}\n\n{{ p.adress4 }}\n{% endfor %}", f"templates/eos/{MAIN}:3: ", "near: address4, "),
        ("{% for p in v.ports %}", f"templates/eos/{MAIN}:1: ", None),
        ("{{ x.y }}", f"templates/eos/{MAIN}:1: ", None),
    ],
)
def test_template_error_names_device_place_and_near_names(
    source: str, place: str, hint: str | None, tmp_path: Path
) -> None:
    (tmp_path / MAIN).write_text(source)
    fabric = fabric_of()
    view = device_view(fabric, fabric.by_name["atsw001"])
    env = Environment(loader=FileSystemLoader(tmp_path), undefined=StrictUndefined)  # noqa: S701
    with pytest.raises(FabricError) as caught:
        render_text(view, env)
    assert caught.value.message.startswith("atsw001: ")
    assert place in caught.value.message
    assert (caught.value.hint or "").startswith(hint or "")


def test_templates_are_found_and_compiled_once() -> None:
    assert environment("eos") is environment("eos")
    assert environment("eos").get_template(MAIN) is environment("eos").get_template(MAIN)


REFUSED: dict[str, dict[str, Any]] = {
    "EOS takes at most 7200, found 7203": {"bgp": {"timers": {"keepalive_s": 2401, "hold_s": 7203}}},
    "EOS takes at most 600 equal-cost paths, found 601": {
        "overrides": [{"match": {"role": "atsw"}, "set": {"ecmp_width": 601}}]
    },
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_eos_does_not_take_is_refused(message: str) -> None:
    with pytest.raises(FabricError) as caught:
        text_of(fabric_of(REFUSED[message]), "atsw001")
    assert caught.value.message == message


def test_port_without_interface_is_refused() -> None:
    fabric = fabric_of()
    switch = fabric.by_name["z01-ctsw01"]
    other = dataclasses.replace(switch, model="arista-7388x5", line_card=None)
    with pytest.raises(FabricError, match="z01-ctsw01: arista-7388x5 has no interface Ethernet6/10/1 at that speed"):
        port_views(other, fabric.ports(switch))


def test_switch_that_eos_does_not_run_on_is_refused() -> None:
    with pytest.raises(FabricError, match="z01-rtsw001: minipack2 does not run EOS"):
        text_of(fabric_of(), "z01-rtsw001")


# --- normalise ------------------------------------------------------------------------------------------------------------------

LINES = st.sampled_from(
    [
        "interface Ethernet3/1/1", "interface Ethernet3/2/1", "interface Loopback0", "   no shutdown", "   shutdown", "   mtu 9000",
        "!", "   !", "! comment", "", "   ", "end", "router bgp 65001", "   bgp bestpath as-path multipath-relax", "   router-id 10.0.0.1",
        "qos map dscp 24 26 48 to traffic-class 3", "qos map dscp 0 1 to traffic-class 1", "qos map dscp  to traffic-class 1",
        "banner login", "banner motd", "EOF", "management ssh", "hostname x", "hostname x  ", "lldp run",
    ]
)  # fmt: skip


@settings(deadline=None)
@given(st.one_of(st.text(), st.lists(LINES).map("\n".join)))
def test_normalise_is_idempotent(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


NORMALISED = {
    "interface Ethernet3/1/1\n   no shutdown\n   mtu 9000\n!\n": "interface Ethernet3/1/1\n   mtu 9000\n",
    "interface Ethernet3/1/2\n!\ninterface Ethernet3/1/3\n   shutdown\n": "interface Ethernet3/1/3\n   shutdown\n",
    "management api http-commands\n   no shutdown\n": "management api http-commands\n   no shutdown\n",
    "management ssh\n   no shutdown\n   !\n   vrf M\n      no shutdown\n": "management ssh\n   vrf M\n      no shutdown\n",
    "qos map dscp 24 26 48 to traffic-class 3\n": "qos map dscp 48 to traffic-class 3\n",
    "qos map dscp 24 26 to traffic-class 3\nend\n": "",
    "banner login\n! kept \n\nend\nEOF\n!\nend\n": "banner login\n! kept \n\nend\nEOF\n",
}


@pytest.mark.parametrize("text", NORMALISED)
def test_normalise(text: str) -> None:
    assert normalise(text) == NORMALISED[text]


def test_every_hidden_line_has_its_evidence_and_is_dropped() -> None:
    heads = {r"interface .*": "interface Loopback0", r"router bgp \d+": "router bgp 65001"}
    for entry in HIDDEN:
        assert entry.evidence
        head = heads.get(entry.block, entry.block)
        text = f"{head}\n   keep me\n   {entry.line}\n" if head else f"keep me\n{entry.line}\n"
        assert entry.line not in normalise(text)
        assert "keep me" in normalise(text)
