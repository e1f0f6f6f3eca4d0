"""The first change that removes the bottleneck: what to do, and what is then reached, by walks of its own and never by a rule alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fabric.predict.bounds import queue_pairs_for, spread_of
from fabric.predict.closed_form import utilisation
from fabric.predict.latency import Clock
from fabric.predict.model import Change
from fabric.predict.net import Floats, Net
from fabric.predict.runs import Asked, band, middle_seed, norms_of, slowest
from fabric.predict.waterfall import CONGESTION, Ladder

LEAST_GAIN = 2.0
"""Percent of the line rate: less is no bottleneck."""
MOST_PAIRS = 128
"""NCCL_IB_QPS_PER_CONNECTION's largest value (catalog, nccl.yaml)."""
SEEDS = 5
SUBFLOWS_AT_MOST = 12_000_000
"""Subflows that a trial walks over all its seeds: about a second."""

CHAINS = (("rtsw", "ctsw", "atsw"), ("leaf", "spine", "core"))
UPLINKS = {"rtsw": "backend.rack_profiles.*.uplinks", "ctsw": "backend.ctsw.uplinks"}
"""Kind of switch -> the spec's key of its uplinks."""


def first_change(now: Asked, whole: Asked, ladder: Ladder, clock: Clock, sent: float) -> Change | None:
    """For the step of congestion that takes most; None where none takes 2 % of the rate, or nothing that is known here helps.

    Only the limit of large messages counts here; where latency takes most and links are free, another algorithm is tried.
    """
    step = max(CONGESTION, key=ladder.loss)
    before = band(100 * norms_of(ladder.runs))
    if 100 * ladder.loss(step) < LEAST_GAIN:
        if before.p50 - before.p5 < LEAST_GAIN or not now.hashes(now.policy()):
            return _quicker(now, clock, sent)
        step = "hashing"  # fine by the median, but not whatever the hash function
    gates = now.even(slowest(now, ladder.runs, middle_seed(ladder.runs)))
    for what, key, asked in _candidates(step, now, whole, gates):
        found = band(100 * norms_of(asked.hashed(asked.policy(), _seeds(asked))))
        if found.p50 >= before.p50 + LEAST_GAIN or (found.p50 >= before.p50 and found.p5 >= before.p5 + LEAST_GAIN):
            return Change(what, key, found)
    return None


def _seeds(asked: Asked) -> int:
    flows = (
        len(asked.net.hosts if asked.case.gpus is None else range(asked.case.gpus // asked.net.rails)) * asked.net.rails
    )
    return max(2, min(asked.case.seeds, SEEDS, SUBFLOWS_AT_MOST // max(1, flows * asked.case.subflows)))


def _candidates(step: str, now: Asked, whole: Asked, gates: Floats) -> list[tuple[str, str, Asked]]:
    case = now.case
    if step == "failures":
        text = ", ".join(case.failures[:3]) + (", ..." if len(case.failures) > 3 else "")
        return [(f"repair {text}", "state", whole)]
    if step == "polarisation":
        return [
            (
                "a hash seed of its own for each tier, where a command sets one (none is evidenced for EOS)",
                "load_balancing.seeds",
                _with(now, seed_per_tier=True),
            )
        ]
    if step == "placement":
        return _placements(now, gates)
    return _spreads(now, gates)


def _placements(now: Asked, gates: Floats) -> list[tuple[str, str, Asked]]:
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
    lower = _lower_of(now.net.tiers[_fullest(now.net, gates)])
    cables = [tier for tier, name in enumerate(now.net.tiers) if _lower_of(name) == lower]
    wider = replace(now.net, capacity=np.where(np.isin(now.net.tier, cables), 2 * now.net.capacity, now.net.capacity))
    found.append(
        (
            f"twice the uplinks of each {lower.upper()}, if ports and growth allow",
            UPLINKS.get(lower, "backend"),
            Asked(wider, case),
        )
    )
    return found


def _lower_of(tier: str) -> str:
    """The kind of switch at the lower end of a tier's cables: "ctsw" for "ctsw up" and for "atsw down"."""
    device, _, way = tier.partition(" ")
    if way == "up":
        return device
    return next((chain[place - 1] for chain in CHAINS for place in range(1, 3) if chain[place] == device), "")


def _fullest(net: Net, loads: Floats) -> int:
    between = (net.source >= 0) & (net.target >= 0)
    load = np.where(between, np.round(loads / net.capacity, 9), 0.0)
    return int(net.tier[int(load.argmax())])


def _spreads(now: Asked, gates: Floats) -> list[tuple[str, str, Asked]]:
    """More queue pairs by the formula, where they can be enough; else, or if they are not, paths pinned by a controller.

    InfiniBand's switches hash nothing: there it is adaptive routing.
    """
    case, found = now.case, []
    if not any(_lower_of(tier) == "rtsw" for tier in now.net.tiers):
        free = Asked(now.net.open or now.net, replace(case, hash="spray"))
        return [("adaptive routing, which NVIDIA's OpenSM has", "backend.routing.engines", free)]
    rho, links = utilisation(now.net, gates)
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
        found.append(
            (
                "paths pinned by a controller, for which no switch here is set up",
                "no key of the spec",
                _with(now, hash="pinned"),
            )
        )
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
    quick = Clock(wires(other.case, len(order), now.net.rails, pattern.steps, clock.scale), clock.gbps)
    found = quick.reached(sent, norms_of(other.hashed(other.policy(), _seeds(other))))
    if float(np.median(found)) < own + LEAST_GAIN:
        return None
    return Change(f"algorithm {other.case.algorithm}: fewer steps, less latency", "algorithm", band(found))


def _with(now: Asked, **changes: Any) -> Asked:
    return Asked(now.net, replace(now.case, **changes))
