"""The geometry of the theory's table: 8 zones, 192 racks of 16 GPUs, CTSWs in planes; and the table itself, walked again.

`python -m tests.predict.geometry [seeds]` prints it whole (minutes); test_table.py looks at rows of it with few seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from fabric.design.build import design
from fabric.predict.answer import predict
from fabric.predict.from_design import fabric_net
from fabric.predict.model import Case
from fabric.predict.net import Net
from fabric.spec.cluster import ClusterSpec
from tests.conftest import edited

UPLINKS: Mapping[str, tuple[int, int]] = {"16": (16, 28), "18": (18, 25), "32": (16, 28)}
"""Column -> CTSWs of a zone and uplinks of each; in the last column two cables join each of them to each rack."""


@cache
def net(column: str) -> Net:
    """The network of a column."""
    ctsws, uplinks = UPLINKS[column]
    changes: dict[str, Any] = {
        "backend.rack_profiles.grand-teton.uplinks": ctsws,
        "backend.ctsw.uplinks": uplinks,
        "backend.atsw.count": uplinks,
        "backend.atsw.planes": ctsws,
        "backend.growth": {
            "zones": 8, "racks_per_zone": 256, "hosts_per_rack": 2, "uplinks": 32, "ctsw_uplinks": 32, "atsws": 512,
            "ctsws_on_atsw": 1,
        },
    }  # fmt: skip
    made = fabric_net(design(ClusterSpec.model_validate(edited("roce-24k", changes))))
    return two_cables(made) if column == "32" else made


def two_cables(net: Net) -> Net:
    """The network with a second cable beside each from RTSW to CTSW, which no design of ours has."""
    kinds = [net.tiers.index(name) for name in ("rtsw up", "ctsw down")]
    twice = np.flatnonzero(np.isin(net.tier, kinds))
    second = np.full(net.channels, -1)
    second[twice] = net.channels + np.arange(twice.size)
    old = net.tables
    many = 1 + (second[old.members] >= 0)
    members = np.repeat(old.members, many)
    start = np.cumsum(many) - many
    again = start[many == 2] + 1
    members[again] = second[members[again]]
    total = np.concatenate([start, [members.size]])
    tables = replace(old, start=total[old.start], size=total[old.start + old.size] - total[old.start], members=members)

    def label(channel: int) -> str:
        return net.label(channel) if channel < net.channels else f"{net.label(int(twice[channel - net.channels]))} (2)"

    wide = [np.concatenate([one, one[twice]]) for one in (net.source, net.target, net.capacity, net.tier)]
    return replace(net, source=wide[0], target=wide[1], capacity=wide[2], tier=wide[3], tables=tables, label=label)


@dataclass(frozen=True)
class Row:
    """One row of the table: a case, and for each column mean, lowest and highest (None: the theory gives none)."""

    case: Case
    expected: Mapping[str, tuple[float, float | None, float | None]]
    bound: Mapping[str, float] | None = None


def _row(case: Case, *cells: Any) -> Row:
    made = {}
    for column, cell in zip(UPLINKS, cells, strict=True):
        mean, low, high = cell if isinstance(cell, tuple) else (cell, None, None)
        made[column] = (float(mean), low, high)
    return Row(case, made)


LARGE = Case("large", seeds=20)
SMALL = Case("small", gpus=256, seeds=20)
TREE = Case("tree", collective="all_reduce", algorithm="tree", qps=16)

TABLE = (
    _row(replace(SMALL, name="small, plain ECMP", hash="ecmp"), (34, 25, 50), (35, 25, 50), (39, 33, 50)),
    _row(replace(SMALL, name="small, 16 QP", qps=16), (94, 76, 100), (99, 94, 100), 100),
    _row(replace(LARGE, name="random, plain ECMP", placement="random", hash="ecmp"), (5.8, 4.8, 6.2), 5.8, 5.8),
    _row(replace(LARGE, name="random, 16 QP", placement="random", qps=16), (11.9, 11.4, 12.5), 11.9, 11.8),
    _row(replace(LARGE, name="random, spray", placement="random", hash="spray"), 16.2, 16.3, 16.2),
    _row(replace(LARGE, name="in zones, ECMP", placement="zone", hash="ecmp"), 15, 16, 18),
    _row(replace(LARGE, name="in zones, 16 QP", placement="zone", qps=16), (46, 39, 48), (50, 46, 52), (71, 59, 76)),
    _row(replace(LARGE, name="in zones, spray", placement="zone", hash="spray"), 100, 100, 100),
    _row(replace(LARGE, name="rack order, ECMP", hash="ecmp"), (21, 17, 25), (22, 20, 25), (25, 20, 33)),
    _row(replace(LARGE, name="rack order, 4 QP", qps=4), 43, 46, 53),
    _row(replace(LARGE, name="rack order, 16 QP", qps=16), (78, 67, 84), (83, 76, 89), (99, 94, 100)),
    _row(replace(LARGE, name="rack order, 64 QP", qps=64), 100, 100, 100),
    _row(replace(LARGE, name="rack order, pinned", hash="pinned"), 100, 100, 100),
    _row(replace(LARGE, name="in zones, pinned", placement="zone", hash="pinned"), 100, 100, 100),
    _row(replace(TREE, name="tree, rack order, 16 QP"), (76, 70, 80), (82, 74, 88), 100),
    _row(replace(TREE, name="tree, random, 16 QP", placement="random"), 13.5, 13.6, 13.7),
    _row(replace(LARGE, name="random, 16 QP, one seed", placement="random", qps=16, seed_per_tier=False), 3.5, 11.8, 6.5),
)  # fmt: skip


RECURSIVE = Case("recursive", algorithm="recursive", gpus=16_384)
FURTHER = (
    (replace(RECURSIVE, name="recursive, small messages far, ECMP", hash="ecmp"), 28),
    (replace(RECURSIVE, name="recursive, small messages far, 16 QP", qps=16), 65),
    (replace(RECURSIVE, name="recursive, small messages far, spray", hash="spray"), 98),
    (replace(RECURSIVE, name="recursive, large messages far, ECMP", hash="ecmp", far="large"), 6),
    (replace(RECURSIVE, name="recursive, large messages far, 16 QP", qps=16, far="large"), 12),
    (replace(RECURSIVE, name="recursive, large messages far, spray", hash="spray", far="large"), 16),
)
"""Recursive doubling on 16,384 GPUs in rack order with 16 uplinks: case and mean."""

PARTS = (
    ("4,096 GPUs of 2 zones, sorted", 2, "none", 80, 100), ("4,096 GPUs of 2 zones, shuffled inside", 2, "zone", 50, 100),
    ("4,096 GPUs of 2 zones, random", 2, "all", 28, 44), ("16,384 GPUs of 8 zones, sorted", 8, "none", 78, 100),
    ("16,384 GPUs of 8 zones, shuffled inside", 8, "zone", 47, 100), ("16,384 GPUs of 8 zones, random", 8, "all", 17, 25),
)  # fmt: skip
"""Partial jobs, 256 hosts of each zone, 16 queue pairs and 16 uplinks: name, zones, what is shuffled, mean, placement bound."""


def part(name: str, zones: int, shuffled: str, seed: int = 0) -> Case:
    """The case of a partial job."""
    lot = np.random.default_rng(seed)
    each = [np.arange(256) + 384 * zone for zone in range(zones)]
    if shuffled == "zone":
        each = [lot.permutation(one) for one in each]
    order = np.concatenate(each)
    if shuffled == "all":
        order = lot.permutation(order)
    hosts = net("16").hosts
    return Case(name, qps=16, hosts=tuple(hosts[index] for index in order.tolist()), placement="given")


def main(seeds: int) -> None:
    """Prints the table."""
    print("| case | " + " | ".join(f"{column} uplinks: theory | here" for column in UPLINKS) + " |")
    print("|---" * (1 + 2 * len(UPLINKS)) + "|")
    for row in TABLE:
        cells = []
        for column in UPLINKS:
            found = predict(net(column), replace(row.case, seeds=seeds), advice=False)
            mean, low, high = row.expected[column]
            cells.append(f"{mean:g}" + ("" if low is None else f" [{low:g}-{high:g}]"))
            band, closed = found.reached, found.analytic
            cells.append(
                f"{band.p50:.1f} [{band.p5:.1f}-{band.p95:.1f}]" + ("" if closed is None else f", closed {closed:.1f}")
            )
        print(f"| {row.case.name} | " + " | ".join(cells) + " |", flush=True)
    for case, mean in FURTHER:
        band = predict(net("16"), replace(case, seeds=seeds), advice=False).reached
        print(f"| {case.name} | {mean} | {band.p50:.1f} [{band.p5:.1f}-{band.p95:.1f}] |", flush=True)
    for name, zones, shuffled, mean, bound in PARTS:
        found = predict(net("16"), replace(part(name, zones, shuffled), seeds=seeds), advice=False)
        band = found.reached
        text = f"{band.p50:.1f} [{band.p5:.1f}-{band.p95:.1f}]"
        print(f"| {name} | {mean}, placement {bound} | {text}, placement {found.placement_bound:.0f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
