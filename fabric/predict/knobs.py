"""What can be turned to raise the bandwidth of a collective, where the spec says it, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, gcd, log2

from fabric.design.alike import TIERS, of_eos, seed_groups
from fabric.design.fabric import Fabric
from fabric.predict.model import Case, Hash, Placement, alike_text
from fabric.predict.source import QPS_KEY, queue_pairs
from fabric.spec.cluster import ClusterSpec
from fabric.words import counted

Path = tuple[str | int, ...]
MOST_QPS = 128
"""NCCL_IB_QPS_PER_CONNECTION's largest value (catalog, nccl.yaml); beyond 16 nothing is published, and `fabric check` says so."""
MOST_CHANNELS = 32
"""Channels a NIC that are predicted at most, as in a file of cases."""
CHANNELS = 4
"""Channels a NIC that are tried, as a multiple of those today: each takes multiprocessors of the GPU from the computation (our bound)."""
FACTORS = (1.125, 1.25, 1.5, 1.75, 2.0)
"""More uplinks that are tried, as multiples of those declared: Meta published 1.125 (18 of 16) and 2 (performance-model.md, 1a, 3)."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A value of the spec: its path, what it is, what it becomes."""

    path: Path
    before: int | str
    after: int | str


@dataclass(frozen=True, slots=True)
class Wider:
    """More uplinks: `tiers` of rtsw and ctsw, or of leaf and spine, the spec edits that declare them, the cables and switches they add."""

    tiers: tuple[str, ...]
    edits: tuple[Edit, ...]
    cables: int
    switches: int


@dataclass(frozen=True, slots=True)
class Knobs:
    """A setting of everything that is searched. `qps` per connection, `channels` per NIC; `wider` None: the uplinks as declared.

    `engine`: InfiniBand's routing engine, which stands for `hash`; "" on Ethernet.
    """

    hash: Hash
    qps: int
    channels: int
    placement: Placement
    seed_per_tier: bool
    wider: Wider | None = None
    seed_groups: tuple[int, ...] = ()
    engine: str = ""

    def of(self, case: Case, seeds: int | None = None) -> Case:
        """The case with these."""
        placement = case.placement if case.hosts else self.placement
        return replace(
            case, hash=self.hash, qps=self.qps, channels=self.channels, placement=placement, seed_per_tier=self.seed_per_tier,
            seed_groups=self.seed_groups, seeds=case.seeds if seeds is None else seeds,
        )  # fmt: skip

    @property
    def seeding(self) -> tuple[bool, tuple[int, ...]]:
        """Which tiers hash alike, as `Case` has it."""
        return self.seed_per_tier, self.seed_groups

    @property
    def text(self) -> str:
        """In short: `rack order, e-ecmp, 16 QPs`, `rack order, ftree`."""
        more = self.wider.edits if self.wider else ()
        wide = "".join(f", {edit.path[-2]}.{edit.path[-1]} {edit.after}" for edit in more)
        if self.engine:
            return f"{self.placement} order, {self.engine}{wide}"
        flows = "" if self.hash in ("ecmp", "pinned") else f", {counted(self.qps, 'QP')}"
        channels = f" x {counted(self.channels, 'channel')}" if self.channels > 1 and flows else ""
        alike = alike_text(self.seed_per_tier, self.seed_groups)
        seeds = f", {alike}" if alike else ""
        return f"{self.placement} order, {self.hash}{flows}{channels}{seeds}{wide}"


@dataclass(frozen=True, slots=True, order=True)
class Cost:
    """What a setting costs more than the declared one, the dearest first; compared from there down.

    Cables to buy, pull and power; a new order of ranks (the scheduler's or launcher's business); doublings of channels and of queue pairs
    (memory and caches of the NICs); settings of switches, which are free but not nothing.
    """

    cables: int = 0
    order: int = 0
    channels: float = 0.0
    qps: float = 0.0
    settings: int = 0

    @property
    def text(self) -> str:
        """In words; "nothing" for no change."""
        said = [
            (self.cables, counted(self.cables, "cable")),
            (self.order, "an order of ranks"),
            (self.channels, f"{2**self.channels:g} times the channels"),
            (self.qps, f"{2**self.qps:g} times the queue pairs"),
            (self.settings, counted(self.settings, "free setting")),
        ]
        return ", ".join(text for value, text in said if value) or "nothing"


