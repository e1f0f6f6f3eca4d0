"""What stands beside a prediction's figures so that they are not taken for more than they are: one line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fabric.design.alike import polarised
from fabric.design.load import Cluster, SubnetCluster
from fabric.predict.model import Case, Prediction
from fabric.predict.place import site_of
from fabric.words import counted, verb

_SHOWN = 3
_CHOICE = {"ctsw": "ctsw up", "atsw": "atsw down"}
"""Tier of switches -> the tier of links that it chooses among by hash."""

METHODS = {
    "dlb": "dlb is reckoned as perfect balance at every switch, which flowlets only come near to",
    "pinned": "pinned paths are the plan of a controller that knows all flows; no switch here is set up for it",
}
"""What is assumed of a way to choose paths."""


def notes(case: Case, walked: int, phases: int) -> tuple[str, ...]:
    """What the case itself assumes. `walked` of `phases`: fewer when these stand for all."""
    sample = f"{walked:,} of {counted(phases, 'phase')} were walked, at even distances, and stand for all"
    found = [sample] if walked < phases else []
    if case.hash in METHODS:
        found.append(METHODS[case.hash])
    return tuple(found)


def out_of_service(cluster: Cluster | SubnetCluster, names: Sequence[str]) -> tuple[str, ...]:
    """Those of the names that no job gets: drained hosts, and hosts under an RTSW that is drained."""
    served = {spot.name for spot in site_of(cluster).spots}
    return tuple(name for name in names if name not in served)


def with_cluster(found: Prediction, cluster: Cluster | SubnetCluster) -> Prediction:
    """The prediction with what follows from the cluster: drained hosts, seeds that are not known."""
    return replace(found, notes=(*found.notes, *_of_hosts(found.case, cluster), *_of_switches(found, cluster)))


def _of_hosts(case: Case, cluster: Cluster | SubnetCluster) -> Iterator[str]:
    if case.hosts:
        named = out_of_service(cluster, case.hosts)
        if named:
            more = f" and {len(named) - _SHOWN:,} more" if len(named) > _SHOWN else ""
            many = len(named)
            yield (
                f"the job names {counted(many, 'drained host')}: {', '.join(named[:_SHOWN])}{more}; "
                f"{verb(many, 'it takes', 'they take')} part all the same"
            )
    elif case.left_out:
        yield f"{counted(len(case.left_out), 'drained host')} left out; --job takes them in"


def _of_switches(found: Prediction, cluster: Cluster | SubnetCluster) -> Iterator[str]:
    """Adaptive routing, which is no more perfect than flowlets; and tiers that may hash alike, where that could gate.

    It could where the links behind their choice are so full that fewer of them would be too few.
    """
    case = found.case
    if isinstance(cluster, SubnetCluster):
        if case.hash == "spray":
            yield "adaptive routing is reckoned as perfect balance over all equal paths, which it only comes near to"
        return
    if case.hash not in ("ecmp", "e-ecmp") or not case.seed_per_tier:
        return
    busiest = max(found.tiers.values(), default=0.0)
    for pair in polarised(cluster.fabric):
        if pair.why == "unknown" and found.tiers.get(_CHOICE[pair.upper], 0.0) * pair.shared > max(1.0, busiest):
            yield (
                f"EOS has no known hash seed, so {pair.lower} and {pair.upper} are walked as different; if they hash alike, "
                f"{pair.left:.3g} % of what could cross {pair.upper}s is left (walked where load_balancing.seeds are equal)"
            )
