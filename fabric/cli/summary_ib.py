"""The text of `fabric show summary` for InfiniBand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fabric.design.ib.figures import cages_of
from fabric.design.ib.model import Figures, Subnet
from fabric.design.ib.shape import aggregation_nodes, tree_of
from fabric.words import counted


def infiniband_lines(subnet: Subnet) -> Iterator[str]:
    """Counts of the fat tree, its stripe and bisection, LIDs, partitions, subnet managers."""
    known, spec = subnet.figures, subnet.spec
    yield f"{spec.name}: {counted(known.endpoints, 'endpoint')} in {counted(known.hosts, 'host')}, {counted(known.units, 'scalable unit')}"
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
    tree = tree_of(spec)
    cages = cages_of(tree)
    if cages[0].links_per_cage > 1:
        total = sum(cage.modules for cage in cages)
        yield (
            f"modules    {total:,} in switches, each of {cages[0].links_per_cage} links that fail as one: "
            + ", ".join(f"{cage.side} to {cage.far}" for cage in cages)
        )
    states = Counter(switch.state for switch in subnet.switches if switch.state != "deployed")
    if states:
        yield "state      " + ", ".join(f"{count:,} {state}" for state, count in sorted(states.items()))
    nodes = aggregation_nodes(tree, tree.units)
    yield f"LIDs       {known.lids:,} of {known.lids_of:,} unicast (LMC 0)" + (
        f", {nodes:,} more for SHARP aggregation nodes" if nodes else ""
    )
    for partition in subnet.partitions:
        yield f"partition  {partition.name} 0x{partition.pkey:04x}: {counted(len(partition.members), 'port')}"
    for role, manager in zip(("master", *["standby"] * 8), subnet.managers, strict=False):
        yield f"SM         {manager.host} {manager.hca.device}, priority {manager.priority}: {role}"


_TIERS = {"host": "HCA-leaf", "leaf": "leaf-spine", "spine": "spine-core"}


def _ratio(value: float) -> str:
    return "full" if value == 1 else f"1:{value:.3g}"


def _stripe(known: Figures) -> str:
    low, high = known.stripe
    return f"{counted(low, 'link')} to each core" if low == high else f"{low} or {high} links to each core: uneven"
