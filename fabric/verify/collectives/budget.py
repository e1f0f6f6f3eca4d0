"""How long a plan takes, and which stages fit into a number of minutes.

Estimates are rough: they choose stages and tell how long to wait, never what is a fault. What has run already corrects the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric.spec.collectives import Collectives
from fabric.verify.collectives.model import Stage
from fabric.verify.collectives.stages import ADAPTIVE, ORDER, Round, Seats, rounds
from fabric.words import counted, duration

_START_S = {"nccl-tests": 15.0, "mpi": 4.0}
_RANK_S = 0.004
"""To start a program, and each of its ranks more (our guess: 24,576 ranks of one job start in under two minutes)."""
_NODE_GBPS = 400.0
_SHARE = 0.5
"""Bandwidth that is reckoned with: GB/s of NVLink, and the share of the NICs' line rate (our guesses, on the slow side)."""
_TCP_GBPS = 1.0
"""GB/s of a host by MPI over TCP, at most (our guess)."""
_DIAG_S = {1: 30.0, 2: 120.0, 3: 900.0, 4: 3600.0}
"""dcgmi diag -r: seconds, about 2 minutes, about 15 minutes, longer; the last is a guess (reference of the levels: NVIDIA DCGM)."""
_FOLLOW_UPS = 4
"""Rounds that suspects need, as `fabric.verify.locate.plan` has them."""
WORTH: tuple[Stage, ...] = ("pairs", "retest", "node", "rails", "paths", "zone", "groups", "zones", "diag")
"""In this order stages are taken into a budget: pairs and the retest of suspects name most faults in the least time."""


@dataclass(frozen=True, slots=True)
class StagePlan:
    """A stage with its rounds (none where they follow from results) and the seconds that it will take."""

    stage: Stage
    rounds: tuple[Round, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run, and what is left out with the reason."""

    stages: tuple[StagePlan, ...]
    left_out: tuple[tuple[Stage, str], ...] = ()

    @property
    def seconds(self) -> float:
        """Of all together."""
        return sum(one.seconds for one in self.stages)

    @property
    def names(self) -> tuple[Stage, ...]:
        """Its stages."""
        return tuple(one.stage for one in self.stages)


def plan(how: Collectives, tests: Mapping[Stage, Sequence[str]], seats: Seats, minutes: float | None = None) -> Plan:
    """The stages in their order; with `minutes`, those that fit, the most telling ones first."""
    made: dict[Stage, StagePlan] = {}
    left_out: list[tuple[Stage, str]] = []
    for stage in ORDER:
        if stage not in how.of_stages:
            continue
        found = rounds(stage, tests.get(stage, ()), seats)
        if found or stage in ADAPTIVE:
            made[stage] = StagePlan(stage, found, _seconds(stage, found, how, seats))
        else:
            left_out.append((stage, _NO_GROUPS.get(stage, "there are too few hosts for it")))
    if minutes is not None:
        _fit(made, left_out, minutes * 60, how, seats)
    return Plan(tuple(made.values()), tuple(left_out))


def _fit(
    made: dict[Stage, StagePlan], left_out: list[tuple[Stage, str]], left: float, how: Collectives, seats: Seats
) -> None:
    """Takes out what does not fit into `left` seconds. Rails that do not fit for all hosts may still for suspects, whom they name."""
    for stage in (one for one in WORTH if one in made):
        need, suspects = made[stage].seconds, _follow_up_seconds(how, seats)
        if need > left:
            why = f"it takes about {duration(need)}, {duration(max(0.0, left))} are left of the budget"
            del made[stage]
            if stage == "rails" and suspects <= left and "pairs" in made:
                made[stage] = StagePlan(stage, (), suspects)
                why += "; it is made of suspects alone"
            left_out.append((stage, why))
        if stage in made:
            left -= made[stage].seconds
    kept = {stage: made[stage] for stage in ORDER if stage in made}
    made.clear()
    if any(one.rounds for one in kept.values()):
        made.update(kept)
    else:
        left_out += [
            (stage, "nothing that it follows from fits into the budget") for stage in kept if kept[stage].seconds
        ]


_NO_GROUPS: Mapping[Stage, str] = {"zones": "there is one zone only"}


def _seconds(stage: Stage, found: Sequence[Round], how: Collectives, seats: Seats) -> float:
    more = _follow_up_seconds(how, seats) if stage in ADAPTIVE else 0.0
    return more + sum(round_seconds(one, how, seats) for one in found)


def _follow_up_seconds(how: Collectives, seats: Seats) -> float:
    """Of what suspects need of one stage."""
    return _FOLLOW_UPS / 2 * run_seconds("pairs", "all_gather", 2, how, seats)


def round_seconds(one: Round, how: Collectives, seats: Seats) -> float:
    """Of a round: its runs side by side as far as may be, and the rails of one pair in one run."""
    runs = len({group.hosts for group in one})
    first = one[0]
    return math.ceil(runs / how.parallel) * run_seconds(first.stage, first.test, len(first.hosts), how, seats)


def run_seconds(stage: Stage, test: str, hosts: int, how: Collectives, seats: Seats) -> float:
    """Of one group with all its repeats."""
    own = next(iter(seats.values()))
    if test.startswith("dcgm"):
        return _DIAG_S[how.diag.level]
    if test in ("ib_write_bw", "path"):
        return how.repeats * (how.perftest.seconds + 8.0)
    start = _START_S[how.engine] + _RANK_S * hosts * len(own)
    rate = sum(seat.speed_gbps for seat in own) / 8 * _SHARE
    if stage == "rails":
        rate /= len(own)
    elif stage == "node":
        rate = _NODE_GBPS
    if how.engine == "mpi":
        rate = min(rate, _TCP_GBPS)
    # out of place and in place
    moved = 2 * sum(how.of_sizes.bytes) * (how.iterations + how.warmup) / 1e9 / rate
    if how.engine == "mpi":
        return min(how.limit_s, start + how.repeats * moved)
    return how.repeats * min(how.limit_s, start + moved)


def lines(made: Plan) -> list[str]:
    """The plan for people: each stage with its rounds, groups and time."""
    found = []
    for one in made.stages:
        groups = sum(len(groups) for groups in one.rounds)
        shape = (
            f"{counted(len(one.rounds), 'round')}, {counted(groups, 'group')}" if one.rounds else "as results ask for"
        )
        found.append(f"{one.stage:8} {shape}, about {duration(one.seconds)}")
    found += [f"{stage:8} left out: {why}" for stage, why in made.left_out]
    return [*found, f"in all about {duration(made.seconds)}"]
