"""The designs of the inventories against the published and derived figures of the clusters that they model."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from fabric.design.fabric import Fabric
from fabric.design.figures import figures, optics
from fabric.design.infiniband import fat_tree
from fabric.errors import DesignError
from fabric.spec.cluster import ClusterSpec


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


@pytest.mark.parametrize(
    ("gpus", "stripe", "counts", "links"),
    [  # NVIDIA's SuperPOD table and the derivations from it
        (512, "even", (16, 8, 0), (0, 0)),
        (1_024, "even", (32, 16, 0), (0, 0)),
        (2_048, "even", (64, 32, 0), (0, 0)),
        (4_096, "even", (128, 128, 64), (16, 16)),
        (8_192, "even", (256, 256, 128), (8, 8)),
        (16_384, "even", (512, 512, 256), (4, 4)),
        (24_576, "even", (768, 768, 512), (2, 2)),
        (24_576, "minimal", (768, 768, 384), (2, 3)),
    ],
)
def test_infiniband_counts(gpus: int, stripe: str, counts: tuple[int, int, int], links: tuple[int, int]) -> None:
    tree = fat_tree(_infiniband({"hosts": gpus // 8, "core_stripe": stripe}))
    assert (tree.leaves, tree.spines, tree.cores) == counts
    assert tree.stripe == links


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        (
            {"hosts": 8193},
            "257 units of 32 hosts x 8 NICs are 65,792 endpoints, three tiers of 64-port switches end at 64^3 / 4 = 65,536",
        ),
        (
            {"hosts": 64, "hosts_per_unit": 33},
            "33 hosts a unit need 33 downlinks on each leaf, a qm9700 has 32 beside as many uplinks",
        ),
        ({"hosts": 8192}, "70,656 LIDs are needed (LMC 0), a subnet has 49,151 unicast LIDs"),
        ({"hosts": 8, "switch": "minipack2"}, "minipack2 is not an InfiniBand switch"),
    ],
)
def test_infiniband_refusals(backend: dict[str, Any], message: str) -> None:
    with pytest.raises(DesignError) as caught:
        fat_tree(_infiniband(backend))
    assert caught.value.message == message


def _infiniband(backend: dict[str, Any]) -> ClusterSpec:
    site = {"name": "dc1", "domain": "example.net"}
    data = {
        "schema": 1,
        "name": "ib",
        "site": site,
        "hosts": {"platform": "grand-teton-h100"},
        "backend": {"kind": "infiniband", **backend},
    }
    return ClusterSpec.model_validate(data)
