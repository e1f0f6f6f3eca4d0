"""Networks of InfiniBand: tables as they are against the walk of shift permutations, designs by what their engine does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from fabric.design.ib.model import Subnet
from fabric.design.load import load_subnet
from fabric.errors import FabricError
from fabric.forwarding.shift import contention
from fabric.forwarding.tables import Routes
from fabric.predict.answer import predict
from fabric.predict.failures import without
from fabric.predict.from_lfts import lft_net
from fabric.predict.from_subnet import subnet_net
from fabric.predict.hashing import HashPolicy
from fabric.predict.least_loaded import chosen
from fabric.predict.load import link_loads, spray_loads
from fabric.predict.loops import check
from fabric.predict.model import Case
from fabric.predict.net import Floats, Ints, Net, norm
from tests.forwarding.trees import SMALL, THREE, Shape, fat_tree, tree_routes

OPENSM = "14a0ad15f2ddca43ca24ba198bb8f6d0312d4731b2c22f3b692e3dcee109d888"
"""Digest of the tables that a real opensm 3.3.23 wrote into the simulated fabric of ib-lab, the same with minhop and with updn."""
PLAIN = HashPolicy("ecmp")


def trunks(net: Net, loads: Floats) -> Floats:
    """The loads of channels between switches."""
    return loads[2 * net.nics :]


def shift(net: Net, order: Ints, by: int) -> Floats:
    return link_loads(net, order, np.roll(order, -by), 1.0, PLAIN, 1)


@pytest.mark.parametrize("aliased", [False, True])
@pytest.mark.parametrize("shape", [SMALL, THREE], ids=["two tiers", "three tiers"])
def test_the_busiest_link_of_each_shift(shape: Shape, aliased: bool) -> None:
    """As another walk counts it (`fabric.forwarding.shift`); with destination-mod-k no link carries two flows (Zahavi)."""
    routes = tree_routes(fat_tree(shape), aliased=aliased)
    net = lft_net(routes)
    assert (net.rails, net.nics) == (1, routes.wiring.order.size)
    for one in contention(routes):
        loads = trunks(net, shift(net, routes.wiring.order.astype(np.int64), one.shift))
        assert loads.max() == one.flows
        if not aliased:
            assert one.flows <= 1
        if one.busiest:
            name = one.busiest.replace("[", ":").replace("]", "")
            assert name in {net.name(2 * net.nics + k) for k in np.flatnonzero(loads == one.flows).tolist()}


@pytest.fixture(scope="module")
def ib_lab() -> Subnet:
    return load_subnet(Path("inventories/ib-lab/cluster.yaml")).subnet


def test_design_by_destination(ib_lab: Subnet) -> None:
    """`ftree`: every shift in node order is free of conflicts on the lab's fabric; hashing over the same paths is not."""
    ring = np.arange(384)
    free = subnet_net(ib_lab)
    hashed = subnet_net(replace(ib_lab, routing=replace(ib_lab.routing, engines=("dfsssp",))))
    for by in (8, 16, 64, 136):
        assert norm(free, shift(free, ring, by)) == 1.0
        assert trunks(free, spray_loads(free, ring, np.roll(ring, -by), 1.0)).max() <= 1.0
    assert norm(hashed, shift(hashed, ring, 136)) < 1.0
    assert norm(hashed, spray_loads(hashed, ring, np.roll(ring, -136), 1.0)) == 1.0
    check(hashed)
    check(free)


@pytest.mark.parametrize("engine", ["minhop", "updn"])
def test_design_by_the_least_loaded_port(ib_lab: Subnet, engine: str) -> None:
    """Every switch even by itself, and all rails of a host over one cable to the core: aliasing, as opensm 3.3.23 has it here."""
    net = subnet_net(replace(ib_lab, routing=replace(ib_lab.routing, engines=(engine,))))
    check(net)
    assert table_digest(net) == OPENSM
    assert norm(net, shift(net, np.arange(384), 8)) == 1 / 8
    found = predict(net, Case("ring", hash="ecmp"))
    assert (found.reached.p50, found.placement_bound) == (12.5, 100.0)
    assert found.change is not None
    assert (found.change.key, found.change.reached.p50) == ("backend.routing.engines", 100.0)


