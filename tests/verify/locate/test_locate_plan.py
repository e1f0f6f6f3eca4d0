"""The plan: what runs at once is apart, two different proven partners, an end; and rounds near the fewest possible."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.design.seats import load_seating
from fabric.verify.collectives.model import Measurement
from fabric.verify.collectives.stages import Group
from fabric.verify.locate import locate, next_round
from fabric.verify.locate.gates import Gate, judge
from fabric.verify.locate.places import Places
from tests.verify.locate.simulate import Cluster, Fault, draw, names, places_of, story, wrong

FEWEST = 3
"""One round within hosts, and two of pairs: in one round a slow pair has two explanations, whatever the others are
(docs/locating.md)."""


@pytest.fixture(scope="module")
def racks(tmp_path_factory: pytest.TempPathFactory) -> Places:
    """Four zones of eight racks with two hosts each, whose uplinks carry two rails of sixteen."""
    import yaml

    from tests.conftest import edited

    zones = {
        "backend.zones.0.id": "1-3",
        "backend.zones.0.racks": 8,
        "backend.zones.1.id": 4,
        "backend.zones.1.racks": 8,
    }
    path = tmp_path_factory.mktemp("racks") / "cluster.yaml"
    path.write_text(yaml.safe_dump(edited("lab", zones), sort_keys=False), encoding="utf-8")
    return Places(load_seating(path))


def apart(places: Places, groups: Sequence[Group]) -> None:
    """No GPU or NIC twice, and no more hosts across than the uplinks of their switches carry."""
    used = Counter((host, rail) for g in groups for host in g.hosts for rail in (g.rails or range(8)))
    assert max(used.values(), default=1) == 1
    across = {
        (g.hosts, host)
        for g in groups
        if len(g.hosts) == 2 and places.group(g.hosts[0]) != places.group(g.hosts[1])
        for host in g.hosts
    }
    load = Counter(places.group(host) for _, host in across)
    assert all(count <= places.upward(places.under[group[0]][0]) for group, count in load.items())


def told(places: Places, seeds: range, fastest: float, kinds: Sequence[str]) -> tuple[int, int, int]:
    """How many faults were named, how many there were, and how often a healthy part was blamed; checks each plan on the way."""
    named = count = blamed = 0
    for seed in seeds:
        faults = draw(places, seed, 1 + seed % 2, kinds, fastest)
        cluster, found = story(places, faults, seed)
        for groups in cluster.rounds:
            apart(places, groups)
        assert len(cluster.rounds) <= 3 * FEWEST
        parts = locate(places, found)
        named += sum(any(names(places, fault, part) for part in parts) for fault in faults)
        count += len(faults)
        blamed += bool(wrong(places, faults, parts))
    return named, count, blamed


def test_faults_in_an_infiniband_fabric_are_named() -> None:
    named, count, blamed = told(
        places_of("ib-lab"), range(60, 140), 0.7, ("gpu", "nic", "cable", "host", "switch", "zone", "path")
    )
    assert named >= 0.99 * count and not blamed, f"{named} of {count}, {blamed} blamed"


def test_faults_in_oversubscribed_racks_are_named(racks: Places) -> None:
    kinds = ("gpu", "nic", "cable", "host", "switch", "trunk", "path")
    named, count, blamed = told(racks, range(42, 90), 0.5, kinds)
    assert named >= 0.98 * count and not blamed, f"{named} of {count}, {blamed} blamed"


@pytest.mark.parametrize("inventory", ["ib-lab", "lab"])
def test_a_healthy_fabric_has_no_finding_and_the_fewest_rounds(inventory: str) -> None:
    for seed in range(20):
        cluster, found = story(places_of(inventory), [], seed)
        assert locate(places_of(inventory), found) == ()
        assert len(cluster.rounds) <= 2 * FEWEST


def test_a_host_is_named_after_two_different_proven_partners() -> None:
    places = places_of("ib-lab")
    host = "gt0010"
    _, found = story(places, [Fault("host", host, 0, 0.5)], 3)
    judged, _ = judge(places, found, None, Gate())
    good = {h for j in judged if j.verdict == "good" and len(j.measurement.hosts) == 2 for h in j.measurement.hosts}
    proven = {
        h
        for j in judged
        if j.verdict == "bad" and len(j.measurement.hosts) == 2
        for h in j.measurement.hosts
        if h in good
    }
    assert len(proven - {host}) >= 2
    assert [(part.kind, part.name) for part in locate(places, found)] == [("host", host)]


def test_what_cannot_be_made_ends_the_plan_and_blames_nobody() -> None:
    found: list[Measurement] = []
    rounds = 0
    while groups := next_round(places_of("ib-lab"), found):
        rounds += 1
        assert rounds < 9
        found += [Measurement(g.stage, g.test, g.hosts, g.rails, state="unmade", reason="no login") for g in groups]
    assert locate(places_of("ib-lab"), found) == ()


def test_one_host_that_cannot_be_reached_is_nobodys_fault() -> None:
    places = places_of("ib-lab")
    cluster = Cluster(places, [], 5)
    found: list[Measurement] = []
    for _ in range(12):
        groups = next_round(places, found)
        made = cluster.measure(groups)
        found += [replace(one, state="unmade", values=()) if "gt0010" in one.hosts else one for one in made]
        if not groups:
            break
    assert not groups and locate(places, found) == ()


def test_only_suspects_are_followed_up_when_no_whole_stage_is_wanted() -> None:
    places = places_of("ib-lab")
    cluster = Cluster(places, [Fault("host", "gt0010", 0, 0.5)], 3)
    found = cluster.measure(
        [
            Group("pairs", "all_gather", two)
            for two in zip(list(places.seats)[::2], list(places.seats)[1::2], strict=True)
        ]
    )
    groups = next_round(places, found, stages=("retest", "rails", "paths"))
    suspects = [group for group in groups if {"gt0009", "gt0010"} & set(group.hosts)]
    assert len(suspects) == 2 and all(group.stage == "retest" for group in groups) and len(groups) <= 14
    assert next_round(places, found, stages=("rails",)) == ()
    few = next_round(places, found, stages=("retest",), hosts=[f"gt{number:04}" for number in range(9, 17)])
    assert {host for group in few for host in group.hosts} <= {f"gt{number:04}" for number in range(9, 17)}


def test_same_results_same_round(spec_file: Callable[..., Path]) -> None:
    places = Places(load_seating(spec_file()))
    _, found = story(places, [Fault("nic", "z01-r001-h1", 3, 0.3)], 1)
    half = [one for one in found if one.round <= 2]
    assert next_round(places, half) == next_round(Places(places.seating), half)


def test_two_faults_among_3072_hosts() -> None:
    """The rest is measured by tests/scale/bench_locate.py."""
    places = places_of("roce-24k")
    faults = draw(places, 3, 2)
    cluster, found = story(places, faults, 3)
    begin = time.process_time()
    parts = locate(places, found)
    assert time.process_time() - begin < 10
    assert all(any(names(places, fault, part) for part in parts) for fault in faults)
    assert not wrong(places, faults, parts) and len(parts) == 2 and len(cluster.rounds) <= 3 * FEWEST
