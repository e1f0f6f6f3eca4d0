from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.errors import FabricError
from fabric.forwarding.cycles import channels_used, find_cycle
from fabric.forwarding.shift import contention, shifts
from fabric.forwarding.tables import Builder, Lfts, Routes, from_rows, routes
from fabric.forwarding.walk import balance, trace, walk
from fabric.forwarding.wiring import EndpointRow, SwitchRow, wire
from tests.forwarding.trees import LARGE, SMALL, THREE, Shape, fat_tree, slow_walk, tree_routes

# Known answers: infiniband.md 1.5 (the example of 64 HCAs) and 4.2 (worst / mean and contention, radix 16 and 64).
KNOWN = [
    pytest.param(SMALL, False, {2: 448, 4: 3584}, {56}, 1.0, 1, id="64"),
    pytest.param(THREE, False, {2: 3584, 4: 28672, 6: 229376}, {504, 448}, 1.0, 1, id="512"),
    pytest.param(THREE, True, {2: 3584, 4: 28672, 6: 229376}, {504, 3584}, 8.0, 8, id="512 aliased"),
    pytest.param(LARGE, False, {2: 126976, 4: 4063232, 6: 12582912}, {4064, 3072}, 1.0, 1, id="4096"),
    pytest.param(LARGE, True, {2: 126976, 4: 4063232, 6: 12582912}, {4064, 98304}, 32.0, 32, id="4096 aliased"),
]


@pytest.mark.parametrize(("shape", "aliased", "links", "worst", "ratio", "flows"), KNOWN)
def test_known_answers(
    shape: Shape, aliased: bool, links: dict[int, int], worst: set[int], ratio: float, flows: int
) -> None:
    tables = tree_routes(fat_tree(shape), aliased=aliased)
    walked = walk(tables)
    tiers = balance(walked)
    assert (walked.links, walked.delivered, walked.whole) == (links, walked.pairs, True)
    assert {tier.worst for tier in tiers} == worst
    assert max(tier.ratio for tier in tiers) == ratio
    assert find_cycle(walked) is None
    shifted = contention(tables)
    assert max(result.flows for result in shifted) == flows
    assert sum(result.lost for result in shifted) == 0


def test_the_example_has_128_channels_and_named_tiers() -> None:
    walked = walk(tree_routes(fat_tree(SMALL)))
    assert channels_used(walked) == 128
    assert [(tier.source, tier.target, tier.links) for tier in balance(walked)] == [
        ("leaf", "spine", 64),
        ("spine", "leaf", 64),
    ]


def test_nineteen_shifts() -> None:
    assert shifts(64) == (1, 8, 32, 3, 7, 11, 15, 18, 22, 26, 30, 33, 37, 41, 45, 48, 52, 56, 60)
    assert shifts(3) == (1, 2)


@st.composite
def broken_trees(draw: st.DrawFn) -> Routes:
    """A small tree with some services and some table entries that point anywhere."""
    three = draw(st.booleans())
    shape = Shape(
        pods=draw(st.integers(1, 3)) if three else 1, leaves=draw(st.integers(1, 3)), hosts=draw(st.integers(1, 3)),
        planes=draw(st.integers(1, 2)), uplinks=draw(st.integers(1, 2)), cores=draw(st.integers(1, 2)) if three else 0,
        stripe=draw(st.integers(1, 2)),
    )  # fmt: skip
    tables = tree_routes(fat_tree(shape), aliased=draw(st.booleans()))
    wiring = tables.wiring
    wiring.compute[:] = draw(st.lists(st.booleans(), min_size=wiring.compute.size, max_size=wiring.compute.size))
    rows, columns = tables.table.shape
    places = st.tuples(
        st.integers(0, rows - 1), st.integers(1, columns - 1), st.sampled_from([*range(wiring.width), 200, 255])
    )
    for row, column, port in draw(st.lists(places, max_size=8)):
        tables.table[row, column] = port
    return tables