def table_digest(net: Net) -> str:
    """Of the channel by which each switch sends to each NIC, by name."""
    nic = np.arange(net.nics)
    said = []
    for at, switch in enumerate(net.switches):
        sets = net.sets(np.full(nic.size, at), nic)
        ways = ["-" if one < 0 else net.name(int(net.tables.members[net.tables.start[one]])) for one in sets.tolist()]
        said.append(f"{switch}: {' '.join(ways)}")
    return sha256("\n".join(sorted(said)).encode()).hexdigest()


def broken(routes: Routes, edit: Callable[[Routes], None]) -> Routes:
    copy = Routes(routes.wiring, routes.table.copy(), routes.lid)
    edit(copy)
    return copy


def loop(routes: Routes) -> None:
    """Leaf and spine send what is for the last endpoint to each other."""
    wiring, lid = routes.wiring, int(routes.lid[-1])
    leaf = int(wiring.home[0])
    port = int(np.flatnonzero(wiring.between[leaf])[0])
    routes.table[leaf, lid] = port
    routes.table[wiring.far[leaf, port], lid] = wiring.far_port[leaf, port]


def hole(routes: Routes) -> None:
    routes.table[int(routes.wiring.home[0]), int(routes.lid[-1])] = 255


def wrong_end(routes: Routes) -> None:
    routes.table[int(routes.wiring.home[0]), int(routes.lid[-1])] = routes.wiring.home_port[0]


def empty(routes: Routes) -> None:
    routes.table[:] = 255


WRONG: dict[str, tuple[Callable[[Routes], None], str]] = {
    "loop": (loop, "a routing loop of 2 switches on the way to gt00063 NIC 0: spine00-00 -> leaf00-00 -> spine00-00"),
    "hole": (hole, "leaf00-00 has no path to gt00063 NIC 0"),
    "wrong end": (wrong_end, "leaf00-00 has no path to gt00063 NIC 0"),
    "empty": (empty, "no switch has a route to any host: the forwarding tables are empty"),
}


@pytest.mark.parametrize("what", WRONG)
def test_bad_tables_by_name(what: str) -> None:
    """By the walk of a flow, by the split, and by looking at all of it: the same line."""
    edit, line = WRONG[what]
    routes = broken(tree_routes(fat_tree(SMALL)), edit)
    for look in (
        lambda net: link_loads(net, np.array([0]), np.array([63]), 1.0, PLAIN, 1),
        lambda net: spray_loads(net, np.array([0]), np.array([63]), 1.0),
        check,
    ):
        with pytest.raises(FabricError) as error:
            look(lft_net(routes))
        assert error.value.message == line


def test_a_cut_cable_of_static_tables() -> None:
    net = lft_net(tree_routes(fat_tree(SMALL)))
    with pytest.raises(FabricError, match="cut leaf00-00 off from"):
        without(net, ["leaf00-00:9"])


@pytest.mark.parametrize(
    ("ways", "leaf", "own", "ports"),
    [
        ([[1], [1]], [0, 0, 0], [], [0, 1, 0]),
        ([[1, 0], [1, 1], [0, 1]], [0, 1, 1, 0, 0], [], [0, 1, 2, 0, 1]),  # ways that share a port count together
        ([[1, 0], [1, 0]], [0, 1, 0], [0], [-1, -1, 0]),  # its own, none, the first free one
    ],
    ids=["round", "shared", "none"],
)
def test_the_least_loaded_port(ways: list[list[int]], leaf: list[int], own: list[int], ports: list[int]) -> None:
    mine = np.isin(np.arange(len(leaf)), own)
    assert chosen(np.array(ways, dtype=np.bool_), np.array(leaf), mine).tolist() == ports
