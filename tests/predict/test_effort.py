"""What takes long is said before it is begun, in one line; nothing is said of the rest. No clock: it follows from the numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from fabric.design.fabric import Fabric
from fabric.errors import FabricError
from fabric.predict import effort, runs
from fabric.predict.from_design import fabric_net
from fabric.predict.model import Case
from fabric.predict.net import Net

SMALL = {"backend.zones": [{"id": "1-2", "racks": 6, "rack_profile": "grand-teton"}]}
CASE = Case("c", placement="random", qps=128, seeds=1000)


@pytest.fixture(scope="module")
def net(make_fabric: Callable[..., Fabric]) -> Net:
    """192 GPUs."""
    return fabric_net(make_fabric("roce-24k", SMALL))


@pytest.fixture(scope="module")
def large(make_fabric: Callable[..., Fabric]) -> Net:
    """24,576 GPUs."""
    return fabric_net(make_fabric("roce-24k"))


def test_what_is_said(net: Net, large: Net) -> None:
    assert effort.notice(large, CASE) == "c: 1,000 seeds, about 7 minutes; 20 seeds give a spread as well"
    assert effort.notice(large, replace(CASE, seeds=20, hash="spray")) is None
    assert (
        effort.notice(large, replace(CASE, seeds=50)) == "c: 50 seeds, about 20 seconds; 20 seeds give a spread as well"
    )
    assert effort.notice(net, replace(CASE, seeds=20)) is None


@pytest.mark.parametrize(
    ("change", "times"),
    [
        ({"seeds": 2000}, 2.0),
        ({"qps": 64}, 0.5),
        ({"hash": "ecmp"}, 0.027),
        ({"placement": "rack"}, 0.41),  # half of the flows stay in their rack, others mostly in their zone
        ({"seed_per_tier": False}, 2.0),
        ({"seed_per_tier": False, "failures": ("z01-ctsw01",)}, 3.0),
        ({"placement": "rack", "hash": "spray"}, 0.0),
        ({"hash": "spray"}, 0.31),
        ({"placement": "rack", "hash": "pinned"}, 0.0),
    ],
)
def test_what_it_grows_with(net: Net, change: dict[str, Any], times: float) -> None:
    usual = effort.seconds(net, CASE)
    assert effort.seconds(net, replace(CASE, **change)) == pytest.approx(times * usual, rel=0.1, abs=0.01 * usual)


def test_a_job_that_cannot_be(net: Net) -> None:
    with pytest.raises(FabricError, match="200 GPUs are wanted, there are 192"):
        effort.notice(net, replace(CASE, gpus=200))


def test_the_command_says_it_and_ends_when_it_is_interrupted(
    spec_file: Callable[..., Path], fabric_cli: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(effort, "SAID_FROM", 0.0)
    monkeypatch.setattr(runs, "loads", interrupted)
    result = fabric_cli("predict", spec_file("roce-24k", SMALL), "--seeds", 3)
    assert result.exit_code == 130
    assert result.stderr == "asked: 3 seeds, about 0 seconds\n\ninterrupted\n"
