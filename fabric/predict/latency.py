"""How long a collective takes: T = alpha + bytes / rate, by NCCL's protocols, of which the fastest counts at each size.

Latency and congestion stay apart: alpha knows nothing of links, `norm` (0 to 1: the part of its NIC's rate that every flow gets)
nothing of steps. The constants are NCCL's (catalog, nccl_latency.yaml); they add up what overlaps in part, so they are pessimistic:
`scale` corrects them by one measured run (`fabric.predict.calibration`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fabric.catalog import catalog
from fabric.catalog.nccl import ProtocolCost
from fabric.predict.model import Case

GBPS = 125_000_000.0
"""Bytes a second of 1 Gb/s."""


@dataclass(frozen=True, slots=True)
class Wire:
    """One protocol on one job: `alpha_s` seconds before and between data, `part` of the wire's rate that carries data."""

    protocol: str
    alpha_s: float
    part: float


def wires(case: Case, hosts: int, gpus_per_host: int, steps: int, scale: float = 1.0) -> tuple[Wire, ...]:
    """Every protocol's alpha for the case. `steps`: phases of all_to_all and recursive algorithms. `scale` corrects alpha."""
    return tuple(
        Wire(name, scale * alpha_us(case, cost, hosts, gpus_per_host, steps) * 1e-6, cost.bandwidth)
        for name, cost in _costs(case).items()
    )


def _costs(case: Case) -> Mapping[str, ProtocolCost]:
    table = catalog().nccl_latency()
    costs = (table.tree if case.algorithm == "tree" else table.ring).protocols
    if case.collective in ("all_to_all", "send_recv"):
        return {"Simple": costs["Simple"]}  # NCCL sends point to point by Simple at the sizes that matter here
    return costs


def alpha_us(case: Case, cost: ProtocolCost, hosts: int, gpus_per_host: int, steps: int) -> float:
    """Microseconds of latency: ring and tree as NCCL reckons (tuning.cc); phases of other algorithms one network step each (inferred)."""
    inside = gpus_per_host - 1
    twice = 2 if case.collective == "all_reduce" else 1
    if case.algorithm == "tree":
        return cost.base_us + 2 * (inside * cost.nvlink_us + math.log2(hosts) * cost.net_us)
    if case.algorithm == "recursive" or case.collective == "all_to_all":
        return cost.base_us + twice * inside * cost.nvlink_us + steps * cost.net_us
    if case.collective == "send_recv":
        return cost.base_us + cost.net_us
    return cost.base_us + twice * (hosts * inside * cost.nvlink_us + (hosts - 1) * cost.net_us)


@dataclass(frozen=True, slots=True)
class Clock:
    """Times on NICs of `gbps` Gb/s; `scale` is what corrected the latency of `wires`."""

    wires: tuple[Wire, ...]
    gbps: float
    scale: float = 1.0

    def fastest(self, sent: float, norm: float) -> Wire:
        """The protocol that is fastest for `sent` bytes a NIC at `norm`."""
        return min(self.wires, key=lambda wire: float(self._seconds(wire, sent, np.array([norm]))[0]))

    def seconds(self, sent: float, norms: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Seconds for `sent` bytes a NIC at each norm, by the protocol that is fastest there."""
        found = np.stack([self._seconds(wire, sent, norms) for wire in self.wires])
        return np.asarray(found.min(axis=0))

    def reached(self, sent: float, norms: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Percent of the NIC's line rate that is reached at each norm."""
        return 100.0 * sent / (self.gbps * GBPS) / self.seconds(sent, norms)

    def _seconds(self, wire: Wire, sent: float, norms: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return wire.alpha_s + sent / (self.gbps * GBPS * wire.part * norms)
