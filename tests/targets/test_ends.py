"""The ends of sessions and links, from the very files that are rendered: which of them an edit of the spec touches, at both ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.spec.cluster import ClusterSpec
from fabric.spec.loader import load_model
from fabric.targets import render_devices
from fabric.targets.ends import Ends
from fabric.targets.eos.read_ends import read_ends as read_eos
from fabric.targets.fboss.read_ends import read_ends as read_fboss
from fabric.targets.job import ClusterJob

EDITS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "own AS numbers of one tier": ({"bgp.asn.rtsw": 64_600 + 32}, {"rtsw", "ctsw"}),
    "addresses of one tier's links": ({"addressing.ipv4.rtsw_links": "10.65.0.0/24"}, {"rtsw", "ctsw"}),
    "one family less": ({"addressing.family": "ipv6", "addressing.ipv4": None}, {"rtsw", "ctsw", "atsw"}),
    "MTU": ({"mtu.ip": 8900}, set()),
    "time servers": ({"management.ntp": ["10.0.0.21"]}, set()),
}


def ends(job: ClusterJob, name: str) -> Ends:
    target = next(ref.target for ref in job.devices if ref.name == name)
    return job.ends(target, {artifact.path: artifact.content for artifact in job.render(name)})


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_touches_both_ends_or_none(spec_file: Callable[..., Path], edit: str) -> None:
    change, roles = EDITS[edit]
    jobs = [
        render_devices(load_model(spec_file("lab", c, f"{i}.yaml"), ClusterSpec), None)
        for i, c in enumerate(({}, change))
    ]
    old, new = ({ref.name: ends(job, ref.name) for ref in job.devices} for job in jobs)
    for ref in jobs[0].devices:
        one, two, far = old[ref.name], new[ref.name], jobs[0].far_ends(ref.name)
        assert one.sessions
        assert all(
            end.port in far and end.local_asn.isdigit() and end.remote_asn.isdigit() for end in one.sessions.values()
        )
        touched = {end.port for peer, end in one.sessions.items() if two.sessions.get(peer) != end}
        assert bool(touched) is (ref.role in roles)
        for port in touched:
            name, far_port = far[port]
            assert any(e.port == far_port and new[name].sessions.get(p) != e for p, e in old[name].sessions.items())
        assert one.links == two.links


def test_what_a_link_must_agree_on() -> None:
    text = "interface Ethernet1/1\n   speed 400g-8\n   ip address 10.0.0.1/31\n!\ninterface Ethernet1/2\n   shutdown\n"
    assert read_eos(text).links == {"Ethernet1/1": ("speed 400g-8",), "Ethernet1/2": ("shutdown",)}
    agent = (
        b'{"sw": {"ports": [{"logicalID": 5, "name": "eth1/1/1", "state": 2, "speed": 400000}], "interfaces": "no"}}'
    )
    assert read_fboss({"/etc/coop/agent.conf": agent}).links == {"eth1/1/1": ("2", "400000", "", "")}


BGP = """router bgp 1
   neighbor G peer group
   neighbor G remote-as 9
   neighbor G local-as 8 no-prepend replace-as
   neighbor 10.0.0.2 peer group G
   neighbor 10.0.0.4 remote-as 7
   no neighbor 10.0.0.4 shutdown
   address-family ipv4
      neighbor G activate
      no neighbor 10.0.0.4 activate
   vrf X
      neighbor 10.9.9.9 remote-as 3
"""


def test_a_group_counts_for_its_members() -> None:
    found = read_eos(BGP).sessions
    assert {peer: (e.local_asn, e.remote_asn, e.families) for peer, e in found.items()} == {
        "10.0.0.2": ("8 no-prepend replace-as", "9", ("ipv4",)),
        "10.0.0.4": ("1", "7", ("no ipv4",)),
    }


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"sw": 1, "peers": {}}', b"\xff", None])
def test_what_is_no_configuration_says_nothing(content: bytes | None) -> None:
    assert read_fboss({"/etc/coop/agent.conf": content, "/etc/coop/bgpcpp/bgpcpp.conf": content}) == Ends({}, {})
    assert read_eos((content or b"").decode("latin1")) == Ends({}, {})
