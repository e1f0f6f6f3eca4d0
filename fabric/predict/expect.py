"""What a placement allows: the bound that perfect balance over all paths leaves to a ring over its hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from fabric.predict.flows import ring
from fabric.predict.job import indices
from fabric.predict.load import spray_loads
from fabric.predict.model import Band
from fabric.predict.net import Ints, Net, norm

SHUFFLES = 5


@dataclass(frozen=True, slots=True)
class Expected:
    """Placement bounds in percent of the NICs' line rate: of the order given, and of the same hosts in random order (over 5 shuffles)."""

    ordered: float
    shuffled: Band


def expected(net: Net, hosts: Sequence[str]) -> Expected:
    """The bounds for hosts in rank order; a job on one host sends nothing, so 100."""
    order = indices(hosts, net.hosts)
    if len(order) < 2:
        return Expected(100.0, Band(100.0, 100.0, 100.0))
    found = sorted(_bound(net, np.random.default_rng(seed).permutation(order)) for seed in range(SHUFFLES))
    return Expected(_bound(net, order), Band(found[0], median(found), found[-1]))


def _bound(net: Net, order: Ints) -> float:
    phase = ring(order, net.rails).phases[0]
    return 100 * norm(net, spray_loads(net, phase.src, phase.dst, phase.weight))
