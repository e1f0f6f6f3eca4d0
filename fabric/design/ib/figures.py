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
    """Cages as failure domains: links that one module carries on each side of a tier, and modules of that side.

    `paired`: both links of each cage go to one host, one switch, or one pair of neighbouring switches.
    """

    side: str
    links_per_cage: int
    modules: int
    paired: bool


def cages_of(tree: Tree) -> tuple[CageDomains, ...]:
    """The cages of each side of each tier, from the leaf's downlinks up."""
    per = tree.per_cage
    found = [CageDomains("leaf down", per, _modules(tree.leaves, tree.down, per), per == 1 or not tree.by_rail)]
    if tree.tiers > 1:
        both = tree.leaf_stripe[0] % per == 0 or tree.planes % per == 0
        spines = len(tree.pods) * tree.planes
        found += [
            CageDomains("leaf up", per, _modules(tree.leaves, tree.up, per), both),
            CageDomains("spine down", per, _modules(spines, tree.spine_down, per), both),
        ]
    if tree.tiers > 2:
        even = tree.stripe[0] == tree.stripe[1] and (tree.stripe[0] % per == 0 or tree.cores % per == 0)
        found += [
            CageDomains("spine up", per, _modules(len(tree.pods) * tree.planes, tree.spine_up, per), even),
            CageDomains("core down", per, _modules(tree.cores * tree.planes, tree.core_ports, per), even),
        ]
    return tuple(found)


def _modules(boxes: int, ports: int, per: int) -> int:
    return boxes * -(-ports // per)
