"""In the lab: what an operator commits on a virtual EOS is what FRR and the kernel do, and only until its timer ends."""

from __future__ import annotations

import json

import pytest

from fabric.lab.frr import ZEBRA_LINE
from tests.lab.conftest import LabUnderTest, wait_until

pytestmark = pytest.mark.lab

NODE, ADDRESS, PEER = "z02-rtsw001", "10.0.1.33", "10.64.0.64"


def eos(lab: LabUnderTest, *lines: str) -> str:
    """Lines typed one after the other in one login."""
    return lab.ssh("netops", ADDRESS, "\n".join(lines)).stdout


def peer_state(lab: LabUnderTest) -> str:
    return _state(eos(lab, "show ip bgp summary | json"))


def _state(text: str) -> str:
    answer = json.loads(text)
    return str(answer["vrfs"]["default"]["peers"][PEER]["peerState"])


def own_as(lab: LabUnderTest) -> str:
    return str(json.loads(eos(lab, "show ip bgp summary | json"))["vrfs"]["default"]["asn"])


def test_a_neighbour_shut_down_under_a_timer_comes_back(faulty_lab: LabUnderTest) -> None:
    asn = own_as(faulty_lab)
    edit = ("configure session drain", f"router bgp {asn}", f"neighbor {PEER} shutdown", "commit timer 00:00:10")
    # asked in the same login: on a busy machine the next one may come after the timer
    assert _state(eos(faulty_lab, *edit, "show ip bgp summary | json")) == "Idle"
    wait_until(lambda: peer_state(faulty_lab) == "Established", 60)
    assert f"{PEER} shutdown" not in eos(faulty_lab, "show running-config")


def test_frr_holds_exactly_what_is_committed(faulty_lab: LabUnderTest) -> None:
    """After each step frr-reload, asked what it would still change, names only its own habits."""
    asn = own_as(faulty_lab)
    eos(faulty_lab, "configure checkpoint save before")
    steps = [
        (f"router bgp {asn}", "timers bgp 3 9", "maximum-paths 1 ecmp 1"),
        (f"router bgp {asn}", "no graceful-restart", f"no neighbor {PEER}"),
        ("ip prefix-list PL-LOOPBACKS", "seq 10 permit 10.254.0.0/15 eq 32", "seq 20 deny 10.0.0.0/8"),
        ("no router bgp",),
    ]
    for number, step in enumerate(steps):
        assert eos(faulty_lab, f"configure session s{number}", *step, "commit") == "", step
        assert _left(faulty_lab) == [], step
    assert eos(faulty_lab, "configure checkpoint restore before") == ""
    assert _left(faulty_lab) == []
    assert "%PROGRAM" not in eos(faulty_lab, "show logging")


def _left(lab: LabUnderTest) -> list[str]:
    """What frr-reload would change. The value 120 is FRR's own default, which it does not show; the seat's host name is vtysh's."""
    whole = f"/run/frr/{NODE}/whole.conf"  # zebra's own line stands in no file that bgpd reads
    lab.seat("sh", "-c", f"printf %s '{ZEBRA_LINE}' | cat - /etc/frr/{NODE}/frr.conf > {whole}")
    said = lab.seat(
        "/usr/bin/python3", "/usr/lib/frr/frr-reload.py", "--test", "--pathspace", NODE, "--confdir", "/etc/frr",
        "--rundir", f"/run/frr/{NODE}", "--bindir", "/usr/bin", "--stdout", whole,
    ).stdout  # fmt: skip
    habits = ("Lines To", "====", "no hostname", "router bgp", "bgp graceful-restart restart-time 120", "20")
    return [line for line in said.splitlines() if line.strip() and not line.strip().startswith(habits)]


def test_mtu_and_admin_state_take_effect_at_once(faulty_lab: LabUnderTest) -> None:
    def link() -> tuple[int, bool]:
        shown = json.loads(eos(faulty_lab, "bash ip -j link show et2_1_1 2>/dev/null"))[0]
        return shown["mtu"], "UP" in shown["flags"]

    before = link()
    eos(faulty_lab, "configure checkpoint save links")
    assert eos(faulty_lab, "configure terminal", "interface Ethernet2/1/1", "mtu 4000", "shutdown", "end") == ""
    assert link() == (4000, False)
    assert eos(faulty_lab, "configure checkpoint restore links") == ""
    assert link() == before
