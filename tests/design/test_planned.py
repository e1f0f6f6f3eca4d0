"""What is only planned carries no traffic, at neither end of its cables."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fabric.design.fabric import Fabric
from fabric.design.model import State

STATES: list[tuple[str, State]] = [
    ("z01-rtsw002", "planned"),
    ("z01-rtsw002", "drained"),
    ("z01-ctsw01", "planned"),
    ("host", "planned"),
]


@pytest.mark.parametrize(("name", "state"), STATES)
def test_every_link_of_a_device_has_its_state(make_fabric: Callable[..., Fabric], name: str, state: State) -> None:
    if name == "host":
        name = next(make_fabric("lab").hosts()).name
    fabric = make_fabric("lab", {"state": [{"match": {"name": name}, "state": state}]})
    links = list(fabric.links())
    assert {link.state for link in links if name in (link.a, link.b)} == {state}
    assert {link.state for link in links if name not in (link.a, link.b)} == {"deployed"}
    ports = [port for switch in fabric.switches for port in fabric.ports(switch) if name in (switch.name, port.peer)]
    assert {port.enabled for port in ports if port.role != "front-end"} == {state != "planned"}
