"""Small facts of the design: what follows from the platform, and what states do to links and figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fabric.cli.summary import roce_lines
from fabric.design.fabric import Fabric
from fabric.design.figures import figures
from fabric.design.tables import links
from fabric.design.warnings import warnings

A100 = {
    "hosts": {"platform": "dgx-a100"},
    "backend.rack_profiles": {"w": {"hosts": 2, "switch": "wedge400", "port_map": "200g-200g-up", "uplinks": 2}},
    "backend.zones": [{"id": 1, "racks": 2, "rack_profile": "w"}],
    "backend.ctsw.uplinks": 2,
    "cabling": {"host": {"cable": "200g-cr4", "length_m": 2}, "rtsw": {"cable": "200g-fr4", "length_m": 50}},
}


def test_the_nic_is_the_platforms_own(make_fabric: Callable[..., Fabric]) -> None:
    assert make_fabric("lab").nic_model == "connectx-7"
    assert make_fabric("lab", A100).nic_model == "connectx-6"


def test_power_that_nobody_knows_is_not_zero(make_fabric: Callable[..., Fabric]) -> None:
    fabric = make_fabric("lab", A100)
    zone = figures(fabric).zones[0]
    assert (zone.rack_watts, zone.power) == (None, "? of 29 kW")
    said = [remark.message for remark in warnings(fabric) if remark.code == "power-unknown"]
    assert said == [
        "racks of w: nothing is known of what the hosts draw: ? of 29 kW; set hosts.power_w to have the whole checked"
    ]
    assert "  rack     ? of 29 kW (set hosts.power_w)" in list(roce_lines(fabric, figures(fabric)))


@pytest.mark.parametrize(
    ("state", "shown", "line"),
    [
        ("drained", {"drained"}, "state      1 drained"),
        ("planned", {"planned"}, "state      1 planned"),
        ("deployed", {"deployed"}, None),
    ],
)
def test_states_show(make_fabric: Callable[..., Fabric], state: str, shown: set[str], line: str | None) -> None:
    fabric = make_fabric("lab", {"state": [{"match": {"name": "z01-ctsw01"}, "state": state}]})
    of_it: list[Any] = [row[-1] for row in links(fabric, frozenset({"z01-ctsw01"})).rows]
    assert set(of_it) == shown
    assert [text for text in roce_lines(fabric, figures(fabric)) if text.startswith("state")] == (
        [line] if line else []
    )


def test_a_state_that_matches_nothing_says_the_near_name(make_fabric: Callable[..., Fabric]) -> None:
    fabric = make_fabric("lab", {"state": [{"match": {"name": "z01-ctsw99"}, "state": "drained"}]})
    said = [remark.message for remark in warnings(fabric) if remark.code == "matches-nothing"]
    assert said == ["matches no device, so it changes nothing; did you mean 'z01-ctsw02'?"]
