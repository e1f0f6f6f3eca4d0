"""What the virtual EOS makes of a configuration: interfaces of the kernel, routing of FRR."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fabric.lab.eos import config
from fabric.lab.eos.bgpconf import frr_text
from fabric.lab.eos.device import NodeFile
from fabric.lab.eos.editor import Editor
from fabric.lab.eos.program import Interface, batch, wanted
from fabric.lab.eos.tree import Node
from tests.lab_unit.veos_box import VeosBox

GOLDEN = Path(__file__).parents[1] / "golden" / "eos"


def tree(text: str) -> Node:
    root = config.clean(config.Hardware(("Ethernet3/1/1", "Ethernet3/2/1"), "x", "4.33.1F"))
    assert config.load(Editor(root), text.splitlines()) == []
    return root


def node(tmp_path: Path) -> NodeFile:
    return VeosBox(tmp_path).switch.node


def test_interfaces_of_a_configuration(tmp_path: Path) -> None:
    root = tree(
        "interface Ethernet3/1/1\nmtu 9000\nno switchport\nip address 10.0.0.0/31\nipv6 address 2001:db8::/127\n"
        "interface Ethernet3/2/1\nshutdown\ninterface Loopback0\nip address 10.255.0.1/32\n"
    )
    assert wanted(root, node(tmp_path)) == {
        "et3_1_1": Interface(True, 9000, frozenset({"10.0.0.0/31", "2001:db8::/127"})),
        "et3_2_1": Interface(False),
        "lo": Interface(True, 65536, frozenset({"10.255.0.1/32"})),
    }


def test_a_bridged_port_has_no_address(tmp_path: Path) -> None:
    assert (
        wanted(tree("interface Ethernet3/1/1\nip address 10.0.0.0/31"), node(tmp_path))["et3_1_1"].addresses
        == frozenset()
    )


@pytest.mark.parametrize(
    ("old", "new", "commands"),
    [
        (Interface(True, 9000), Interface(True, 9000), []),
        (Interface(True, 9000), Interface(True, 1500), ["link set dev et1 mtu 1500"]),
        (Interface(True), Interface(False), ["link set dev et1 down"]),
        (
            Interface(False, addresses=frozenset({"2001:db8::/127"})),
            Interface(True, addresses=frozenset({"2001:db8::/127"})),
            ["link set dev et1 up", "addr replace 2001:db8::/127 dev et1 nodad"],
        ),
        (
            Interface(True, addresses=frozenset({"10.0.0.0/31"})),
            Interface(True, addresses=frozenset({"10.0.0.2/31"})),
            ["addr del 10.0.0.0/31 dev et1", "addr replace 10.0.0.2/31 dev et1"],
        ),
    ],
)
def test_only_what_differs_is_touched(old: Interface, new: Interface, commands: list[str]) -> None:
    assert batch({"et1": old}, {"et1": new}) == commands


def test_the_text_of_frr_does_not_change_with_what_is_not_routing() -> None:
    text = (GOLDEN / "ctsw-dual.cfg").read_text(encoding="utf-8")
    other = text.replace("   mtu 9000", "   mtu 9214").replace("bandwidth percent 80", "bandwidth percent 70")
    assert other != text
    assert frr_text(tree(text), "a", str, bfd=False) == frr_text(tree(other), "a", str, bfd=False)


def test_routing_in_the_words_of_frr() -> None:
    root = tree(
        "ip prefix-list P\nseq 10 permit 10.0.0.0/8 eq 32\nseq 20 permit 10.0.0.0/8 ge 8 le 24\nroute-map R permit 10\n"
        "match ip address prefix-list P\nip routing\nrouter bgp 65001\nrouter-id 10.0.0.1\nno bgp default ipv4-unicast\ntimers bgp 3 9\n"
        "maximum-paths 16 ecmp 16\nneighbor G peer group\nneighbor G bfd\nneighbor G route-map R in\n"
        "neighbor G maximum-routes 100 warning-only\n"
        "neighbor 10.0.0.2 peer group G\nneighbor 10.0.0.2 remote-as 65002\nneighbor 10.0.0.2 shutdown\nredistribute connected route-map R\n"
        "aggregate-address 10.1.0.0/16 summary-only\naddress-family ipv4\nneighbor G activate\n"
    )
    lines = [line.strip() for line in frr_text(root, "sw", str, bfd=True).splitlines()]
    for line in (
        "ip prefix-list P seq 10 permit 10.0.0.0/8 ge 32 le 32",
        "ip prefix-list P seq 20 permit 10.0.0.0/8 le 24",
        "bgp router-id 10.0.0.1",
        "timers bgp 3 9",
        "bgp bestpath as-path multipath-relax",
        "neighbor G bfd",
        "neighbor 10.0.0.2 remote-as 65002",
        "neighbor 10.0.0.2 peer-group G",
        "neighbor 10.0.0.2 shutdown",
        "maximum-paths 16",
        "neighbor G route-map R in",
        "no neighbor G send-community all",
        "neighbor G maximum-prefix 100 warning-only",
        "redistribute connected route-map R",
        "aggregate-address 10.1.0.0/16 summary-only",
        "distance bgp 200 200 200",
    ):
        assert line in lines, line
    assert lines.count("neighbor G activate") == 1, "IPv6 was not asked for"


@pytest.mark.skipif(shutil.which("vtysh") is None, reason="needs FRR's vtysh")
@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.cfg")), ids=lambda path: path.stem)
def test_frr_reads_what_is_written_for_it(path: Path, tmp_path: Path) -> None:
    """vtysh -C parses every line (the daemons need not run)."""
    target = tmp_path / "frr.conf"
    target.write_text(frr_text(tree(path.read_text(encoding="utf-8")), "sw", str, bfd=False), encoding="utf-8")
    done = subprocess.run(["vtysh", "-C", "-f", str(target)], capture_output=True, text=True, check=False)
    assert (done.returncode, "Unknown command" in done.stdout + done.stderr) == (0, False), done.stdout + done.stderr
