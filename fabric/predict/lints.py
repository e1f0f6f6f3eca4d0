"""What `fabric check` warns of because it costs bandwidth, with the predicted cost: closed forms alone, no walk and no numpy.

Costs are medians of an upper bound (docs/predict.md). That equal hashes on neighbouring tiers polarise is said by `fabric.design.warnings`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from string import Formatter

from fabric.design.fabric import Fabric
from fabric.design.figures import figures
from fabric.design.hosts.nccl_rules import MOST_QPS as PUBLISHED
from fabric.design.load import Cluster, SubnetCluster
from fabric.design.remark import Remark
from fabric.predict.place import site_of
from fabric.predict.rank_order import by_name, changes
from fabric.predict.source import queue_pairs
from fabric.spec.scheduler import Slurm
from fabric.words import counted, verb

ENOUGH = 0.9
"""Part of the line rate that a large job should reach: the published "90+"."""
MOST_PAIRS = 128
"""NCCL takes no more queue pairs a connection (hosts.nccl.qps)."""


def lints(cluster: Cluster | SubnetCluster) -> list[Remark]:
    """All remarks, in a stable order."""
    if isinstance(cluster, SubnetCluster):  # its hosts are numbered as they stand
        return list(_blocks(cluster))
    return [*_queue_pairs(cluster.fabric), *_names(cluster), *_blocks(cluster)]


def hashed_norm(flows: int, links: int, groups: int, subflows: int) -> float:
    """Median of what is reached (0 to 1) when each of `groups` switches hashes `flows` NICs' traffic over `links` links of the NIC's rate.

    The fullest of all links, up and down, by the maximum of binomials; the same as `bounds.hashed_norm`, without numpy.
    """
    bins, count, share = 2 * links * groups, flows * subflows, 1 / links
    if links == 1:
        return min(1.0, subflows / count)
    chance, total, fullest = (1 - share) ** count, 0.0, 0
    while True:
        total += chance
        if total >= 0.5 ** (1 / bins) or fullest == count:
            break
        chance *= (count - fullest) / (fullest + 1) * share / (1 - share)
        fullest += 1
    return min(1.0, subflows / fullest) if fullest else 1.0


def pairs_for_full_rate(load: float, links: int) -> int | None:
    """Subflows of each NIC pair from which the fullest of `links` links is not over full: Q >= z^2 rho / (1 - rho)^2; None: never."""
    if load >= 1:
        return None
    from statistics import NormalDist  # 20 ms, which a check without this remark need not spend

    z = NormalDist().inv_cdf(0.5 ** (1 / max(links, 2)))
    return max(1, math.ceil(z * z * load / (1 - load) ** 2))


def _queue_pairs(fabric: Fabric) -> Iterator[Remark]:
    """Too few subflows for the load that a ring in rack order puts on the uplinks of the racks: one host's NICs send to the next rack."""
    method, pairs = fabric.spec.load_balancing.method, queue_pairs(fabric.spec)
    if method == "dlb":
        return
    subflows = 1 if method == "ecmp" else pairs
    rails = len(fabric.nic_names)
    seen: set[str] = set()
    for plan in fabric.zones.values():
        width = plan.profile.uplinks
        racks = sum(other.racks for other in fabric.zones.values() if other.profile_name == plan.profile_name)
        links = width * plan.ports.uplink_speed_gbps // plan.ports.host_speed_gbps
        if plan.profile_name in seen or racks < 2 or width < 2 or rails > links:
            continue
        seen.add(plan.profile_name)
        left = hashed_norm(rails, links, racks, subflows)
        if left < ENOUGH:
            yield _too_few(plan.profile_name, (rails, links, racks), left, subflows if method != "ecmp" else None)


def _too_few(profile: str, shape: tuple[int, int, int], left: float, pairs: int | None) -> Remark:
    rails, links, racks = shape
    wanted = pairs_for_full_rate(rails / links, 2 * links * racks)
    reached = f"about {100 * left:.0f} % of line rate (closed form, median; measured lies below)"
    cost = f"a ring in rack order over racks of {profile} then reaches {reached}"
    if pairs is None:
        text = f"ecmp sends all queue pairs of two NICs along one path: {cost}; e-ecmp with {wanted} queue pairs would reach all of it"
        if wanted is not None:
            text += _published(shape, 1, wanted)
        return Remark(("load_balancing", "method"), "few-paths", text)
    cure = (
        f"{wanted} would reach all of it{_published(shape, pairs, wanted)}"
        if wanted and wanted <= MOST_PAIRS
        else "no number of them is enough: more uplinks are"
    )
    text = f"{counted(pairs, 'queue pair')} {'is' if pairs == 1 else 'are'} few for {links} uplinks: {cost}; {cure}"
    return Remark(("hosts", "nccl", "qps"), "few-paths", text)