@settings(max_examples=150, deadline=None)
@given(broken_trees())
def test_agrees_with_a_slow_walk(tables: Routes) -> None:
    walked, slow = walk(tables), slow_walk(tables)
    assert walked.links == dict(slow.links)
    assert walked.failed == dict(slow.failed)
    assert (walked.others, walked.others_failed) == (slow.others, dict(slow.others_failed))
    assert walked.pairs == walked.delivered + sum(walked.failed.values())
    assert {(int(s), int(p)): int(walked.load[s, p]) for s, p in zip(*np.nonzero(walked.load), strict=True)} == dict(
        slow.load
    )
    assert {(int(c), int(p)) for c, p in zip(*np.nonzero(walked.follows), strict=True)} == slow.follows
    assert walked.whole == (not slow.failed and not slow.others_failed)


FAULTS = [("hole", 255, 1), ("hole", 60, 1), ("wrong end", 2, 1), ("loop", 9, 2)]


@pytest.mark.parametrize(("kind", "port", "ends"), FAULTS)
def test_a_failure_is_told_by_name(kind: str, port: int, ends: int) -> None:
    tables = tree_routes(fat_tree(SMALL))
    wiring = tables.wiring
    last = wiring.switches.index("leaf00-07")
    tables.table[last, tables.lid[63]] = port  # the last leaf's last HCA, which hangs on its port 8
    walked = walk(tables)
    assert walked.failed == {kind: 63}
    assert walked.links == {2: 441, 4: 3528}
    assert len(walked.failures) == 5
    first = walked.failures[0]
    assert (first.kind, first.leaf, first.destination) == (kind, "leaf00-00", "gt00063 mlx5_0")
    assert first.way[0][0] == "leaf00-00"
    assert first.way[-ends] == ("leaf00-07", port)  # after it, a loop has the spine that sends it back


def ring(size: int) -> Routes:
    """Switches in a ring with one endpoint each, everything sent clockwise: port 1 onwards, port 2 back, port 3 the endpoint."""
    switches = [SwitchRow(100 + n, f"sw{n}", 3) for n in range(size)]
    ends = [EndpointRow(200 + n, 1, 300 + n, f"h{n}") for n in range(size)]
    links = [((100 + n, 1), (100 + (n + 1) % size, 2)) for n in range(size)]
    wiring = wire(switches, ends, links + [((100 + n, 3), (200 + n, 1)) for n in range(size)])
    rows = {100 + n: np.array([255] + [3 if n == m else 1 for m in range(size)], dtype=np.uint8) for n in range(size)}
    return routes(wiring, from_rows(rows), {300 + n: n + 1 for n in range(size)})


@pytest.mark.parametrize("size", [3, 4, 50])
def test_a_ring_can_deadlock_and_is_named_in_the_order_of_travel(size: int) -> None:
    tables = ring(size)
    walked = walk(tables)
    assert walked.whole
    cycle = find_cycle(walked)
    assert cycle is not None and len(cycle) == size
    names = [tables.wiring.channel_name(channel) for channel in cycle]
    start = int(names[0][2:].partition("[")[0])
    assert names == [f"sw{(start + n) % size}[1] -> sw{(start + n + 1) % size}[2]" for n in range(size)]


def test_entries_that_no_path_reaches_make_no_cycle() -> None:
    tables = tree_routes(fat_tree(THREE))
    at = {name: index for index, name in enumerate(tables.wiring.switches)}
    # A spine of plane 3 and a core send what is for the first HCA to each other for ever; its paths are all in plane 0.
    tables.table[at["spine01-03"], tables.lid[0]] = 9
    tables.table[at["core03-0"], tables.lid[0]] = 3
    assert list(trace(tables, at["core03-0"], 0)) == [(at["core03-0"], 3), (at["spine01-03"], 9)]
    walked = walk(tables)
    assert walked.whole
    assert find_cycle(walked) is None


def test_a_destination_without_lid_or_cable_is_a_hole() -> None:
    tables = tree_routes(fat_tree(SMALL))
    tables.lid[5] = 0
    assert walk(tables).failed == {"hole": 63}
    switches = [SwitchRow(1, "leaf", 4)]
    ends = [EndpointRow(10 + n, 1, 20 + n, f"h{n}") for n in range(3)]
    wiring = wire(switches, ends, [((1, 1), (10, 1)), ((1, 2), (11, 1))])
    loose = routes(wiring, from_rows({1: np.array([255, 1, 2, 3], dtype=np.uint8)}), {20: 1, 21: 2, 22: 3})
    walked = walk(loose)
    assert (walked.pairs, walked.links, walked.failed) == (6, {2: 2}, {"hole": 4})


