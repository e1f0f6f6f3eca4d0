"""What to measure next: a round of groups that load disjoint parts and so run at the same time.

The plan asks nothing that a result already answers, so it can be called again and again with all results so far; it ends with an
empty round. Rounds (each only if its stage is asked for and something is open):

1. `node`: every host alone. GPUs of a bad host then two and two, then each with others.
2. `pairs`: disjoint pairs under one switch.
3. `retest`: each suspect with a proven partner; the other hosts meet in pairs across racks meanwhile, which proves the uplinks
   of racks and gives the suspects peers to be compared with.
4. `rails`: suspects that were bad twice, each rail alone, with another proven partner; pairs across `zones` meanwhile.
5. A pair that was bad although both are good with others, once more. Flows with a known way (`paths`) where uplinks are suspected.
   A rail that is bad alone, while its hosts are good, with another partner. Hosts of a zone that nothing leaves, rail by rail within it.

"Two different proven partners" (NVIDIA's rule in nccl issue 325) is kept: the partner in round 4 is another one than in round 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fabric.design.seats import Seating
from fabric.verify.collectives.model import Measurement, Stage
from fabric.verify.collectives.stages import Group
from fabric.verify.locate.gates import Expected, Gate, judge, pooled
from fabric.verify.locate.places import Places
from fabric.verify.locate.plan_flows import flows
from fabric.verify.locate.plan_round import Round
from fabric.verify.locate.plan_state import State
from fabric.verify.locate.plan_steps import gpus, inner_rails, lone_rails, nodes, pairs, rails, retests, screens, twice

STAGES: tuple[Stage, ...] = ("node", "pairs", "retest", "rails", "paths", "zones")


def next_round(
    seating: Seating | Places,
    so_far: Iterable[Measurement],
    *,
    hosts: Sequence[str] | None = None,
    stages: Sequence[Stage] = STAGES,
    test: str = "all_gather",
    expected: Expected | None = None,
    gate: Gate | None = None,
) -> tuple[Group, ...]:
    """The groups of the next round, disjoint in hosts or in the rails of a host; empty when nothing is left to ask.

    `hosts`: only these take part (default: all that are deployed). `stages`: what may be measured; without `node` and `pairs` only
    the suspects that `so_far` shows are followed up. `test`: the collective; flows of `paths` are of test `path`.
    """
    places = seating if isinstance(seating, Places) else Places(seating)
    chosen = list(places.seats) if hosts is None else [host for host in hosts if host in places.seats]
    chosen = [host for host in chosen if hosts is not None or _deployed(places, host)]
    every, gate = list(so_far), gate or Gate()
    judged, _ = judge(places, every, expected, gate)
    made = Round(State(places, judged, chosen, lambda: judge(places, pooled(every), expected, gate)[0]), test)
    first = ("node" in stages and nodes(made)) or ("pairs" in stages and pairs(made))
    if not first:
        _follow(made, stages)
    return made.groups


def _follow(made: Round, stages: Sequence[Stage]) -> None:
    """Suspects first; whoever is free then proves uplinks, when pairs are wanted at all, or serves as a peer."""
    if "node" in stages:
        gpus(made)
    if "rails" in stages:
        rails(made)
        inner_rails(made)
        lone_rails(made)
    if "retest" in stages:
        retests(made)
        twice(made)
    if "paths" in stages:
        flows(made)
    if "retest" in stages and ("pairs" in stages or any(group.stage == "retest" for group in made.groups)):
        screens(made, zones="zones" in stages, controls_only="pairs" not in stages)


def _deployed(places: Places, host: str) -> bool:
    seats = places.seats[host]
    return bool(seats) and seats[0].state == "deployed"