def cost(start: Knobs, knobs: Knobs) -> Cost:
    """What it takes to get from `start` to `knobs`."""
    hashed = int((knobs.engine or knobs.hash) != (start.engine or start.hash))
    if knobs.hash == "pinned":
        hashed = 0  # no setting of a switch makes a path plan
    return Cost(
        cables=knobs.wider.cables if knobs.wider else 0,
        order=int(knobs.placement != start.placement),
        channels=log2(knobs.channels / start.channels),
        qps=log2(knobs.qps / start.qps),
        settings=hashed + int(knobs.seeding != start.seeding),
    )


def declared(fabric: Fabric, *, channels: int = 1, placement: Placement | None = None) -> Knobs:
    """The knobs as the spec has them; `placement` where it is known better."""
    spec = fabric.spec
    return Knobs(
        hash=spec.load_balancing.method,
        qps=queue_pairs(spec),
        channels=channels,
        placement=placement or declared_order(spec),
        seed_per_tier=not seed_groups(spec),
        seed_groups=seed_groups(spec),
    )


def declared_order(spec: ClusterSpec) -> Placement:
    """How ranks stand by what the spec says of the scheduler: Slurm with ranks by switch or block follows the fabric, Slurm without packs
    zones, and of no scheduler nothing is known.
    """
    scheduler = spec.scheduler
    if scheduler is None:
        return "random"
    return "rack" if {"SwitchAsNodeRank", "BlockAsNodeRank"} & set(scheduler.parameters) else "zone"


def flow_steps(start: Knobs, most: int = MOST_QPS) -> list[tuple[int, int]]:
    """(queue pairs, channels) from the declared ones upwards, cheapest first: doubled queue pairs up to `most`, then channels too."""
    qps = [start.qps]
    while qps[-1] < most:
        qps.append(min(most, 1 << qps[-1].bit_length()))
    more = [(qps[-1], start.channels * factor) for factor in (2, CHANNELS) if start.channels * factor <= MOST_CHANNELS]
    return [(value, start.channels) for value in qps] + more


def widenings(fabric: Fabric, over: Iterable[str], *, alike: bool = False) -> list[Wider]:
    """More uplinks on the tiers that ask for more than they have, one of them and all of them, fewest cables first.

    The next number that is coprime with the tier beside it is among them; where tiers hash `alike`, for each tier by itself, as either
    removes polarisation. Whether ports and room for growth allow them is told by the design.
    """
    kinds = [kind for kind in ("rtsw", "ctsw") if kind in set(over)]
    groups = [[kind] for kind in kinds] + ([kinds] if len(kinds) > 1 else [])
    found = [_wider(fabric, group, factor) for group in groups for factor in (0.0, *FACTORS)]
    if alike:
        found += [_wider(fabric, [kind], 0.0) for kind in ("rtsw", "ctsw")]
    return sorted({wider.edits: wider for wider in found if wider.edits}.values(), key=lambda wider: wider.cables)