def test_one_leaf_alone_and_nothing_at_all() -> None:
    ends = [EndpointRow(10 + n, 1, 20 + n, f"h{n}") for n in range(3)]
    leaf = wire([SwitchRow(1, "leaf", 4)], ends, [((1, n + 1), (10 + n, 1)) for n in range(3)])
    tables = routes(leaf, from_rows({1: np.array([255, 1, 2, 3], dtype=np.uint8)}), {20: 1, 21: 2, 22: 3})
    walked = walk(tables)
    assert (walked.links, walked.whole, balance(walked), find_cycle(walked)) == ({2: 6}, True, (), None)
    assert [(result.flows, result.busiest) for result in contention(tables)] == [(0, ""), (0, "")]
    empty = routes(wire([], [], []), from_rows({}), {})
    walked = walk(empty)
    assert (walked.pairs, walked.links, balance(walked), find_cycle(walked), contention(empty)) == (0, {}, (), None, ())


def test_blocks_become_a_table() -> None:
    block = bytes(range(64))
    builder = Builder([7, 8], 70)
    for guid, number, data in ((7, 0, block), (7, 1, block), (8, 0, None)):
        builder.put(guid, number, data)
    tables = builder.done()
    assert tables.table.shape == (2, 128)
    assert tables.table[0, 70] == 6
    assert (tables.table[1] == 255).all()
    assert tables.unread == ((8, 0),)


BOX, PAIR, HOST = SwitchRow(1, "a", 2), SwitchRow(2, "b", 2), EndpointRow(5, 1, 6, "h")
TABLE = "of the forwarding table of GUID 0x0000000000000007 has"
REFUSED = [
    (lambda: Builder([7], 0xC000), "a forwarding table up to LID 49152: unicast LIDs end at 49151"),
    (lambda: Builder([7], 10).put(7, 0, b"x"), f"block 0 {TABLE} 1 bytes, of 1 blocks of 64"),
    (lambda: Builder([7], 10).put(7, 1, bytes(64)), f"block 1 {TABLE} 64 bytes, of 1 blocks of 64"),
    (lambda: wire([BOX, BOX], [], []), "two switches have the same GUID"),
    (lambda: wire([SwitchRow(1, "a", 300)], [], []), "a switch with 300 ports: 254 is the largest port number"),
    (
        lambda: wire([BOX], [], [((1, 3), (2, 1))]),
        "a link ends at port 3 of GUID 0x0000000000000001, which is no port of a known switch or endpoint",
    ),
    (lambda: wire([BOX, PAIR], [], [((1, 1), (2, 1)), ((1, 1), (2, 2))]), "a port 1 has two cables"),
    (
        lambda: wire([BOX], [HOST], [((1, 1), (5, 1)), ((1, 2), (5, 1))]),
        "h port 1 has two cables, or one to another endpoint",
    ),
    (lambda: contention(tree_routes(fat_tree(SMALL)), [64]), "a shift by 64 of 64 endpoints: it must be 1 to 63"),
]


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_line(case: tuple[object, str]) -> None:
    make, message = case
    assert callable(make)
    with pytest.raises(FabricError) as caught:
        make()
    assert str(caught.value) == message


def test_two_endpoints_with_one_lid_are_refused() -> None:
    wiring = fat_tree(SMALL)
    lfts = Lfts(wiring.guids, np.zeros((len(wiring.guids), 8), dtype=np.uint8))
    with pytest.raises(FabricError, match="gt00000 mlx5_0 and gt00001 mlx5_0 both have LID 4"):
        routes(wiring, lfts, {wiring.port_guids[0]: 4, wiring.port_guids[1]: 4})
    with pytest.raises(FabricError, match="LIDs from 4 to 65000: unicast LIDs are 1 to 49151"):
        routes(wiring, lfts, {wiring.port_guids[0]: 4, wiring.port_guids[1]: 65000})
