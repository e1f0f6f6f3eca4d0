"""The designs of the inventories against the published and derived figures of the clusters that they model."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from fabric.design.fabric import Fabric
from fabric.design.figures import figures, optics


def test_roce_24k_has_the_published_counts(make_fabric: Callable[..., Fabric]) -> None:
    known = figures(make_fabric("roce-24k"))
    zone = known.zones[0]
    assert (known.gpus, known.hosts, known.racks, len(known.zones)) == (24_576, 3_072, 1_536, 8)
    assert known.switches == {"rtsw": 1_536, "ctsw": 144, "atsw": 28}
    assert known.links == {"host": 24_576, "rtsw": 27_648, "ctsw": 4_032}
    assert (known.sessions, known.paths_in_zone, known.paths_across_zones) == (31_680, 18, 9_072)
    assert optics(known.cables) == {"400g-fr4": 63_360}
    assert (zone.gpus, zone.spare, zone.ctsw_ports_used, zone.ctsw_ports) == (3_072, 2, 220, 288)
    assert (known.atsw_ports_used, known.atsw_ports) == (144, 144)
    assert (zone.rtsw.by_bandwidth, zone.ctsw.by_port, zone.host_ratio) == (
        Fraction(16, 18),
        Fraction(192, 28),
        Fraction(3072, 504),
    )


def test_minipack2_uses_the_grand_teton_port_map(make_fabric: Callable[..., Fabric]) -> None:
    fabric = make_fabric("roce-24k")
    ports = {port.slot.name: port for port in fabric.ports(fabric.by_name["z03-rtsw100"])}
    odd = range(1, 16, 2)
    assert [n for n, p in ports.items() if p.role == "host"] == [f"eth{pim}/{cage}/1" for pim in (2, 3) for cage in odd]
    uplinks = [f"eth{pim}/{cage}/1" for pim in (8, 9) for cage in odd] + ["eth7/1/1", "eth7/9/1"]
    assert [n for n, p in ports.items() if p.role == "up"] == uplinks
    assert [n for n, p in ports.items() if p.role == "front-end"] == ["eth7/3/1"]
    assert len(ports) == 35
    assert {p.peer for p in ports.values() if p.role == "up"} == {f"z03-ctsw{number:02d}" for number in range(1, 19)}
