"""What a subnet amounts to, by arithmetic: no switch, host or link is enumerated."""

from __future__ import annotations

from dataclasses import dataclass

from fabric.design.ib.model import Figures
from fabric.design.ib.shape import lids
from fabric.design.ib.tree import UNICAST_LIDS, Tree


def figures_of(tree: Tree) -> Figures:
    """Counts, stripe, oversubscription and the LID budget of a tree."""
    services = sum(len(service.ports) for service in tree.spec.infiniband.services)
    endpoints = tree.hosts * tree.nics
    links = {"host": endpoints + services}
    over = {}
    if tree.tiers > 1:
        links["leaf"] = tree.leaves * tree.up
        over["leaf"] = tree.down / tree.up
    spines = len(tree.pods) * tree.planes
    if tree.tiers > 2:
        links["spine"] = spines * tree.spine_up
        over["spine"] = tree.spine_down / tree.spine_up
    return Figures(
        endpoints=endpoints,
        hosts=tree.hosts,
        units=tree.units,
        pods=len(tree.pods) if tree.tiers == 3 else 0,
        leaves=tree.leaves,
        spines=spines,
        cores=tree.cores * tree.planes,
        links=links,
        stripe=tree.stripe,
        oversubscription=over,
        lids=lids(tree, tree.hosts, tree.units),
        lids_of=UNICAST_LIDS,
        radix=tree.radix,
    )


@dataclass(frozen=True, slots=True)
class CageDomains:
    """Cages as failure domains: links that one module carries on one side of a tier, where they go, and modules of that side."""

    side: str
    links_per_cage: int
    modules: int
    far: str


def cages_of(tree: Tree) -> tuple[CageDomains, ...]:
    """The cages of each side of each tier, from the leaf's downlinks up."""
    per = tree.per_cage
    hosts = "neighbouring hosts" if tree.by_rail else "one host"
    found = [CageDomains("leaf down", per, _modules(tree.leaves, tree.down, per), hosts)]
    spines = len(tree.pods) * tree.planes
    if tree.tiers > 1:
        up, down = (
            _pairs(tree.leaf_stripe, tree.planes, per, "spine"),
            _pairs(tree.leaf_stripe, tree.planes, per, "leaf"),
        )
        found.append(CageDomains("leaf up", per, _modules(tree.leaves, tree.up, per), up))
        found.append(CageDomains("spine down", per, _modules(spines, tree.spine_down, per), down))
    if tree.tiers > 2:
        up, down = _pairs(tree.stripe, tree.cores, per, "core"), _pairs(tree.stripe, tree.cores, per, "spine")
        found.append(CageDomains("spine up", per, _modules(spines, tree.spine_up, per), up))
        found.append(CageDomains("core down", per, _modules(tree.cores * tree.planes, tree.core_ports, per), down))
    return tuple(found)


def _pairs(stripe: tuple[int, int], above: int, per: int, noun: str) -> str:
    """Where the links of a cage go: to one far switch, to a pair of neighbours, or whatever an uneven stripe gives."""
    if stripe[0] == stripe[1] and stripe[0] % per == 0:
        return f"one {noun}"
    nouns = {"leaf": "leaves"}.get(noun, noun + "s")
    return (
        f"a pair of {nouns}"
        if stripe[0] == stripe[1] and above % per == 0
        else f"two {nouns}, not everywhere neighbours"
    )


def _modules(boxes: int, ports: int, per: int) -> int:
    return boxes * -(-ports // per)
