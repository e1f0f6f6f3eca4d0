"""Steps from one FRR configuration to another: only what differs, references before what they refer to are removed last."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.lab.eos import config
from fabric.lab.eos.bgpconf import frr_text
from fabric.lab.eos.bgpdiff import commands
from fabric.lab.eos.editor import Editor

TEXT = (Path(__file__).parents[1] / "golden" / "eos" / "rtsw-7388x5-dual.cfg").read_text(encoding="utf-8")
HEAD = "router bgp 4200000000"


def frr(text: str) -> str:
    root = config.clean(config.Hardware((), "x", "4.33.1F"))
    assert config.load(Editor(root), text.splitlines()) == []
    return frr_text(root, "sw", str, bfd=False)


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("mtu 9000", "mtu 9214", []),
        ("timers bgp 10 30", "timers bgp 3 9", [HEAD, " timers bgp 3 9", "exit"]),
        (
            "neighbor 10.64.0.0 description",
            "neighbor 10.64.0.0 shutdown\n   neighbor 10.64.0.0 description",
            [HEAD, " neighbor 10.64.0.0 shutdown", "exit"],
        ),
        (
            "seq 10 permit 10.255.0.0/16 eq 32",
            "seq 10 permit 10.254.0.0/15 eq 32",
            ["ip prefix-list PL-LOOPBACKS seq 10 permit 10.254.0.0/15 ge 32 le 32"],
        ),
        (
            "neighbor CTSW-V4 route-map RM-FABRIC-OUT out",
            "neighbor CTSW-V4 route-map RM-FABRIC-IN out",
            [
                HEAD,
                " address-family ipv4 unicast",
                "  neighbor CTSW-V4 route-map RM-FABRIC-IN out",
                " exit-address-family",
                "exit",
            ],
        ),
        (
            "neighbor 10.64.0.0 remote-as 4220000000",
            "neighbor 10.64.0.0 remote-as 65001",
            [
                HEAD,
                " no neighbor 10.64.0.0",
                " neighbor 10.64.0.0 remote-as 65001",
                " neighbor 10.64.0.0 peer-group CTSW-V4",
                " neighbor 10.64.0.0 description z01-ctsw01",
                "exit",
            ],
        ),
    ],
)
def test_only_what_differs_is_sent(old: str, new: str, wanted: list[str]) -> None:
    assert old in TEXT
    other = TEXT.replace(old, new)
    sent = commands(frr(TEXT), frr(other))
    if "remote-as" not in old:
        assert sent == wanted
    else:  # the order of the neighbour's lines is that of the whole text
        assert (sent[:2], sorted(sent[2:])) == (wanted[:2], sorted(wanted[2:]))


def test_what_is_referred_to_goes_last_and_comes_first() -> None:
    more = TEXT.replace("neighbor CTSW-V4 route-map RM-FABRIC-IN in", "neighbor CTSW-V4 route-map RM-NEW in").replace(
        "router bgp",
        "ip prefix-list PL-NEW\n   seq 10 permit 10.0.0.0/8\nroute-map RM-NEW permit 10\n   match ip address prefix-list PL-NEW\nrouter bgp",
    )
    there = commands(frr(TEXT), frr(more))
    assert [line for line in there if "NEW" in line] == [
        "ip prefix-list PL-NEW seq 10 permit 10.0.0.0/8",
        "route-map RM-NEW permit 10",
        " match ip address prefix-list PL-NEW",
        "  neighbor CTSW-V4 route-map RM-NEW in",
    ]
    back = commands(frr(more), frr(TEXT))
    assert back[-2:] == ["no route-map RM-NEW permit 10", "no ip prefix-list PL-NEW seq 10 permit 10.0.0.0/8"]


def test_a_new_as_number_starts_from_nothing() -> None:
    sent = commands(frr(TEXT), frr(TEXT.replace(HEAD, "router bgp 65000")))
    assert sent[:2] == [f"no {HEAD}", "router bgp 65000"]
    assert sum(line.endswith(" peer-group CTSW-V4") for line in sent) == TEXT.count(" peer group CTSW-V4")
