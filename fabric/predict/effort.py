"""How long a prediction will take, before it is begun: from the numbers of flows, subflows and seeds, without a clock."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fabric.predict.load import Flows
from fabric.predict.model import Case
from fabric.predict.net import Net
from fabric.predict.runs import Asked
from fabric.words import counted

SAID_FROM: Final = 10.0
"""Seconds from which on it is said."""
USUAL_SEEDS: Final = 20
"""What a case has where it names no number."""

# Measured on one core of 2024 for networks of 24,576 and 350,208 GPUs (docs/benchmarks.md); half and twice as much are seen.
_HOP: Final = 35e-9  # seconds a subflow and switch
_FLOW: Final = 250e-9  # seconds a flow and seed: its order, its ends, its load at the NICs
_SPREAD: Final = 4e-6  # seconds a flow, split evenly by every switch
_NEAR, _FAR = 2, 4  # switches that choose, on ways inside a zone and beyond
_FEW: Final = 5  # seeds of what is balanced perfectly (`waterfall.climb`)


def seconds(net: Net, case: Case) -> float:
    """About how many seconds of one core `answer.predict` takes; without the search for the first change, which is short.

    FabricError for a job that cannot be.
    """
    asked = Asked(net, replace(case, failures=()))
    steps = asked.steps(0)[2]
    leaving = sum(part.flow.size for step in steps for part in step.ready.parts)
    policy, one = asked.policy(), sum(step.ready.src.size for step in steps) * _FLOW + leaving * _SPREAD
    if policy.splits:
        return (case.seeds if asked.shuffled else 1) * _climbs(case) * one
    walks = (case.seeds if asked.hashes(policy) or asked.shuffled else 1) * _climbs(case)
    walked = sum(_hops(net, step.ready) for step in steps) * policy.paths * _HOP + leaving * _FLOW
    return walks * walked + (min(case.seeds, _FEW) if asked.shuffled else 1) * one


def notice(net: Net, case: Case) -> str | None:
    """What to say of a case that takes long, in one line; None for one that does not. FabricError for a job that cannot be."""
    took = seconds(net, case)
    if took < SAID_FROM:
        return None
    span = f"{round(took, -1):.0f} seconds" if took < 90 else f"{round(took / 60):,} minutes"
    fewer = f"; {USUAL_SEEDS} seeds give a spread as well" if case.seeds > USUAL_SEEDS else ""
    return f"{case.name}: {counted(case.seeds, 'seed')}, about {span}{fewer}"


def _climbs(case: Case) -> int:
    """How often all seeds are walked: also with tiers that hash apart, and without what has failed."""
    return 1 + (not case.seed_per_tier) + bool(case.failures)


def _hops(net: Net, ready: Flows) -> int:
    """Choices of all flows: those of a part are alike, inside a block or beyond."""
    return sum(
        part.flow.size * (_NEAR if net.block_of_switch[part.leaf[0]] == part.block[0] else _FAR) for part in ready.parts
    )
