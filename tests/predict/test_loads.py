"""Loads of flows: sums that must hold, a hash that is fair, cases worked by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fabric.design.fabric import Fabric
from fabric.errors import FabricError
from fabric.predict.failures import without
from fabric.predict.from_design import fabric_net
from fabric.predict.hashing import HashPolicy, mix, pick
from fabric.predict.load import crossing, flows, link_loads, loads, paths, seed_norms, spray_loads
from fabric.predict.loops import check
from fabric.predict.maxmin import max_min
from fabric.predict.net import Floats, Ints, Net, norm

ZONES = {
    "backend.zones": [{"id": "1-3", "racks": 8, "rack_profile": "eos-rack"}],
    "backend.rack_profiles.eos-rack.uplinks": 4,
}
LAYOUTS: dict[str, dict[str, Any]] = {
    "lab": {},
    "three zones": ZONES,
    "two planes, parallel links": {
        **ZONES,
        "backend.atsw.planes": 2,
        "backend.atsw.count": 2,
        "backend.ctsw.uplinks": 4,
    },
}


@pytest.fixture
def net(make_fabric: Callable[..., Fabric]) -> Callable[..., Net]:
    return lambda layout="lab": fabric_net(make_fabric("lab", LAYOUTS[layout]))


def random_flows(net: Net, count: int, seed: int = 0) -> tuple[Ints, Ints, Floats]:
    draw = np.random.default_rng(seed)
    src = draw.integers(0, net.nics, count)
    return src, (src + draw.integers(1, net.nics, count)) % net.nics, draw.integers(1, 9, count) / 4.0


def by_tier(net: Net, found: Floats) -> dict[str, float]:
    return {name: float(found[net.tier == tier].sum()) for tier, name in enumerate(net.tiers)}


POLICIES = [
    HashPolicy("ecmp"), HashPolicy("e-ecmp", 16), HashPolicy("e-ecmp", 3, reduction="shift"), HashPolicy("e-ecmp", 4, seed_per_tier=False),
    HashPolicy("spray"), HashPolicy("dlb", 4), HashPolicy("e-ecmp", 2, seed_per_tier=False, reduction="shift"),
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_every_tier_carries_what_crosses_it(net: Callable[..., Net], layout: str, policy: HashPolicy) -> None:
    made = net(layout)
    src, dst, weight = random_flows(made, 500)
    far = made.leaf_of[src] != made.leaf_of[dst]
    block = made.groups.block[made.groups.of_nic]
    beyond = block[src] != block[dst]
    found = by_tier(made, link_loads(made, src, dst, weight, policy, 7))
    expected = {
        "host up": weight.sum(), "rtsw down": weight.sum(), "rtsw up": weight[far].sum(), "ctsw down": weight[far].sum(),
        "ctsw up": weight[beyond].sum(), "atsw down": weight[beyond].sum(),
    }  # fmt: skip
    assert found == pytest.approx(expected)


def test_seeds_make_the_spread_and_nothing_else(net: Callable[..., Net]) -> None:
    made, policy = net("three zones"), HashPolicy("e-ecmp", 2)
    ready = flows(made, *random_flows(made, 300))
    one, same, other = (loads(ready, policy, seed) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()
    assert seed_norms(ready, policy, [1, 2]).tolist() == [norm(made, one), norm(made, other)]
    many = HashPolicy("e-ecmp", 4096)
    assert loads(ready, many, 1) == pytest.approx(
        spray_loads(made, ready.src, ready.dst, ready.weight), rel=0.1, abs=0.2
    )


@pytest.mark.parametrize("reduction", ["mod", "shift"])
@pytest.mark.parametrize("alike", [False, True])
def test_a_member_for_every_hash(reduction: Any, alike: bool) -> None:
    """Every member, none beyond, each as often as the others; alike: exactly the remainder of the upper 20 bits."""
    policy = HashPolicy("e-ecmp", 1, not alike, reduction)
    hashed = mix(np.arange(1 << 16, dtype=np.uint32))
    edge = np.array([0, 0xFFF, 0x1000, 0xFFFFFFFF, 0xFFFFF000], dtype=np.uint32)
    for size in [*range(1, 70), 144, 255, 576, 1023]:
        member = pick(hashed, size, policy)
        counts = np.bincount(member, minlength=size)
        mean = hashed.size / size
        assert counts.size == size
        assert abs(counts - mean).max() < 6 * mean**0.5 + 1
        assert (pick(hashed, np.full(hashed.size, size), policy) == member).all()
        assert pick(edge, size, policy).max() < size
        if alike and reduction == "mod":
            top = (np.concatenate([hashed, edge]) >> np.uint32(12)).astype(np.int64)
            assert (pick(np.concatenate([hashed, edge]), size, policy) == top % size).all()


def test_polarisation_leaves_links_empty(net: Callable[..., Net]) -> None:
    """RTSWs with 4 uplinks, CTSWs with 2, one seed: a CTSW repeats the RTSW's choice, and one of its two uplinks is all that is reached."""
    made = net("three zones")
    first, last = np.array([0, 24]), np.full(2, made.groups.home.size - 1)  # an RTSW and a CTSW; a rack of another zone
    assert made.tables.size[made.look_up(first, last)].tolist() == [4, 2]
    src, dst, _ = random_flows(made, 4000)
    up = made.tier == made.tiers.index("ctsw up")
    for alike in (HashPolicy("e-ecmp", 4, False), HashPolicy("e-ecmp", 4, False, "shift")):
        found = link_loads(made, src, dst, 1.0, alike, 3)[up].reshape(-1, 2)
        assert ((found > 0).sum(axis=1) == 1).all()
    assert (link_loads(made, src, dst, 1.0, HashPolicy("e-ecmp", 4), 3)[up] > 0).all()


