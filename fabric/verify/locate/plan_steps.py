"""The steps of a plan: each adds its groups to the round for hosts that are still free."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from fabric.verify.locate.plan_round import Round
from fabric.verify.locate.plan_state import State

PARTNERS = 3
"""With how many partners a suspect is tried at most, all rails together."""
CONTROLS = 12
"""Proven pairs that run beside suspects, so that these have peers: more than `Gate.many`, so that a few may be bad."""

NEAR = 8
"""How many hosts that wait for a partner are looked at."""


def nodes(made: Round) -> bool:
    """Every host that was never measured alone."""
    for host in made.state.hosts:
        if host not in made.state.alone:
            made.add("node", (host,))
    return bool(made.groups)


def gpus(made: Round) -> None:
    """GPUs of a host that is bad alone: two and two, then those of each bad two with GPUs of good ones; of good hosts, as peers."""
    todo: list[list[tuple[int, ...]]] = []
    for host in made.state.hosts:
        if "bad" in made.state.alone.get(host, ()) and made.free(host):
            sets = _gpu_sets([seat.gpu for seat in made.state.places.seats[host]], made.state.gpus.get(host, {}))
            if sets:
                made.add("node", (host,), sets)
                todo.append(sets)
    spare = [host for host in made.state.hosts if host in made.state.spotless and made.free(host)]
    for host, sets in zip(spare, [*todo, *todo[:1], *todo[:1]], strict=False):
        made.add("node", (host,), sets)


def _gpu_sets(all_gpus: Sequence[int], done: Mapping[tuple[int, ...], str]) -> list[tuple[int, ...]]:
    if not done:
        return list(zip(all_gpus[::2], all_gpus[1::2], strict=False)) if len(all_gpus) > 2 else []
    good = [gpu for some, verdict in done.items() if verdict == "good" for gpu in some]
    open_ones = [
        gpu
        for some, verdict in done.items()
        if verdict == "bad"
        for gpu in some
        if gpu not in good and sum(gpu in other for other in done) < 2
    ]
    return [(gpu, partner) for gpu, partner in zip(open_ones, dict.fromkeys(good), strict=False)]


def pairs(made: Round) -> bool:
    """Disjoint pairs under one switch of hosts that have met nobody; who is left over meets somebody of the zone, or anybody."""
    state, places = made.state, made.state.places
    new = {host for host in state.hosts if host not in state.met}
    rest: list[str] = []
    for hosts in places.groups.values():
        rest += made.pair_up("pairs", [host for host in hosts if host in new])
    last: list[str] = []
    for hosts in places.by_zone.values():
        wanted = set(hosts).intersection(rest)
        last += made.pair_up("pairs", [host for host in hosts if host in wanted])
    for host in made.pair_up("pairs", last):
        other = next((h for h in state.hosts if h != host and h not in new and made.free(h)), None)
        if other is not None:
            made.add("pairs", (host, other))
    return bool(made.groups)


def retests(made: Round) -> None:
    """Each suspect with a partner that it has not met, until it has met enough.

    Where uplinks do not carry all rails: first each rail with the partner under the same switch, then the bad ones across.
    """
    state, places = made.state, made.state.places
    near = 0
    for host in state.suspects:
        if not made.free(host):
            continue
        other = made.partner(host)
        if other is None:
            continue
        lanes = places.lanes(host, other)
        if not lanes and len(state.met[host]) < PARTNERS - 1:
            made.add("retest", (host, other))
        elif lanes and host in state.by_rail and state.bad_rails(host) and len(state.met[host]) < PARTNERS:
            some = dict.fromkeys((*state.bad_rails(host)[: len(lanes)], *lanes))
            made.add("retest", (host, other), (tuple(sorted(list(some)[: len(lanes)])),))
        elif lanes and host not in state.by_rail:
            mate = next((h for h in state.met[host] if places.group(h) == places.group(host) and made.free(h)), None)
            if mate is not None:
                made.add("rails", (host, mate), _rails(state, host))
                near += 1
    if near:
        _controls(made, near, 0)


def rails(made: Round) -> None:
    """Suspects that were bad with two partners, each rail alone, with one more; and proven pairs beside them."""
    state, places = made.state, made.state.places
    near = far = 0
    abroad: list[tuple[str, str]] = []
    for host in state.suspects:
        if len(state.met[host]) >= 2 and host not in state.by_rail and made.free(host):
            other = made.partner(host) or _again(made, host)
            if other is not None and not places.lanes(host, other):
                made.add("rails", (host, other), _rails(state, host))
                near += places.group(host) == places.group(other)
                far += places.group(host) != places.group(other) and places.zone(host) == places.zone(other)
                abroad += [(host, other)] if places.zone(host) != places.zone(other) else []
    if near + far:
        _controls(made, near, far)
    if abroad:
        _far_controls(made, abroad)


def lone_rails(made: Round) -> None:
    """A rail that is bad alone between two hosts of whom nothing else is: both once more on this rail, each with another proven partner."""
    state, places = made.state, made.state.places
    for a, b, some in state.lone_rails:
        for host in (a, b):
            met = state.rail_met.get(host, {})
            tried = [other for other, rails in met.items() if not rails.isdisjoint(some)]
            good = any("good" in state.by_rail[host][rail] for rail in some)
            if not made.free(host) or len(tried) >= (2 if good else PARTNERS):
                continue
            pool = chain(places.groups[places.group(host)], places.by_zone[places.zone(host)], state.mixed)
            other = next(
                (h for h in pool if h in state.spotless and h not in (a, b) and h not in met and made.fits(host, h)),
                None,
            )
            if other is not None and set(some) <= {seat.rail for seat in places.seats[other]}:
                made.add("rails", (host, other), (some,))


def inner_rails(made: Round) -> None:
    """Hosts whose every rail is bad because nothing leaves their zone: rail by rail under their own switches, where it shows what is theirs."""
    state, places = made.state, made.state.places
    pairs: list[tuple[str, str]] = []
    for host in state.shut_in:
        mates = [h for h in places.groups[places.group(host)] if h != host and made.free(h)]
        if made.free(host) and mates:
            other = next((h for h in mates if h in state.met[host]), mates[0])
            made.add("rails", (host, other), _rails(state, host))
            pairs.append((host, other))
    if pairs:
        _controls(made, len(pairs), 0)


def _again(made: Round, host: str) -> str | None:
    """In a small fleet: a proven partner for the second time."""
    return next(
        (other for other in made.state.met[host] if other in made.state.proven and made.fits(host, other)), None
    )


def _rails(state: State, host: str) -> list[tuple[int, ...]]:
    return [(seat.rail,) for seat in state.places.seats[host]]


def _controls(made: Round, near: int, far: int) -> None:
    """Rail by rail, as many proven pairs (and one more) under one switch and across, as there are suspects' pairs: their peers."""
    spare = [host for host in made.state.hosts if host in made.state.spotless and made.free(host)]
    groups: dict[tuple[str, ...], list[str]] = {}
    for host in spare:
        groups.setdefault(made.state.places.group(host), []).append(host)
    inside = [pair for hosts in groups.values() for pair in zip(hosts[::2], hosts[1::2], strict=False)]
    for a, b in inside[-near - 1 :] if near else []:
        made.add("rails", (a, b), _rails(made.state, a))
    for a, b in _across(made, [host for host in spare if made.free(host)])[: far + 1 if far else 0]:
        made.add("rails", (a, b), _rails(made.state, a))


