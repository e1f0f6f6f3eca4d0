"""Row V1: completion times by our max-min sharing are SimGrid's. `make test` installs it where the distribution has it (python3-simgrid)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fabric.design.fabric import Fabric
from fabric.predict.from_design import fabric_net
from fabric.predict.hashing import HashPolicy
from fabric.predict.load import flows, paths
from fabric.predict.maxmin import max_min
from fabric.predict.net import Floats, Ints, Net

SMALL = {"backend.zones": [{"id": "1-2", "racks": 6, "rack_profile": "grand-teton"}]}
ONE = HashPolicy("ecmp", 1)
RATE, SIZE = 5e10, 5e10


@pytest.fixture(scope="module")
def python() -> str:
    """An interpreter that has SimGrid: this one, or the distribution's."""
    for one in (sys.executable, "/usr/bin/python3"):
        if (
            Path(one).exists()
            and subprocess.run([one, "-I", "-c", "import simgrid"], capture_output=True, check=False).returncode == 0
        ):
            return one
    pytest.skip("SimGrid is not installed: this distribution has no python3-simgrid")


def by_hand_of_max_min(net: Net, src: Ints, dst: Ints) -> Floats:
    """When each flow ends: rates are shared anew whenever one does."""
    left, ends, clock = np.ones(src.size), np.zeros(src.size), 0.0
    alive = np.arange(src.size)
    while alive.size:
        rate, whole = max_min(net, src[alive], dst[alive], ONE, 3)
        assert whole
        step = float((left[alive] / rate).min())
        clock += step
        left[alive] -= step * rate
        ended = left[alive] <= 1e-9
        ends[alive[ended]] = clock
        alive = alive[~ended]
    return ends


@pytest.mark.parametrize("many", [32, 128])
def test_completion_times_are_those_of_simgrid(make_fabric: Callable[..., Fabric], python: str, many: int) -> None:
    net = fabric_net(make_fabric("roce-24k", SMALL))
    net = replace(net, capacity=net.capacity * np.where(net.level[np.maximum(net.source, 0)] == 0, 1.0, 0.5))
    lot = np.random.default_rng(many)
    src, dst = lot.integers(0, net.nics, many), lot.integers(0, net.nics, many)
    apart = src != dst
    src, dst = src[apart], dst[apart]
    ways = [[int(net.up_of[a]), int(net.down_of[b])] for a, b in zip(src, dst, strict=True)]
    for _, flow, channel in paths(flows(net, src, dst, 1.0), ONE, 3):
        for one, link in zip(flow.tolist(), channel.tolist(), strict=True):
            ways[one].append(link)
    asked = {"capacity": (net.capacity * RATE).tolist(), "paths": ways, "size": SIZE}
    scene = Path(__file__).with_name("simgrid_scene.py")
    done = subprocess.run(
        [python, "-I", scene], input=json.dumps(asked), capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    ends = np.array(json.loads(done.stdout.splitlines()[-1]))
    assert by_hand_of_max_min(net, src, dst) == pytest.approx(ends, rel=1e-9)
    assert len(np.unique(np.round(ends, 6))) >= 3  # flows that share in different ways