def test_who_crosses_a_link(net: Callable[..., Net]) -> None:
    made, policy = net("three zones"), HashPolicy("e-ecmp", 3)
    src, dst, _ = random_flows(made, 200)
    found = link_loads(made, src, dst, 3.0, policy, 5)
    for channel in np.argsort(found)[-40:].tolist():
        who = crossing(made, src, dst, policy, 5, channel)
        shares = link_loads(made, src[who], dst[who], 3.0, policy, 5)[channel]
        assert shares == pytest.approx(found[channel])
        assert link_loads(made, np.delete(src, who), np.delete(dst, who), 3.0, policy, 5)[channel] == 0


@dataclass(frozen=True)
class Pins:
    choice: npt.NDArray[np.int32]


def test_pinned_paths(net: Callable[..., Net]) -> None:
    """By hand: both flows of a rack by its uplink 2, then by the CTSW's uplink 1; below by hash, of which one port is left."""
    made = net()
    src, dst = np.array([0, 1]), np.array([made.nics - 1, made.nics - 2])
    plan = Pins(np.array([[1, 1], [0, 0]], dtype=np.int32))
    found = link_loads(made, src, dst, 1.0, HashPolicy("pinned", 16), 1, plan)
    busy = {made.name(c).partition(" -> ")[2].partition(":")[0] for c in np.flatnonzero(found == 2).tolist()}
    assert {"z01-ctsw02", "atsw001"} <= busy
    with pytest.raises(FabricError, match="path plan"):
        link_loads(made, src, dst, 1.0, HashPolicy("pinned"), 1)


def test_max_min_by_hand(net: Callable[..., Net]) -> None:
    """Three flows to one NIC get a third each; the fourth, from the first one's source, gets what that leaves."""
    made = net()
    far = made.nics - 1
    rates, complete = max_min(made, np.array([0, 1, 2, 0]), np.array([far, far, far, 8]), HashPolicy("ecmp"), 1)
    assert complete
    assert rates == pytest.approx([1 / 3, 1 / 3, 1 / 3, 2 / 3])


def test_the_least_of_max_min_is_the_bottleneck(net: Callable[..., Net]) -> None:
    made, policy = net("three zones"), HashPolicy("ecmp")
    for seed in range(5):
        src, dst, _ = random_flows(made, 150, seed)
        rates, complete = max_min(made, src, dst, policy, seed)
        assert complete
        assert rates.min() == pytest.approx(norm(made, link_loads(made, src, dst, 1.0, policy, seed)))
    assert not max_min(made, src, dst, policy, 0, rounds=1)[1]


def test_steps_of_a_subflow_are_a_way(net: Callable[..., Net]) -> None:
    made = net("two planes, parallel links")
    src, dst, weight = random_flows(made, 60)
    at = {(q, f): int(made.leaf_of[src[f]]) for q in range(3) for f in range(60)}
    for subflow, flow, channel in paths(flows(made, src, dst, weight), HashPolicy("e-ecmp", 3), 1):
        for q, f, c in zip(subflow.tolist(), flow.tolist(), channel.tolist(), strict=True):
            assert made.source[c] == at[q, f]
            at[q, f] = int(made.target[c])
    assert all(at[q, f] == made.leaf_of[dst[f]] for q, f in at)


def said(work: Callable[[], object]) -> str:
    with pytest.raises(FabricError) as error:
        work()
    return str(error.value)


def test_what_fails_beyond_a_job_is_no_matter(net: Callable[..., Net]) -> None:
    made = net()
    zone, other = np.arange(4), np.array([0, 4])  # hosts of the first zone; one of each
    port = made.name(int(made.down_of[8 * 4])).partition(" -> ")[0]
    for gone in (["z02-rtsw001"], [port], ["atsw001", "atsw002"]):
        left = without(made, gone, zone)
        assert link_loads(left, np.array([0]), np.array([8 * 3]), 1.0, HashPolicy("spray"), 1).max() == 1
        with pytest.raises(FabricError, match="the failures cut"):
            without(made, gone, other)


def test_errors_name_what_is_wrong(net: Callable[..., Net], golden: Callable[[str, str], None]) -> None:
    made = net()
    one, last = np.array([0]), np.array([made.nics - 1])
    plain = HashPolicy("ecmp")
    hole = replace(made, tables=replace(made.tables, size=made.tables.size * 0))
    gone = fabric_without_cable(made)
    lines = [
        said(lambda: without(made, ["z01-ctsw1"])),
        said(lambda: without(made, ["z01-ctsw01:Ethernet9/9/9"])),
        said(lambda: without(made, ["z01-rtsw001"])),
        said(lambda: without(made, ["z01-rtsw001:eth2/1/1"])),
        said(lambda: without(made, ["atsw001", "atsw002"])),
        said(lambda: without(made, ["z01-ctsw01", "z01-rtsw001:eth8/3/1"])),
        said(lambda: link_loads(made, one, np.array([made.nics]), 1.0, plain, 1)),
        said(lambda: link_loads(hole, one, last, 1.0, plain, 1)),
        said(lambda: check(hole)),
        said(lambda: link_loads(gone, one, last, 1.0, plain, 1)),
        said(lambda: max_min(made, one, last, HashPolicy("spray"), 1)),
        said(lambda: max_min(made, np.zeros(1 << 20, dtype=np.int64), last, HashPolicy("e-ecmp", 16), 1)),
    ]
    golden("predict/engine-errors.txt", "\n".join(lines) + "\n")


def fabric_without_cable(net: Net) -> Net:
    """NIC 0 has no cable."""
    leaf = net.leaf_of.copy()
    leaf[0] = -1
    return replace(net, leaf_of=leaf)