def _across(made: Round, hosts: Sequence[str]) -> list[tuple[str, str]]:
    """Disjoint pairs of neighbouring groups within a zone, of groups that have not met."""
    places = made.state.places
    met = set(made.state.group_met)
    taken: Counter[tuple[str, ...]] = Counter()
    found: list[tuple[str, str]] = []
    waiting: dict[int, list[str]] = {}
    for host in hosts:
        queue = waiting.setdefault(places.zone(host), [])
        own = places.group(host)
        for place, other in enumerate(queue[:NEAR]):
            groups = frozenset((own, places.group(other)))
            if len(groups) == 2 and groups not in met and made.fits(host, other) and taken[own] < places.upward(host):
                if taken[places.group(other)] >= places.upward(other):
                    continue
                taken.update(groups)
                met.add(groups)
                found.append((queue.pop(place), host))
                break
        else:
            queue.append(host)
    return found


def twice(made: Round) -> None:
    """Pairs that were bad although both are good with others, once more; InfiniBand: rail by rail, which names the leaf."""
    state, places = made.state, made.state.places
    strained: list[tuple[str, str]] = []
    for a, b in state.strained:
        if made.free(a) and made.free(b):
            apart = len(set(places.group(a))) > 1 and places.group(a) != places.group(b)
            if apart and frozenset((a, b)) not in state.rail_pairs:
                made.add("rails", (a, b), _rails(state, a))
                strained.append((a, b))
            elif not apart and len(state.pairs[frozenset((a, b))]) < 2 and made.fits(a, b):
                made.add("retest", (a, b), (state.with_rails[frozenset((a, b))],))
    if strained:
        _far_controls(made, strained)


