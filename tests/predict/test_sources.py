"""One network from every source: a design, the tables that BGP converges to, forwarding tables by LID."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.design.load import load_cluster
from fabric.design.seats import Seating
from fabric.errors import FabricError
from fabric.predict.failures import without
from fabric.predict.from_design import design_net
from fabric.predict.from_fibs import Fib, fib_net, fib_of
from tests.predict.ways import ways
from tests.verify.simulated import Simulated, converge

PLANES = {
    "backend.atsw.planes": 2, "backend.atsw.count": 2, "backend.rack_profiles.fboss-rack.uplinks": 4,
    "backend.rack_profiles.eos-rack.uplinks": 4,
}  # fmt: skip


def state(**names: str) -> dict[str, Any]:
    return {"state": [{"match": {"name": name.replace("_", "-")}, "state": what} for name, what in names.items()]}


SHAPES: dict[str, dict[str, Any]] = {
    "lab": {},
    "ipv6": {"addressing.family": "ipv6", "addressing.ipv4": None},
    "single links": {"bgp.aggregate_racks": False},
    "planes": PLANES,
    "a plane without a CTSW in a zone": {**PLANES, **state(z02_ctsw01="planned", z02_ctsw03="planned")},
    "parallel links": {"backend.ctsw.uplinks": 4},
    "one zone": {
        "backend.atsw": None, "backend.ctsw.uplinks": 0, "backend.zones": [{"id": 1, "racks": 3, "rack_profile": "eos-rack"}],
    },
    "drained ctsw": state(z01_ctsw01="drained"),
    "drained atsw and rack": state(atsw001="drained", z02_rtsw001="drained"),
    "all ctsws of a zone drained, and an atsw": {
        "state": [{"match": {"role": "ctsw", "zone": 1}, "state": "drained"}, {"match": {"name": "atsw001"}, "state": "drained"}]
    },
    "plane drained": {**PLANES, "state": [{"match": {"name": "atsw00[13]"}, "state": "drained"}]},
    "planned": state(z02_ctsw02="planned", z01_rtsw002="planned", z01_r001_h2="planned"),
}  # fmt: skip


@pytest.fixture
def seating(spec_file: Callable[..., Path]) -> Callable[..., Seating]:
    return lambda changes=None: Seating(load_cluster(spec_file("lab", changes or {})))


def fibs(seating: Seating, **faults: Any) -> dict[str, Fib]:
    """What all switches have once BGP has converged."""
    tables = converge(Simulated(seating.cluster.fabric, **faults))  # type: ignore[union-attr]
    return {name: fib_of(routes) for name, routes in tables.items()}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_design_forwards_as_bgp_converges(seating: Callable[..., Seating], shape: str) -> None:
    plan = seating(SHAPES[shape])
    designed = ways(design_net(plan.cluster))
    assert designed == ways(fib_net(plan, fibs(plan)))
    assert all(designed.values())


@pytest.mark.parametrize("shape", ["lab", "planes", "parallel links"])
def test_failures_are_what_bgp_withdraws(seating: Callable[..., Seating], shape: str) -> None:
    """Cables between switches, one at a time, and CTSWs and ATSWs."""
    plan = seating(SHAPES[shape])
    net, fabric = design_net(plan.cluster), plan.cluster.fabric  # type: ignore[union-attr]
    for trunk in plan.trunks[:: 2 if shape == "lab" else 5]:
        found = ways(fib_net(plan, fibs(plan, down={(trunk.a, trunk.a_port), (trunk.b, trunk.b_port)})))
        assert (
            ways(without(net, [f"{trunk.a}:{trunk.a_port}"]))
            == found
            == ways(without(net, [f"{trunk.b}:{trunk.b_port}"]))
        )
    for switch in [switch for switch in fabric.switches if switch.role != "rtsw"][:: 2 if shape == "lab" else 5]:
        ends = {(trunk.a, trunk.a_port) for trunk in plan.trunks_of[switch.name]}
        found = ways(fib_net(plan, fibs(plan, down=ends | {(t.b, t.b_port) for t in plan.trunks_of[switch.name]})))
        assert ways(without(net, [switch.name])) == found


FIRST, SECOND, SPINE = "z01-rtsw001", "z01-rtsw002", "z01-ctsw01"
RACK = "10.128.1.32/27"  # of z02-rtsw002


def loop(found: dict[str, dict[str, list[str]]]) -> None:
    """An RTSW and a CTSW send what is for a rack to each other: one of the RTSW's two ways never arrives."""
    found[SPINE][RACK] = ["10.64.0.1"]


WRONG: dict[str, Callable[[dict[str, dict[str, list[str]]]], object]] = {
    "empty": lambda found: found.update({name: {} for name in found}),
    "no tables": lambda found: found.clear(),
    "a stranger": lambda found: found.update({"z09-rtsw001": {}}),
    "no route": lambda found: found[FIRST].pop(RACK),
    "no route behind one of two ways": lambda found: found[SPINE].pop(RACK),
    "a route to nobody": lambda found: found[SPINE].update({RACK: ["192.0.2.1", "Ethernet99/1"]}),
    "loop": loop,
}


def test_tables_that_do_not_do(seating: Callable[..., Seating], golden: Callable[[str, str], None]) -> None:
    plan = seating()
    lines = []
    for what, edit in WRONG.items():
        found = {name: {prefix: [*hops] for prefix, hops in fib.items()} for name, fib in fibs(plan).items()}
        edit(found)
        with pytest.raises(FabricError) as error:
            fib_net(plan, found)
        lines.append(f"{what}: {error.value}\n")
    golden("predict/fib-errors.txt", "".join(lines))
    broken = {name: dict(fib) for name, fib in fibs(plan).items()}
    broken[FIRST] = {}
    assert fib_net(plan, broken, strict=False).switches[0] == FIRST  # other jobs can still be predicted