def _wider(fabric: Fabric, kinds: Sequence[str], factor: float) -> Wider:
    backend, edits, cables, switches = fabric.spec.roce, list[Edit](), 0, 0
    extra = {
        plan.profile_name: _more(plan.profile.uplinks, factor, (backend.ctsw.uplinks if backend.ctsw else 0) or 1)
        for plan in fabric.zones.values()
    }
    if "rtsw" in kinds:
        for name, uplinks in extra.items():
            edits.append(
                Edit(("backend", "rack_profiles", name, "uplinks"), backend.rack_profiles[name].uplinks, uplinks)
            )
        for plan in fabric.zones.values():
            more = extra[plan.profile_name] - plan.profile.uplinks
            cables += more * (plan.racks + (backend.ctsw.uplinks if backend.ctsw else 0))
            switches += more
    if "ctsw" in kinds and backend.ctsw is not None and backend.atsw is not None:
        box, atsw = backend.ctsw, backend.atsw
        parallel = max(1, box.uplinks // atsw.count)
        wide = _more(box.uplinks, factor, max(plan.profile.uplinks for plan in fabric.zones.values()))
        count = ceil(wide / parallel)
        edits.append(Edit(("backend", "ctsw", "uplinks"), box.uplinks, count * parallel))
        edits.append(Edit(("backend", "atsw", "count"), atsw.count, count))
        ctsws = sum(
            extra[plan.profile_name] if "rtsw" in kinds else plan.profile.uplinks for plan in fabric.zones.values()
        )
        cables += ctsws * (count * parallel - box.uplinks)
        switches += (count - atsw.count) * atsw.planes
    return Wider(tuple(kinds), tuple(edit for edit in edits if edit.after != edit.before), cables, switches)


def _more(now: int, factor: float, other: int) -> int:
    """So many times, rounded up; with factor 0 the next number that has no divisor in common with the tier beside it."""
    if factor:
        return ceil(now * factor)
    return next(value for value in range(now + 1, 2 * now + other + 2) if gcd(value, other) == 1)


def seeds_apart(fabric: Fabric) -> dict[str, int]:
    """Hash seeds by tier that differ as far as a command can set them: EOS has no evidenced one, so one of two tiers must be another.

    Changed is the upper tier's, or the lower one's where the upper is of EOS.
    """
    seeds: dict[str, int] = fabric.spec.load_balancing.seeds.model_dump()
    if not seed_groups(fabric.spec):
        return seeds
    for lower, upper in combinations(TIERS, 2):
        fixed = [of_eos(fabric.spec, tier) for tier in (lower, upper)]
        if seeds[lower] == seeds[upper] and not all(fixed):
            side = lower if fixed[1] else upper
            seeds[side] = next(value for value in range(1, 5) if value not in seeds.values())
    return seeds


def groups_apart(fabric: Fabric) -> tuple[int, ...]:
    """The groups of tiers that hash alike with `seeds_apart`, as `Case.seed_groups`; empty when all can differ."""
    seeds = [seeds_apart(fabric)[tier] for tier in TIERS]
    if not seed_groups(fabric.spec) or len(set(seeds)) == len(seeds):
        return ()
    return tuple(seeds.index(seed) + 1 for seed in seeds)


def seed_edits(fabric: Fabric) -> tuple[Edit, ...]:
    """The edits of the spec that `seeds_apart` stands for."""
    declared = fabric.spec.load_balancing.seeds.model_dump()
    return tuple(
        Edit(("load_balancing", "seeds", tier), declared[tier], value)
        for tier, value in seeds_apart(fabric).items()
        if value != declared[tier]
    )


def edits_of(fabric: Fabric, start: Knobs, knobs: Knobs) -> tuple[Edit, ...]:
    """The spec edits that turn the knobs: what they are, and what they become. An order of ranks and channels have no key of their own."""
    found = list(knobs.wider.edits) if knobs.wider else []
    if knobs.qps != start.qps:
        overrides = fabric.spec.hosts.nccl.overrides
        if QPS_KEY in overrides:
            found.append(Edit(("hosts", "nccl", "overrides", QPS_KEY), overrides[QPS_KEY], str(knobs.qps)))
        else:
            found.append(Edit(("hosts", "nccl", "qps"), start.qps, knobs.qps))
    if knobs.hash != start.hash:
        found.append(Edit(("load_balancing", "method"), start.hash, knobs.hash))
    if knobs.seeding != start.seeding:
        found += seed_edits(fabric)
    return tuple(found)
