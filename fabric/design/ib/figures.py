"""What a subnet amounts to, by arithmetic: no switch, host or link is enumerated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric.design.ib import stripe
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
    found = [CageDomains("leaf down", per, _leaf_modules(tree), hosts)]
    spines = len(tree.pods) * tree.planes
    if tree.tiers > 1:
        up, down = (
            _pairs(tree.leaf_stripe, tree.planes, per, "spine"),
            _pairs(tree.leaf_stripe, tree.planes, per, "leaf"),
        )
        found.append(CageDomains("leaf up", per, _modules(tree.leaves, tree.up, per), up))
        found.append(CageDomains("spine down", per, _spine_modules(tree), down))
    if tree.tiers > 2:
        up, down = _pairs(tree.stripe, tree.cores, per, "core"), _pairs(tree.stripe, tree.cores, per, "spine")
        found.append(CageDomains("spine up", per, _modules(spines, tree.spine_up, per), up))
        found.append(
            CageDomains("core down", per, tree.planes * _cages(tree.pods, tree.spine_up, tree.cores, per), down)
        )
    return tuple(found)


def _pairs(links: tuple[int, int], above: int, per: int, noun: str) -> str:
    """Where the links of a cage go: to one far switch, to a pair of neighbours, or whatever an uneven stripe gives."""
    if links[0] == links[1] and links[0] % per == 0:
        return f"one {noun}"
    nouns = {"leaf": "leaves"}.get(noun, noun + "s")
    return (
        f"a pair of {nouns}" if links[0] == links[1] and above % per == 0 else f"two {nouns}, not everywhere neighbours"
    )


def _modules(boxes: int, ports: int, per: int) -> int:
    return boxes * -(-ports // per)


def _leaf_modules(tree: Tree) -> int:
    """Full units by arithmetic; the last one's ports, and those of services, one by one."""
    per, full = tree.per_cage, tree.hosts // tree.hosts_per_unit
    rest = range(full * tree.hosts_per_unit + 1, tree.hosts + 1)
    ends = [tree.place_of(host, rail) for host in rest for rail in range(tree.nics)]
    at = [port for service in tree.spec.infiniband.services for port in service.ports]
    ends += [((port.unit - 1) * tree.nics + port.leaf - 1, port.port) for port in at]
    cages = {(leaf, (port - 1) // per) for leaf, port in ends}
    shared = {cage for cage in cages if cage[0] < full * tree.nics and cage[1] * per < tree.down}
    return _modules(full * tree.nics, tree.down, per) + len(cages - shared)


def _spine_modules(tree: Tree) -> int:
    places: dict[int, list[int]] = {}
    for leaf in range(tree.leaves):
        pod, place = tree.pod_of(leaf)
        places.setdefault(pod, []).append(place)
    found = {tuple(leaves): _cages(leaves, tree.up, tree.planes, tree.per_cage) for leaves in places.values()}
    return sum(found[tuple(leaves)] for leaves in places.values())


def _cages(lowers: Sequence[int], uplinks: int, above: int, per: int) -> int:
    """Cages in use on the lower side of `above` switches below which the switches `lowers` stand."""
    used = {(upper, port // per) for lower in lowers for _, upper, port in stripe.stripe(lower, uplinks, above)}
    return len(used)
