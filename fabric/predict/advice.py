"""The first change that removes the bottleneck: what to do, and what is then reached, by walks of its own and never by a rule alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fabric.predict.bounds import queue_pairs_for, spread_of
from fabric.predict.closed_form import utilisation
from fabric.predict.latency import Clock
from fabric.predict.load import spread
from fabric.predict.model import Change
from fabric.predict.net import Net
from fabric.predict.runs import Asked, band, norms_of
from fabric.predict.waterfall import CONGESTION, Ladder

LEAST_GAIN = 2.0
"""Percent of the line rate: less is no bottleneck."""
MOST_PAIRS = 128
"""NCCL_IB_QPS_PER_CONNECTION's largest value (catalog, nccl.yaml)."""
SEEDS = 5
SUBFLOWS_AT_MOST = 12_000_000
"""Subflows that a trial walks over all its seeds: about a second."""


def first_change(now: Asked, whole: Asked, ladder: Ladder, clock: Clock, sent: float) -> Change | None:
    """For the step of congestion that takes most; None where none takes 2 % of the rate, or nothing that is known here helps.

    Only the limit of large messages counts here; where latency takes most and links are free, another algorithm is tried.
    """
    step = max(CONGESTION, key=ladder.loss)
    before = 100 * float(np.median(norms_of(ladder.runs)))
    if 100 * ladder.loss(step) < LEAST_GAIN:
        return _quicker(now, clock, sent)
    for what, key, asked in _candidates(step, now, whole):
        found = band(100 * norms_of(asked.hashed(asked.policy(), _seeds(asked))))
        if found.p50 >= before + LEAST_GAIN:
            return Change(what, key, found)
    return None


def _seeds(asked: Asked) -> int:
    flows = (
        len(asked.net.hosts if asked.case.gpus is None else range(asked.case.gpus // asked.net.rails)) * asked.net.rails
    )
    return max(2, min(asked.case.seeds, SEEDS, SUBFLOWS_AT_MOST // max(1, flows * asked.case.subflows)))


def _candidates(step: str, now: Asked, whole: Asked) -> list[tuple[str, str, Asked]]:
    case = now.case
    if step == "failures":
        text = ", ".join(case.failures[:3]) + (", ..." if len(case.failures) > 3 else "")
        return [(f"repair {text}", "state", whole)]
    if step == "polarisation":
        return [("a hash seed of its own for each tier", "load_balancing.seeds", _with(now, seed_per_tier=True))]
    if step == "placement":
        return _placements(now)
    return _spreads(now)


def _placements(now: Asked) -> list[tuple[str, str, Asked]]:
    """Topology order first; where the order is that already, more capacity on the tier that gates."""
    case, found = now.case, []
    if case.hosts:
        ordered = tuple(now.net.hosts[index] for index in sorted(now.order(0).tolist()))
        if ordered != case.hosts:
            found.append(
                ("ranks in the order of zone, rack and host (fabric place)", "placement", _with(now, hosts=ordered))
            )
    elif case.placement in ("random", "zone"):
        found.append(
            (
                "hosts and ranks in the order of zone, rack and host (fabric place)",
                "placement",
                _with(now, placement="rack"),
            )
        )
    _, _, steps = now.steps(0)
    tier = int(_fullest(now.net, spread(steps[0].ready)))
    pair = {"up": "down", "down": "up"}
    name = now.net.tiers[tier]
    lower = {"rtsw": "backend.rack_profiles.*.uplinks", "ctsw": "backend.ctsw.uplinks", "atsw": "backend.ctsw.uplinks"}
    both = [tier for tier, other in enumerate(now.net.tiers) if other == name or _same_cables(other, name, pair)]
    wider = replace(now.net, capacity=np.where(np.isin(now.net.tier, both), 2 * now.net.capacity, now.net.capacity))
    key = _key_of(name, lower)
    found.append((f"twice the links of the tier {name}", key, Asked(wider, case)))
    return found


def _same_cables(other: str, name: str, pair: dict[str, str]) -> bool:
    """Whether two tiers are the two directions of the same cables: "rtsw up" and "ctsw down"."""
    chain = ("rtsw", "ctsw", "atsw")
    device, way = name.rsplit(" ", 1)
    if device not in chain:
        return False
    place = chain.index(device) + (1 if way == "up" else -1)
    return 0 <= place < len(chain) and other == f"{chain[place]} {pair[way]}"


def _key_of(name: str, lower: dict[str, str]) -> str:
    device, _, way = name.partition(" ")
    if device == "ctsw" and way == "down":
        return lower["rtsw"]
    return lower.get(device, "backend")


def _fullest(net: Net, loads: np.ndarray[tuple[int], np.dtype[np.float64]]) -> int:
    between = (net.source >= 0) & (net.target >= 0)
    load = np.where(between, loads / net.capacity, 0.0)
    return int(net.tier[int(load.argmax())])


def _spreads(now: Asked) -> list[tuple[str, str, Asked]]:
    """More queue pairs by the formula, where they can be enough; else, or if they are not, paths pinned by a controller."""
    case, found = now.case, []
    _, _, steps = now.steps(0)
    rho, links = utilisation(now.net, spread(steps[0].ready))
    wanted = queue_pairs_for(rho, spread_of(links))
    pairs = 1 << (max(16, wanted) - 1).bit_length() if wanted is not None and wanted <= MOST_PAIRS else None
    key = "hosts.nccl.qps"
    if case.hash == "ecmp":
        chosen = max(pairs or 16, case.qps)
        found.append(
            (
                f"e-ecmp with {chosen} queue pairs",
                f"load_balancing.method, {key}",
                _with(now, hash="e-ecmp", qps=chosen),
            )
        )
    elif case.hash == "e-ecmp" and pairs is not None and pairs * case.channels > case.subflows:
        found.append((f"{pairs} queue pairs a connection", key, _with(now, qps=pairs)))
    if case.hash in ("ecmp", "e-ecmp"):
        found.append(("paths pinned by a controller", "fabric place", _with(now, hash="pinned")))
    return found


def _quicker(now: Asked, clock: Clock, sent: float) -> Change | None:
    """Where latency takes most: recursive doubling, whose steps grow with the logarithm of the hosts."""
    from fabric.predict.latency import wires

    case = now.case
    norms = norms_of(now.hashed(now.policy(), 1))
    own = float(clock.reached(sent, norms)[0])
    if case.algorithm != "ring" or case.collective in ("all_to_all", "send_recv"):
        return None
    other = _with(now, algorithm="tree" if case.collective == "all_reduce" else "recursive")
    pattern, order, _ = other.steps(0)
    quick = Clock(wires(other.case, len(order), now.net.rails, pattern.steps), clock.gbps)
    found = quick.reached(sent, norms_of(other.hashed(other.policy(), _seeds(other))))
    if float(np.median(found)) < own + LEAST_GAIN:
        return None
    return Change(f"algorithm {other.case.algorithm}: fewer steps, less latency", "algorithm", band(found))


def _with(now: Asked, **changes: object) -> Asked:
    return Asked(now.net, replace(now.case, **changes))  # type: ignore[arg-type]
