"""What the virtual FBOSS switch takes, refuses, and makes of bgpcpp.conf; no root needed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.lab.fboss import conf, desired, faults, install, program
from fabric.lab.fboss.bgp_frr import frr_conf
from fabric.lab.fboss.bgp_policy import NotImitatedError, prefix_rows
from fabric.lab.fboss.kernel import LinkState
from fabric.lab.fboss.node import AGENT_CONF, AGENT_LOG, BGP_CONF
from tests.lab_unit.vfboss_box import GOLDEN, golden_agent, make_node, put

MODELS = {"wedge400-200g-rtsw": "wedge400", "wedge400-400g-rtsw": "wedge400", "elbert-rtsw": "arista-7388x5"}
AGENTS = sorted(path.name.removesuffix(".agent.conf") for path in GOLDEN.glob("*.agent.conf"))
BGPS = sorted(path.name.removesuffix(".bgpcpp.conf") for path in GOLDEN.glob("*.bgpcpp.conf"))


def bgp_of(case: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads((GOLDEN / f"{case}.bgpcpp.conf").read_text(encoding="utf-8"))
    return made


@pytest.mark.parametrize("case", AGENTS)
def test_rendered_agent_conf_is_taken(case: str, tmp_path: Path) -> None:
    wanted = golden_agent(case)
    node = make_node(tmp_path, wanted, model=MODELS.get(case, "minipack2"))
    wish = desired.wish(conf.read_agent(node), node.ports)
    up = [port["name"] for port in wanted["sw"]["ports"] if port["state"] == 2]
    assert [port.port for port in wish.ports.values() if port.up] == up
    routed = {text for svi in wanted["sw"]["interfaces"] for text in svi["ipAddresses"]}
    programmed = {text for port in wish.ports.values() for text in port.addresses} | wish.loopback
    assert programmed == {desired.canonical(text) for text in routed}
    assert wish.notes == ()


@pytest.mark.parametrize("case", AGENTS)
def test_a_new_box_starts_without_a_port(case: str, tmp_path: Path) -> None:
    node = make_node(tmp_path, install.blank_agent(golden_agent(case)), model=MODELS.get(case, "minipack2"))
    wish = desired.wish(conf.read_agent(node), {"eth2/1/1": "eth2_1_1"})
    assert not wish.ports["eth2_1_1"].up
    assert wish.loopback == frozenset()
    assert wish.routes == {}


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "unknown key": (lambda sw: sw.update(portz=[]), 'sw.portz: SwitchConfig has no such key (did you mean "ports"?)'),
    "unknown enum": (lambda sw: sw["ports"][0].update(state=7), "sw.ports[0].state: PortState has no value 7"),
    "wrong type": (lambda sw: sw["ports"][0].update(speed="400G"), "sw.ports[0].speed: expected a number of PortSpeed"),
    "speed of profile": (lambda sw: sw["ports"][0].update(speed=100000), "sw.ports[0].speed"),
    "port of another box": (lambda sw: sw["ports"][0].update(logicalID=9999), "sw.ports[0].logicalID"),
    "same subnet twice": (
        lambda sw: sw["interfaces"][0].update(ipAddresses=sw["interfaces"][1]["ipAddresses"]),
        "sw.interfaces[1].ipAddresses",
    ),
    "empty sw": (lambda sw: sw.clear(), "sw: is missing or empty"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_agent_conf_is_said_in_the_log(case: str, tmp_path: Path) -> None:
    change, said = REFUSED[case]
    wrong = golden_agent("dual-rtsw")
    change(wrong["sw"])
    node = make_node(tmp_path, wrong)
    with pytest.raises(conf.RefusedError) as error:
        conf.read_agent(node)
    assert any(line.startswith(f"{AGENT_CONF}: {said}") for line in error.value.lines)
    assert said in node.path(AGENT_LOG).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ('{"sw": 1, "sw": 2}', "stands twice"),
        ("[]", "not an object"),
        (None, "cannot be read: No such file"),
    ],
)
def test_broken_agent_conf(text: str | None, said: str, tmp_path: Path) -> None:
    node = make_node(tmp_path)
    if text is not None:
        put(node, AGENT_CONF, text)
    with pytest.raises(conf.RefusedError, match=said):
        conf.read_agent(node)


def test_refused_bgp(tmp_path: Path) -> None:
    wrong = bgp_of("dual-rtsw")
    wrong["peers"][0]["next_hop4"] = ""
    node = make_node(tmp_path)
    put(node, BGP_CONF, wrong)
    with pytest.raises(conf.RefusedError, match=r"peers\[0\].next_hop4: is needed on every peer"):
        conf.read_bgp(node)


@pytest.mark.parametrize("case", ["dual-rtsw", "drained-rtsw", "drained-ctsw"])
def test_bgp_becomes_frr(case: str, golden: Callable[[str, str], None]) -> None:
    golden(f"vfboss/{case}.frr.conf", frr_conf(bgp_of(case), "box"))


@pytest.mark.parametrize("case", BGPS)
def test_every_peer_and_policy_of_rendered_bgp_is_in_frr(case: str) -> None:
    given = bgp_of(case)
    made = frr_conf(given, "box").splitlines()
    for peer in given["peers"]:
        assert f" neighbor {peer['peer_addr']} remote-as {peer['remote_as_4_byte']}" in made
    for name in (one["name"] for one in given["policies"]["bgp_policy_statements"]):
        assert f"route-map {name} permit 10" in made
    for network in given["networks6"]:
        assert f"  network {network['prefix']}" in made


EQ, GE, LE, NE = 1, 2, 3, 4


@pytest.mark.parametrize(
    ("base", "ranges", "rows"),
    [
        ("10.0.0.0/8", [(EQ, 8)], ["permit 10.0.0.0/8"]),
        ("10.0.0.0/8", [], ["permit 10.0.0.0/8"]),
        ("10.0.0.0/8", [(EQ, 24)], ["permit 10.0.0.0/8 ge 24 le 24"]),
        ("10.0.0.0/8", [(GE, 24)], ["permit 10.0.0.0/8 ge 24"]),
        ("10.0.0.0/8", [(LE, 24)], ["permit 10.0.0.0/8 le 24"]),
        ("10.0.0.0/8", [(GE, 8)], ["permit 10.0.0.0/8 le 32"]),
        ("10.0.0.0/8", [(GE, 16), (LE, 24)], ["permit 10.0.0.0/8 ge 16 le 24"]),
        ("10.0.0.0/30", [(NE, 31)], ["permit 10.0.0.0/30", "permit 10.0.0.0/30 ge 32"]),
        ("10.0.0.0/8", [(EQ, 4)], []),
        ("2001:db8::/32", [(EQ, 128)], []),
    ],
)
def test_lengths_of_prefix_lists(base: str, ranges: list[tuple[int, int]], rows: list[str]) -> None:
    entry = {"base_prefix": base, "prefix_len_ranges": [{"compare_operator": op, "value": n} for op, n in ranges]}
    assert prefix_rows(entry, 4) == rows


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda bgp: bgp["peers"][0].update(is_confed_peer=True), "confederations"),
        (lambda bgp: bgp["policies"]["bgp_policy_statements"][0].update(name="a b"), "'a b' is no name"),
        (
            lambda bgp: bgp["policies"]["bgp_policy_statements"][0]["policy_entries"][0].update(
                policy_match_entries={"match_entries": [{"type": 2}]}
            ),
            "match type AS_PATH is not imitated",
        ),
    ],
)
def test_what_frr_is_not_given_is_refused(change: Callable[[Any], None], said: str) -> None:
    given = bgp_of("dual-rtsw")
    change(given)
    with pytest.raises(NotImitatedError, match=said):
        frr_conf(given, "box")


def test_a_description_cannot_bring_its_own_line() -> None:
    given = bgp_of("dual-rtsw")
    given["peers"][0]["description"] = "x\nrouter bgp 1"
    assert "router bgp 1" not in frr_conf(given, "box").splitlines()


# --- differences only ------------------------------------------------------------------------------------------------------------
def _now(wish: desired.Wish) -> dict[str, LinkState]:
    """A kernel that is as wished."""
    nothing: dict[str, int] = {}
    links = {
        name: LinkState(port.up, port.up, port.mtu, "", "", port.addresses, (), nothing, nothing)
        for name, port in wish.ports.items()
    }
    return {**links, "lo": LinkState(True, True, 65536, "", "", wish.loopback, (), nothing, nothing)}


def test_only_what_changed_is_programmed() -> None:
    old = golden_agent("dual-rtsw")
    links = {port["name"]: port["name"].replace("/", "_") for port in old["sw"]["ports"]}
    before = desired.wish(old, links)
    assert list(program.batch(before, _now(before), before.routes)) == []
    new = copy.deepcopy(old)
    svi = new["sw"]["interfaces"][0]
    svi.update(mtu=8000)
    new["sw"]["ports"][1].update(state=1)
    moved = new["sw"]["interfaces"][-1]["ipAddresses"].pop()
    gone = new["sw"]["staticRoutesToNull"].pop()["prefix"]
    lines = list(program.batch(desired.wish(new, links), _now(before), before.routes))
    names = [links[port["name"]] for port in old["sw"]["ports"]]
    assert lines == [
        f"route del blackhole {gone} proto static",
        f"addr del {moved} dev lo",
        f"link set dev {names[0]} mtu 8000",
        f"link set dev {names[1]} down",
    ]


def test_first_programming_of_a_box(golden: Callable[[str, str], None]) -> None:
    wanted = golden_agent("dual-rtsw")
    links = {port["name"]: port["name"].replace("/", "_") for port in wanted["sw"]["ports"]}
    blank = LinkState(False, False, 1500, "", "", frozenset(), (), {}, {})
    now = {**dict.fromkeys(links.values(), blank), "lo": blank}
    golden("vfboss/dual-rtsw.ip.txt", "\n".join(program.batch(desired.wish(wanted, links), now, {})) + "\n")


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        (None, {"a": 2, "b": [{"c": 2}]}),
        (["a"], {"a": 1, "b": [{"c": 2}]}),
        (["b[0].c"], {"a": 2, "b": [{"c": 1}]}),
        (["no.such"], {"a": 2, "b": [{"c": 2}]}),
        (True, {"a": 1, "b": [{"c": 1}]}),
    ],
)
def test_fault_keep(keep: object, kept: dict[str, Any]) -> None:
    assert faults.keep_old({"a": 2, "b": [{"c": 2}]}, {"a": 1, "b": [{"c": 1}]}, keep) == kept
