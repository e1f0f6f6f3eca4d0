"""The design's wiring is that of the reference's example fabric, port by port."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from fabric.design.ib.model import Subnet

End = tuple[str, int]


def net_links(text: str) -> set[frozenset[End]]:
    """Links of an ibsim net file, as pairs of (id, port)."""
    found: set[frozenset[End]] = set()
    node = ""
    for line in text.splitlines():
        if head := re.match(r'(?:Ca|Switch)\s+\d+\s+"([^"]+)"', line):
            node = head[1]
        elif port := re.match(r'\[(\d+)\]\s+"([^"]+)"\[(\d+)\]', line):
            found.add(frozenset({(node, int(port[1])), (port[2], int(port[3]))}))
    return found


def test_the_example_of_64_hcas(make_subnet: Callable[..., Subnet], reference_dir: Path) -> None:
    subnet = make_subnet(hosts=8, hosts_per_unit=8, switch_ports=16)
    name: dict[str, str] = {s.name: f"{s.tier}{s.number - 1:04d}" for s in subnet.switches}
    for index, host in enumerate(dict.fromkeys(hca.host for hca in subnet.hcas)):
        name |= {hca.name: f"gt{index:04d}-hca{hca.rail}" for hca in subnet.hcas if hca.host == host}
    ours = {frozenset({(name[link.a], link.a_port), (name[link.b], link.b_port)}) for link in subnet.links}
    theirs = net_links((reference_dir / "infiniband" / "example-64hca-2tier-rail.net").read_text(encoding="utf-8"))
    assert len(theirs) == 128
    assert ours == theirs
