"""Published and derived counts: NVIDIA's SuperPOD tables, the three ways to stripe 24,576 endpoints, RSC."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from fabric.design.ib.model import Subnet
from fabric.design.ib.shape import tree_of
from fabric.errors import DesignError
from fabric.spec.cluster import ClusterSpec

Spec = Callable[..., ClusterSpec]


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
        (256, "even", (8, 4, 0), (0, 0)),
        (768, "even", (24, 16, 0), (0, 0)),  # NVIDIA: 16, where 12 would carry it unevenly
        (24_576, "minimal", (768, 768, 384), (2, 3)),
        (24_576, "narrow-pods", (768, 1_024, 384), (2, 2)),
        (32_768, "minimal", (1_024, 1_024, 512), (2, 2)),
    ],
)
def test_counts(
    make_ib_spec: Spec, gpus: int, stripe: str, counts: tuple[int, int, int], links: tuple[int, int]
) -> None:
    tree = tree_of(make_ib_spec(hosts=gpus // 8, core_stripe=stripe))
    assert (tree.leaves, len(tree.pods) * tree.planes, tree.cores * tree.planes) == counts
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
        (
            {"hosts": 8192},
            "75,776 LIDs are needed (LMC 0; 5,120 of them for the SHARP aggregation nodes of the switches), a subnet has 49,151 unicast LIDs",
        ),
        ({"hosts": 8, "switch": "minipack2"}, "minipack2 is not an InfiniBand switch"),
    ],
)
def test_refusals(make_ib_spec: Spec, backend: dict[str, object], message: str) -> None:
    with pytest.raises(DesignError) as caught:
        tree_of(make_ib_spec(**backend))
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("stripe", "hosts", "counts"),
    [
        ("minimal", 48, (48, 48, 24)),
        ("even", 48, (48, 48, 32)),
        ("narrow-pods", 48, (48, 64, 24)),
        ("even", 64, (64, 64, 32)),
    ],
)
def test_the_models_of_one_64th(
    make_subnet: Callable[..., Subnet], stripe: str, hosts: int, counts: tuple[int, int, int]
) -> None:
    small = {"switch_ports": 16, "hosts_per_unit": 8, "hosts": hosts, "core_stripe": stripe}
    if stripe == "narrow-pods":
        small["leaves_per_pod"] = 6  # units have 8 leaves here, so pods of whole units cannot be narrower
    found = Counter(switch.tier for switch in make_subnet(**small).switches)
    assert (found["leaf"], found["spine"], found["core"]) == counts


def test_rsc(make_subnet: Callable[..., Subnet]) -> None:
    subnet = make_subnet(platform="dgx-a100", switch="qm8700", hosts=2_000, hosts_per_unit=20, pods="rail-first")
    found = Counter(switch.tier for switch in subnet.switches)
    assert (len(subnet.hcas), found) == (16_000, {"leaf": 800, "spine": 800, "core": 400})
    assert Counter(link.tier for link in subnet.links) == {"host": 16_000, "leaf": 16_000, "spine": 16_000}
    assert subnet.figures.lids == 18_000
