"""Perfect balance against the same by hand: every amount carried on by itself, over the sets as the network tells them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from fabric.design.fabric import Fabric
from fabric.predict import split
from fabric.predict.from_design import fabric_net
from fabric.predict.load import spray_loads
from fabric.predict.net import Floats, Ints, Net

SMALL = {"backend.zones": [{"id": "1-3", "racks": 5, "rack_profile": "grand-teton"}]}
LAYOUTS: dict[str, tuple[str, dict[str, Any]]] = {
    "three tiers": ("roce-24k", SMALL),
    "one spine": ("roce-24k", {**SMALL, "backend.ctsw.uplinks": 1, "backend.atsw.count": 1}),
    "lab": ("lab", {}),
}


def by_hand(net: Net, src: Ints, dst: Ints) -> Floats:
    """The load of each channel."""
    found = np.zeros(net.channels)
    for nic, to in zip(src.tolist(), dst.tolist(), strict=True):
        found[net.up_of[nic]] += 1.0
        found[net.down_of[to]] += 1.0
        standing = {int(net.leaf_of[nic]): 1.0}
        while standing:
            onward: dict[int, float] = defaultdict(float)
            for switch, amount in standing.items():
                (number,) = net.sets(np.array([switch]), np.array([to])).tolist()
                if number < 0:  # at home
                    continue
                first, size = int(net.set_start[number]), int(net.set_size[number])
                for channel in net.set_members[first : first + size].tolist():
                    found[channel] += amount / size
                    onward[int(net.target[channel])] += amount / size
            standing = onward
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
def test_however_amounts_go_together(
    make_fabric: Callable[..., Fabric], monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    """By whole rows or one by one, by blocks or all at once, a few groups at a time: the loads are the same."""
    name, changes = LAYOUTS[layout]
    net = fabric_net(make_fabric(name, changes))
    order = np.random.default_rng(7).permutation(len(net.hosts)) * net.rails
    src, dst = order, np.roll(order, -1)
    expected = by_hand(net, src, dst)
    for full, least, cells, rows in product((1, 8, 1000), (1, 8, 64), (4 * len(net.switches), 1 << 20), (40, 1 << 20)):
        for setting, value in (("_FULL", full), ("_LEAST", least), ("_CELLS", cells), ("_ROWS", rows)):
            monkeypatch.setattr(split, setting, value)
        np.testing.assert_allclose(spray_loads(net, src, dst, 1.0), expected, rtol=1e-9, atol=1e-12)
