"""The text of `fabric show summary` for InfiniBand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fabric.design.ib.model import Figures, Subnet


def infiniband_lines(subnet: Subnet) -> Iterator[str]:
    """Counts of the fat tree, its stripe and bisection, LIDs, partitions, subnet managers."""
    known, spec = subnet.figures, subnet.spec
    yield f"{spec.name}: {known.endpoints:,} endpoints in {known.hosts:,} hosts, {known.units:,} scalable units"
    parts = [f"{known.leaves:,} leaf"] + [
        f"{n:,} {tier}" for n, tier in ((known.spines, "spine"), (known.cores, "core")) if n
    ]
    yield f"switches   {len(subnet.switches):,}: {', '.join(parts)} ({spec.infiniband.switch}, {known.radix} ports)"
    yield "links      " + ", ".join(f"{count:,} {_TIERS[tier]}" for tier, count in known.links.items())
    if known.oversubscription:
        yield "bisection  " + ", ".join(f"{tier} {_ratio(value)}" for tier, value in known.oversubscription.items())
    if known.cores:
        yield f"core       each spine has {_stripe(known)}"
    cables = Counter(link.cabled.cable for link in subnet.links)
    yield "cables     " + ", ".join(f"{count:,} {name}" for name, count in cables.items())
    states = Counter(switch.state for switch in subnet.switches if switch.state != "deployed")
    if states:
        yield "state      " + ", ".join(f"{count:,} {state}" for state, count in sorted(states.items()))
    yield f"LIDs       {known.lids:,} of {known.lids_of:,} unicast (LMC 0)"
    for partition in subnet.partitions:
        yield f"partition  {partition.name} 0x{partition.pkey:04x}: {len(partition.members):,} ports"
    for role, manager in zip(("master", *["standby"] * 8), subnet.managers, strict=False):
        yield f"SM         {manager.host} {manager.hca.device}, priority {manager.priority}: {role}"


_TIERS = {"host": "HCA-leaf", "leaf": "leaf-spine", "spine": "spine-core"}


def _ratio(value: float) -> str:
    return "full" if value == 1 else f"1:{value:.3g}"


def _stripe(known: Figures) -> str:
    low, high = known.stripe
    return f"{low} links to each core" if low == high else f"{low} or {high} links to each core: uneven"
