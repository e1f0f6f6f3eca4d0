"""The nouns of a prediction: the case that is asked, and what comes out, always with its spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Collective = Literal["all_gather", "reduce_scatter", "all_reduce", "all_to_all", "send_recv"]
Algorithm = Literal["ring", "tree", "recursive"]
Placement = Literal["rack", "zone", "random", "given"]
Far = Literal["small", "large"]
Hash = Literal["ecmp", "e-ecmp", "dlb", "spray", "pinned"]

BIAS: Final = "an upper bound: head-of-line blocking, congestion control, PCIe and stragglers are not modelled; measured values lie below"
"""What every prediction says of itself."""


def alike_text(seed_per_tier: bool, groups: tuple[int, ...]) -> str:
    """Which tiers hash alike: `ctsw and atsw hash alike`; nothing when all differ. `groups` as `Case.seed_groups`."""
    if seed_per_tier:
        return ""
    if len(set(groups)) < 2:
        return "one hash seed for all tiers"
    shared = next(group for group in groups if groups.count(group) > 1)
    names = [tier for tier, group in zip(("rtsw", "ctsw", "atsw"), groups, strict=False) if group == shared]
    return f"{' and '.join(names)} hash alike"


@dataclass(frozen=True, slots=True)
class Case:
    """One question.

    `gpus` or `hosts` (rank order, all GPUs of each host; then `placement` is `given`). `placement`: `rack` = hosts in the order of the
    fabric, `zone` = zone after zone but shuffled inside each, `random` = shuffled over all. `hash`: `ecmp` = all queue pairs of two NICs
    share a path; `e-ecmp` = one hash a queue pair; `dlb` = every switch spreads evenly what it gets; `spray` = perfect balance over all
    paths; `pinned` = the path plan of a controller. `sizes` in bytes a rank holds at the end; `failures`: switches and `switch:port`.
    `seed_per_tier`: whether all tiers hash differently; where not, tiers with an equal number in `seed_groups` (from the RTSWs up) hash
    alike, all of them when it is empty. `far`: which messages of the algorithm `recursive` go far, the small ones or the large ones.
    `left_out`: hosts that take no part unless `hosts` names them.
    """

    name: str
    collective: Collective = "all_gather"
    algorithm: Algorithm = "ring"
    gpus: int | None = None
    hosts: tuple[str, ...] = ()
    placement: Placement = "rack"
    hash: Hash = "e-ecmp"
    qps: int = 1
    channels: int = 1
    sizes: tuple[int, ...] = ()
    seeds: int = 20
    failures: tuple[str, ...] = ()
    seed_per_tier: bool = True
    far: Far = "small"
    seed_groups: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def subflows(self) -> int:
        """Flows with a hash of their own between two NICs."""
        return 1 if self.hash == "ecmp" else self.qps * self.channels


@dataclass(frozen=True, slots=True)
class Band:
    """A figure over seeds: percentiles 5, 50, 95, in percent of the NIC's line rate unless said otherwise."""

    p5: float
    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class Point:
    """One message size in bytes: what is reached; what latency alone and congestion alone would leave. `protocol` is NCCL's."""

    size: int
    reached: Band
    latency_only: float
    congestion_only: Band
    protocol: str


@dataclass(frozen=True, slots=True)
class HotLink:
    """A channel that gates: its name `switch:port -> switch:port`, tier `rtsw up`, load (1 = the rate of the link), some rank pairs on it."""

    name: str
    tier: str
    load: float
    flows: int
    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Loss:
    """A step of the waterfall: `ideal`, `latency`, `placement`, `hashing`, `polarisation`, `failures`; what is left after it (p50, %)."""

    step: str
    left: float


@dataclass(frozen=True, slots=True)
class Change:
    """The first change that removes the bottleneck: what to do, the key of the spec that says it, what is then reached."""

    what: str
    key: str
    reached: Band


@dataclass(frozen=True, slots=True)
class Prediction:
    """The answer to one case.

    `reached` is the limit of large messages. `placement_bound`: perfect balance over all paths. `analytic`: the median that the closed
    form of the maximum of binomials gives, None where it does not apply. `tiers`: tier -> the busiest load (p50). `phases`: of the
    collective; `walked` of them stand for all. `notes`: what else is to be known of the figures, one line each.
    """

    case: Case
    gpus: int
    reached: Band
    placement_bound: float
    analytic: float | None
    points: tuple[Point, ...]
    waterfall: tuple[Loss, ...]
    hot: tuple[HotLink, ...]
    tiers: Mapping[str, float]
    change: Change | None
    bias: str = BIAS
    phases: int = 1
    walked: int = 1
    notes: tuple[str, ...] = ()
