"""Stories that once ended with a wrong or no name: each stands for the kind of mistake that it showed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fabric.design.seats import load_seating
from fabric.verify.collectives.model import Measurement
from fabric.verify.locate import locate, next_round
from fabric.verify.locate.gates import Gate, judge
from fabric.verify.locate.places import Places
from tests.verify.locate.simulate import Fault, draw, names, places_of, story, wrong

IB = ("gpu", "nic", "cable", "host", "switch", "zone", "path")
LAB = {
    "all hosts of a unit are suspects: their peers are other units' (a dead leaf, slow uplinks)": 101,
    "most results across are of suspects: these are no peers (two leaves)": 155,
    "what is behind uplinks that let nothing through is seen from within (a leaf, uplinks)": 241,
}


def told(places: Places, faults: Sequence[Fault], seed: int) -> None:
    cluster, found = story(places, faults, seed)
    parts = locate(places, found)
    assert [part.name for fault in faults for part in parts if names(places, fault, part)] != []
    assert all(any(names(places, fault, part) for part in parts) for fault in faults), parts
    assert not wrong(places, faults, parts) and len(parts) == len(faults) and len(cluster.rounds) <= 9


@pytest.mark.parametrize("kind", LAB)
def test_mended_in_infiniband(kind: str) -> None:
    places = places_of("ib-lab")
    told(places, draw(places, LAB[kind], 2, IB), LAB[kind])


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.0, 0.5), (0.3, 0.1)])
def test_two_zones_of_four(spec_file: Callable[..., Path], rates: tuple[float, float]) -> None:
    """Their flows all go to one healthy zone: hundreds of bad flows, and none of them is its fault."""
    zones = {
        "backend.zones.0.id": "1-3", "backend.zones.0.racks": 8, "backend.zones.1.id": 4, "backend.zones.1.racks": 8,
    }  # fmt: skip
    places = Places(load_seating(spec_file("lab", zones)))
    told(places, [Fault("zone", "", zone, rate) for zone, rate in zip((2, 4), rates, strict=True)], 7)


@pytest.mark.parametrize("seed", [27, 71])
def test_flows_over_one_way_end_no_search(spec_file: Callable[..., Path], seed: int) -> None:
    """A pair and flows over one way: to `locate` a way between two hosts still, so the plan must ask on until the trunk is named."""
    places = Places(load_seating(spec_file("lab", {f"backend.zones.{zone}.racks": 8 for zone in (0, 1)})))
    told(places, draw(places, seed, 1, ("trunk",)), seed)


def flow(hosts: tuple[str, str], speed: float) -> Measurement:
    return Measurement("paths", "path", hosts, (0,), values=(speed,))


def test_flows_of_many_suspects_are_no_measure_for_themselves() -> None:
    slow = [flow(("z01-r001-h1", "z02-r001-h1"), 27.0) for _ in range(60)]
    fast = [flow(("z01-r002-h1", f"z01-r001-h{unit}"), 45.0) for unit in (1, 2) for _ in range(6)]
    judged, _ = judge(places_of("lab"), [*slow, *fast], None, Gate())
    assert [one.verdict for one in judged] == ["bad"] * 60 + ["good"] * 12


def test_a_rail_that_is_bad_alone_is_tried_with_other_proven_partners() -> None:
    places = places_of("ib-lab")
    hosts = list(places.seats)
    node = [Measurement("node", "all_gather", (host,), values=(450.0,)) for host in hosts]
    pairs = [
        Measurement("pairs", "all_gather", two, size=8, values=(370.0,))
        for two in zip(hosts[::2], hosts[1::2], strict=True)
    ]
    rails = [
        Measurement("rails", "all_gather", two, (rail,), 8, (20.0 if (two[0], rail) == (hosts[0], 3) else 46.0,))
        for two in zip(hosts[::2], hosts[1::2], strict=True)
        for rail in range(8)
    ]
    groups = [g for g in next_round(places, [*node, *pairs, *rails]) if g.stage == "rails"]
    assert [(g.hosts[0], g.rails) for g in groups] == [(hosts[0], (3,)), (hosts[1], (3,))]
    assert {g.hosts[1] for g in groups}.isdisjoint(hosts[:2]) and len({g.hosts[1] for g in groups}) == 2
    again = [
        Measurement("rails", "all_gather", g.hosts, g.rails, 8, (20.0 if g.hosts[0] == hosts[0] else 46.0,))
        for g in groups
    ]
    found = [*node, *pairs, *rails, *again]
    assert not [g for g in next_round(places, found) if g.stage == "rails"]
    assert [(part.kind, part.hosts) for part in locate(places, found)] == [("cable", (hosts[0],))]