def _far_controls(made: Round, strained: Sequence[tuple[str, str]]) -> None:
    """Rail by rail, proven pairs across zones that are least concerned, as many as there are strained pairs and one more."""
    state, places = made.state, made.state.places
    concerned = Counter(places.zone(host) for pair in strained for host in pair)
    for _ in range(len(strained) + 1):
        pools = [
            next((host for host in places.by_zone[zone] if host in state.spotless and made.free(host)), None)
            for zone in sorted(places.by_zone, key=lambda zone: concerned[zone])
        ]
        found = [host for host in pools if host is not None][:2]
        if len(found) == 2 and made.fits(found[0], found[1]):
            made.add("rails", found, _rails(state, found[0]))


def screens(made: Round, *, zones: bool, controls_only: bool) -> None:
    """Hosts that are free meet across switches, each twice with others; some of each zone across zones.

    It proves the uplinks of racks and zones. With `controls_only` only as many as suspects need as peers.
    """
    state = made.state
    if zones and not controls_only:
        _zones(made)
    spare = [
        host
        for host in state.hosts
        if host in state.spotless and made.free(host) and (controls_only or not state.proven_up(host))
    ]
    found = _across(made, spare)
    for a, b in found[:CONTROLS] if controls_only else found:
        made.add("retest", (a, b), (state.places.lanes(a, b),))


def _zones(made: Round) -> None:
    """Hosts of every zone with hosts of every other, no more at once than half the zone's uplinks can carry."""
    state, places = made.state, made.state.places
    pools: dict[int, list[str]] = {}
    for zone, hosts in places.by_zone.items():
        good = [h for h in hosts if h in state.spotless and made.free(h) and not _abroad(state, h)]
        if sum(_abroad(state, h) > 0 for h in hosts) < 2 * places.abroad(zone):
            count = places.abroad(zone)
            step = max(1, len(good) // max(1, count))
            first = (sum(_abroad(state, h) > 0 for h in hosts) * step + step // 2) % max(
                1, len(good)
            )  # other racks each time
            pools[zone] = [*good[first:], *good[:first]][::step][:count]
    met = dict(state.zones_met)
    while len(order := [zone for zone, pool in pools.items() if pool]) > 1:
        zone = max(order, key=lambda z: len(pools[z]))
        other = min((z for z in order if z != zone), key=lambda z: (met.get(frozenset((zone, z)), 0), -len(pools[z])))
        met[frozenset((zone, other))] = met.get(frozenset((zone, other)), 0) + 1
        a, b = pools[zone].pop(), pools[other].pop()
        if made.fits(a, b):
            made.add("zones", (a, b), (places.lanes(a, b),))


def _abroad(state: State, host: str) -> int:
    zone = state.places.zone(host)
    return sum(state.places.zone(partner) != zone for partner in state.met.get(host, ()))
