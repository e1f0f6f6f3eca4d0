"""A cluster with faults that answers a plan's groups with results: bandwidth with noise, flows with the way that they took."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from fabric.design.seats import load_seating
from fabric.verify.collectives.model import Measurement, Part
from fabric.verify.collectives.stages import Group
from fabric.verify.locate.places import Places, Suspect
from fabric.verify.locate.plan import next_round
from fabric.verify.locate.plan_flows import flow_count

NOISE = 0.05
REPEATS = 3
FLOWS_A_RAIL = 4
INVENTORIES = Path(__file__).resolve().parents[3] / "inventories"
RATES = {"node": 450.0, "paths": 45.0}


@cache
def places_of(name: str) -> Places:
    """The places of an inventory."""
    return Places(load_seating(INVENTORIES / name / "cluster.yaml"))


@dataclass(frozen=True)
class Fault:
    """What is wrong, and how fast it still is: a share of the rate, 0 = broken. `path`: a pair of hosts, `name` is both."""

    kind: str
    name: str
    number: int = 0
    rate: float = 0.5

    @property
    def suspect(self) -> Suspect:
        return ("link" if self.kind in ("nic", "cable") else self.kind, self.name, self.number)  # type: ignore[return-value]


@dataclass
class Cluster:
    """Answers groups. Every draw comes from `seed`."""

    places: Places
    faults: Sequence[Fault]
    seed: int
    rounds: list[tuple[Group, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311 a simulation
        self.by_part = {fault.suspect: fault for fault in self.faults}
        self.trunks = {fault.name: fault.rate for fault in self.faults if fault.kind == "trunk"}
        self.paths = {frozenset(f.name.split(" <-> ")): f for f in self.faults if f.kind == "path"}
        self.touched = {host for fault in self.faults for host in self._hosts(fault)}

    def _hosts(self, fault: Fault) -> Sequence[str]:
        """The hosts whose results a fault may show in, but for trunks."""
        if fault.kind == "zone":
            return self.places.by_zone[fault.number]
        return self.places.under.get(fault.name) or fault.name.split(" <-> ")

    def measure(self, groups: Sequence[Group]) -> list[Measurement]:
        """One round."""
        self.rounds.append(tuple(groups))
        number = len(self.rounds)
        return [
            m
            for group in groups
            for m in (self._flows(group, number) if group.stage == "paths" else [self._one(group, number)])
        ]

    def _one(self, group: Group, number: int) -> Measurement:
        m = Measurement(group.stage, group.test, group.hosts, group.rails, 1 << 33, round=number)
        rate = min(self._rate(m), self._trunks(group) if len(group.hosts) == 2 else 1.0)
        full = RATES.get(group.stage, 46.0 * (len(group.rails) or 8))
        if (ceiling := self.places.ceiling(m)) < 1:  # the uplinks are the narrow place
            rate = min(1.0, rate / ceiling)
        return self._result(m, rate, full * ceiling)

    def _trunks(self, group: Group) -> float:
        """The rate of the slowest trunk that one of the many flows of a pair met, by the throw of dice."""
        a, b = group.hosts
        rails = group.rails or range(len(self.places.seats[a]))
        slowest = 1.0
        for name, rate in self.trunks.items():
            trunk, number = self.places.trunk[name], FLOWS_A_RAIL * len(rails)
            ends = {s for r in rails for s in (self.places.seat(a, r).switch, self.places.seat(b, r).switch)}
            if trunk.b in self.places.under:
                met = trunk.b in ends and self.places.group(a) != self.places.group(b)
                ways = len(self.places.uplinks(trunk.b))
            else:
                zones = {self.places.zone(a), self.places.zone(b)}
                zone = self.places.zone_of_switch[trunk.b]
                met = len(zones) > 1 and zone in zones
                ways = len(self.places.exits[zone])
            if met and self.random.random() > (1 - 1 / ways) ** number:
                slowest = min(slowest, rate)
        return slowest

    def _flows(self, group: Group, number: int) -> list[Measurement]:
        found = []
        for port in range(flow_count(self.places, group.hosts)):
            a, b = group.hosts
            trunks = self._way(a, b, group.rails)
            m = Measurement(
                "paths", "path", group.hosts, group.rails, trunks=trunks, source=f"port {port}", round=number
            )
            found.append(self._result(m, self._rate(m), RATES["paths"]))
        return found

    def _result(self, m: Measurement, rate: float, full: float) -> Measurement:
        values = tuple(full * rate * max(0.01, self.random.gauss(1, NOISE)) for _ in range(REPEATS))
        state = "ok" if rate > 0 else "broken"
        return Measurement(m.stage, m.test, m.hosts, m.rails, m.size, values if rate > 0 else (), state,  # type: ignore[arg-type]
                           "" if rate > 0 else "timed out", None, m.trunks, m.source, m.round)  # fmt: skip

    def _rate(self, m: Measurement) -> float:
        if not m.trunks and self.touched.isdisjoint(m.hosts):
            return 1.0
        rate = min((self.by_part[s].rate for s in self.places.must(m) if s in self.by_part), default=1.0)
        if len(m.hosts) == 1:
            host = self.by_part.get(("host", m.hosts[0], 0))
            return min(rate, 1.0 if host is None or self.seed % 2 else host.rate)
        path = self.paths.get(frozenset(m.hosts))
        gpus = [self.by_part[s].rate for s in self.places.may(m) if s[0] == "gpu" and s in self.by_part]
        return min(rate, *(gpus if self.seed % 3 == 0 else ()), 1.0 if path is None else path.rate)

    def _way(self, a: str, b: str, rails: Sequence[int]) -> tuple[str, ...]:
        """The trunks of one flow by a throw of dice at each switch; nothing under one switch."""
        rail = rails[0] if rails else self.random.randrange(len(self.places.seats[a]))
        one, other = self.places.seat(a, rail).switch, self.places.seat(b, rail).switch
        if one == other:
            return ()
        ups = _parents(self.places)
        up, down = self.random.choice(ups[one]), None
        meet = [t for t in ups[other] if t.a == up.a]
        if self.places.zone(a) == self.places.zone(b) and meet:
            return (up.name, self.random.choice(meet).name)
        above = self.random.choice(ups[up.a])
        for trunk in self.random.sample(ups[other], len(ups[other])):
            if meet := [t for t in ups.get(trunk.a, ()) if t.a == above.a]:
                down = trunk
                break
        assert down is not None
        return (up.name, above.name, self.random.choice(meet).name, down.name)


_PARENTS: dict[int, dict[str, list]] = {}  # type: ignore[type-arg]


def _parents(places: Places) -> dict[str, list]:  # type: ignore[type-arg]
    if id(places) not in _PARENTS:
        found: dict[str, list] = {}  # type: ignore[type-arg]
        for trunk in places.seating.trunks:
            found.setdefault(trunk.b, []).append(trunk)
        _PARENTS[id(places)] = found
    return _PARENTS[id(places)]


KINDS = ("gpu", "nic", "cable", "host", "switch", "trunk", "zone", "path")


def draw(places: Places, seed: int, count: int, kinds: Sequence[str] = KINDS, fastest: float = 0.7) -> list[Fault]:
    """So many faults at random: the kind, the part, and how slow (0.2 to `fastest`); one in four is broken altogether.

    None hides another: a cable under a dead switch cannot be seen by anybody.
    """
    rng = random.Random(seed)  # noqa: S311 a simulation
    while True:
        found = [_draw(places, rng, rng.choice(kinds), fastest) for _ in range(count)]
        if len({_area(places, fault) for fault in found}) == count:
            return found


def _area(places: Places, fault: Fault) -> object:
    """Where a fault can be hidden by another one: its group of hosts; the zone, for what is only seen from outside."""
    if fault.kind in ("trunk", "zone"):
        return fault.number or places.zone_of_switch.get(places.trunk[fault.name].b, "core")
    if fault.kind == "switch":
        return places.group(places.under[fault.name][0])
    return places.group(fault.name.partition(" ")[0])


def _draw(places: Places, rng: random.Random, kind: str, fastest: float) -> Fault:
    rate = 0.0 if rng.random() < 0.25 else rng.uniform(0.2, fastest)
    host = rng.choice(list(places.seats))
    seat = rng.choice(places.seats[host])
    if kind == "trunk":
        return Fault(kind, rng.choice(places.seating.trunks).name, 0, rate)
    if kind == "zone":
        return Fault(kind, "", rng.choice(list(places.by_zone)), rate)
    if kind == "switch":
        return Fault(kind, seat.switch, 0, rate)
    if kind == "path":  # of hosts that do meet
        near = [h for h in places.groups[places.group(host)] if h != host]
        place = places.groups[places.group(host)].index(host)
        return Fault(kind, f"{host} <-> {near[min(place - place % 2, len(near) - 1)]}", 0, rate)
    return Fault(kind, host, seat.rail if kind != "host" else 0, rate)


def story(places: Places, faults: Sequence[Fault], seed: int, most: int = 12) -> tuple[Cluster, list[Measurement]]:
    """The plan carried out to its end: the cluster with its rounds, and all results."""
    cluster = Cluster(places, faults, seed)
    found: list[Measurement] = []
    for _ in range(most):
        groups = next_round(places, found)
        if not groups:
            break
        found += cluster.measure(groups)
    return cluster, found


def names(places: Places, fault: Fault, part: Part) -> bool:
    """Whether a part is that fault by its exact name. A NIC and its cable are one place: both ends are in the part's name."""
    kind, name, _ = fault.suspect
    if kind == "path":
        return part.kind == "path" and set(part.name.split(" <-> ")) == set(name.split(" <-> "))
    if kind == "link":
        seat = places.seat(name, fault.number)
        return (part.kind, part.name) in (("cable", seat.cable), ("nic", seat.name))
    wanted = {"zone": "zone-uplinks"}.get(kind, kind)
    return (part.kind, part.name) == (wanted, places.text(fault.suspect))


def wrong(places: Places, faults: Sequence[Fault], parts: Iterable[Part]) -> list[Part]:
    """Parts that blame somebody healthy; what is undecided, or a path, blames nobody."""
    return [p for p in parts if p.kind not in ("undecided", "path") and not any(names(places, f, p) for f in faults)]
