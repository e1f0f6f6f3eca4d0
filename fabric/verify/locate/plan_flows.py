"""Single flows whose way is known: where uplinks are suspected, until each of them was crossed."""

from __future__ import annotations

import math

from fabric.verify.locate.places import Places
from fabric.verify.locate.plan_round import Round
from fabric.verify.locate.plan_state import State

ROUNDS = 2
"""How often flows are sent from under one switch, or between two zones."""
MISSED = 0.01
"""With which probability one of the uplinks may stay without a flow."""


def flow_count(places: Places, hosts: tuple[str, ...]) -> int:
    """How many flows (source ports) a group of `paths` needs so that each uplink of its first host's switch is met.

    By the union bound for flows that choose among n uplinks evenly: n (1 - 1/n)^flows <= MISSED. At least 4.
    """
    switch = places.seats[hosts[0]][0].switch
    uplinks = max(1, len(places.uplinks(switch)))
    if uplinks == 1:
        return 4
    return max(4, math.ceil(math.log(MISSED / uplinks) / math.log(1 - 1 / uplinks)))


def flows(made: Round) -> None:
    """For each strained pair: flows from under both its switches to proven hosts elsewhere; across zones from many hosts of both."""
    state, places = made.state, made.state.places
    if not any(trunk.a4 or trunk.a6 for trunk in places.seating.trunks[:1]):
        return  # InfiniBand: no hop answers
    before = len(made.groups)
    for a, b in state.strained:
        if places.group(a) == places.group(b):
            continue
        for host, other in ((a, b), (b, a)):
            _from(made, host, {places.group(host), places.group(other)})
        if places.zone(a) != places.zone(b):
            _between(made, places.zone(a), places.zone(b))
    for doubted in state.doubted_zones:
        others = sorted(places.by_zone, key=lambda other: other in state.doubted_zones)
        beyond = next((z for z in others if z != doubted and any(h in state.spotless for h in places.by_zone[z])), None)
        if beyond is not None:
            _between(made, doubted, beyond, most=2)
    if len(made.groups) > before:
        _controls(made)


def _controls(made: Round) -> None:
    """Flows of two proven pairs, as peers: all flows of a suspect may be slow."""
    state, places = made.state, made.state.places
    for hosts in list(places.by_zone.values())[:2]:
        spare = [h for h in hosts if h in state.spotless and made.free(h)]
        far = [h for h in spare if places.group(h) != places.group(spare[0]) and made.fits(spare[0], h)]
        if far:
            made.add("paths", (spare[0], far[0]), ((places.seats[spare[0]][0].rail,),), "path")


def _from(made: Round, host: str, without: set[tuple[str, ...]]) -> None:
    """Flows from a free host under the same switch, unless all uplinks were crossed or enough was tried."""
    state, places = made.state, made.state.places
    switch = places.seats[host][0].switch
    sent = [j for j in state.flows if places.seats[j.measurement.hosts[0]][0].switch == switch]
    slow = any(
        j.verdict == "bad" for j in sent
    )  # then a second receiver tells the uplink from the downlink of the first
    if _tried(state, switch) >= ROUNDS or not (slow or _uncrossed(state, switch)):
        return
    without = without | {places.group(j.measurement.hosts[-1]) for j in sent}
    sender = next((h for h in places.under[switch] if h in state.proven and made.free(h)), None)
    if sender is None:
        return
    receiver = next(
        (
            h for h in places.by_zone[places.zone(host)]
            if h in state.spotless and places.group(h) not in without and made.fits(sender, h)
        ),
        None,
    )  # fmt: skip
    if receiver is not None:
        made.add("paths", (sender, receiver), ((places.seats[sender][0].rail,),), "path")


def _tried(state: State, switch: str) -> int:
    """How many different senders' flows from under a switch there were (each group is many flows)."""
    return len(
        {j.measurement.hosts for j in state.flows if state.places.seats[j.measurement.hosts[0]][0].switch == switch}
    )


def _uncrossed(state: State, switch: str) -> set[str]:
    """Uplinks that no flow is known to have crossed."""
    crossed = {name for j in state.flows for name in j.measurement.trunks if j.verdict != "unmade"}
    return {trunk.name for trunk in state.places.uplinks(switch)} - crossed


def _between(made: Round, zone: int, other: int, most: int = 1 << 16) -> None:
    state, places = made.state, made.state.places
    done = {
        j.measurement.hosts for j in state.flows if {places.zone(host) for host in j.measurement.hosts} == {zone, other}
    }
    count = min(places.abroad(zone), places.abroad(other))
    if len(done) >= ROUNDS * count:
        return
    used = {host for hosts in done for host in hosts}
    count = min(count, most)
    pools = [
        [h for h in places.by_zone[z] if h in state.proven and made.free(h) and h not in used] for z in (zone, other)
    ]
    spread = [pool[:: max(1, len(pool) // max(1, count))][:count] for pool in pools]
    for a, b in zip(*spread, strict=False):
        if made.fits(a, b):
            made.add("paths", (a, b), ((places.seats[a][0].rail,),), "path")
