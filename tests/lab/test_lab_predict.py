"""The walk against real forwarding: FIBs read by the drivers from running switches, real packets counted on real links."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from fabric.design.load import load_cluster
from fabric.design.seats import Seating
from fabric.lab.names import linux_name
from fabric.predict.from_design import design_net
from fabric.predict.from_fibs import fib_net
from fabric.predict.hashing import HashPolicy
from fabric.predict.load import link_loads, spray_loads
from fabric.predict.net import Floats, Net
from tests.lab.conftest import LabUnderTest
from tests.lab.flow_scene import PAIRS
from tests.predict.ways import ways

pytestmark = pytest.mark.lab

FLOWS, SIGMAS = 256, 6.0


def by_interface(net: Net, loads: Floats) -> dict[str, float]:
    """Load of what a switch sends by each interface, as the scene names it."""
    found = {}
    for channel in np.flatnonzero(loads).tolist():
        switch, _, port = net.name(channel).partition(" -> ")[0].partition(":")
        found[f"{switch} {linux_name(port)}"] = float(loads[channel])
    return {out: load for out, load in found.items() if out.split()[0] in net.switch_index}


def test_shares_on_real_links_are_those_of_the_walk(lab: LabUnderTest) -> None:
    scene = (sys.executable, "-m", "tests.lab.flow_scene", lab.spec, FLOWS, 1)
    found = json.loads(lab.seat(*scene).stdout)
    cluster = load_cluster(lab.spec)
    net = fib_net(Seating(cluster), found["fibs"])
    assert ways(net) == ways(design_net(cluster))

    # Every packet went where the kernel's own lookup of its five-tuple sends it.
    taken = {out: packets for out, packets in found["taken"].items() if packets}
    assert taken == found["asked"]

    # And the flows share the links as the walk says, within what chance allows.
    nic = {
        (host, rail): net.host_index[host] * net.rails + rail
        for pair in PAIRS
        for host in pair
        for rail in range(net.rails)
    }
    src, dst = (np.array([nic[pair[end], rail] for rail, pair in enumerate(PAIRS)]) for end in (0, 1))
    expected = by_interface(net, spray_loads(net, src, dst, float(FLOWS)))
    assert taken.keys() == expected.keys()
    for out, mean in expected.items():
        whole = mean in (FLOWS, 2 * FLOWS) and " et2" in out  # all flows to a NIC: no chance
        assert abs(taken[out] - mean) <= (0 if whole else SIGMAS * mean**0.5), out

    # With one seed everywhere a CTSW repeats the choice of the RTSW: half of the links stay empty, in the kernel as in the walk.
    alike = HashPolicy("e-ecmp", FLOWS, seed_per_tier=False, reduction="shift")
    walked = by_interface(net, link_loads(net, src[:3], dst[:3], 1.0, alike, 1))
    assert [sum("ctsw" in out and " et6" in out for out in kind) for kind in (expected, walked, found["alike"])] == [
        4,
        2,
        2,
    ]