def _published(shape: tuple[int, int, int], pairs: int, wanted: int) -> str:
    """What the most queue pairs that are published reach, where more are wanted: `fabric check` warns of more, too."""
    if wanted <= PUBLISHED:
        return ""
    reach = f", which reach about {100 * hashed_norm(*shape, PUBLISHED):.0f} %" if pairs < PUBLISHED else ""
    return f"; nothing published goes beyond {PUBLISHED}{reach}"


def in_order(pattern: str, site: str) -> bool:
    """Whether names by a pattern surely sort as the fabric stands: zone, rack, unit in this order, and no digits run together."""
    fields: list[str] = []
    literals = [""]
    for text, field, form, _ in Formatter().parse(pattern):
        literals[-1] += text
        if field == "site":
            literals[-1] += site
        elif field is not None:
            fields.append("hexadecimal" if form and form.endswith("x") else field)
            literals.append("")
    if "hexadecimal" in fields:
        return False
    places = [("zone", "rack", "unit").index(field) for field in fields]
    apart = all(text and not text[0].isdigit() for text in literals[1:-1]) and not any(
        text[-1:].isdigit() for text in literals[:-1]
    )
    return apart and not literals[-1][:1].isdigit() and all(a < b for a, b in pairwise(places))


def _names(cluster: Cluster) -> Iterator[Remark]:
    """Hosts whose names sort otherwise than they stand."""
    if in_order(cluster.spec.naming.host, cluster.spec.site.name):
        return
    site = site_of(cluster)
    names = [spot.name for spot in site.spots]
    ordered = by_name(names)
    for what, level in (("zone", 1), ("rack", 2)):
        part_of = {spot.name: spot.levels[:level] for spot in site.spots}
        many, few = changes(ordered, part_of), changes(names, part_of)
        if many > few:
            cost = _cost(cluster.fabric, many / len(names)) if what == "zone" else ""
            times = f"{counted(many, 'time')} instead of {few:,}{cost}"
            text = f"names do not follow the fabric: {_who(cluster)}, a ring goes from {what} to {what} {times}"
            yield Remark(("naming", "host"), "rank-names", text)
            return


def _who(cluster: Cluster) -> str:
    scheduler = cluster.spec.scheduler
    if scheduler is not None and {"SwitchAsNodeRank", "BlockAsNodeRank"} & set(scheduler.parameters):
        return "where a launcher sorts by name"
    return "where a launcher, or Slurm without SwitchAsNodeRank, sorts by name"


def _cost(fabric: Fabric, leaving: float) -> str:
    """`1 / (o f)`, by the most oversubscribed zone."""
    ratios = [zone.ctsw.by_bandwidth for zone in figures(fabric).zones]
    most = max((float(ratio) for ratio in ratios if ratio is not None), default=0.0) * leaving
    return f": at most {100 / most:.0f} % of line rate, even with perfect balance" if most > 1 else ""


def _blocks(cluster: Cluster | SubnetCluster) -> Iterator[Remark]:
    """Block sizes that no job can have, or that leave hosts of a block over."""
    scheduler = cluster.spec.scheduler
    if not isinstance(scheduler, Slurm) or not (scheduler.topology == "block" or scheduler.yaml):
        return
    site = site_of(cluster)
    blocks: dict[int, int] = {}
    for levels, count in site.size.items():
        blocks[levels[site.zone_level]] = blocks.get(levels[site.zone_level], 0) + count
    if not blocks:
        return
    total, base = sum(blocks.values()), min(blocks.values())
    if scheduler.block_sizes is not None:
        base = scheduler.block_sizes[0]
        beyond = [size for size in scheduler.block_sizes if size > total]
        if beyond:
            text = f"a block of {beyond[0]:,} hosts is never free: the cluster has {total:,}"
            yield Remark(("scheduler", "block_sizes"), "block-size", text)
    over = {zone: count % base for zone, count in blocks.items() if base <= count and count % base}
    if over:
        zone, rest = max(over.items(), key=lambda item: item[1])
        yield Remark(
            ("scheduler", "block_sizes"),
            "block-size",
            f"{counted(rest, 'host')} of the {blocks[zone]:,} of {site.zone_name.format(zone)} "
            f"{verb(rest, 'is', 'are')} beyond whole blocks of {base:,}: "
            f"{100 * sum(over.values()) / total:.0f} % of all hosts stay idle when jobs take whole blocks",
        )
