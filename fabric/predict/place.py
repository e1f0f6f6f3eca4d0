"""Which hosts a job should get, and in which order its ranks should stand: the minimum cut over the zones.

The published scheduler divides a job over AI Zones by a minimum cut and recommends the order of ranks. In a Clos, zones are alike and any
two are equally far apart, so the minimum is exact and simple: the fewest zones, each used as full as can be, the last one the one that
fits tightest. Inside a zone the same holds for racks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from fabric.design.ib.model import Subnet
from fabric.design.load import Cluster, SubnetCluster
from fabric.errors import FabricError
from fabric.words import counted, verb


@dataclass(frozen=True, slots=True)
class Spot:
    """A host that a job may get. `levels`: what it stands in, from the outermost: (zone, rack), or (pod, scalable unit, rack)."""

    name: str
    levels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Share:
    """What a job gets of one zone (`zone01`; InfiniBand: `su0001`): hosts, how many were free, in how many racks, how many of them whole."""

    zone: str
    hosts: int
    free: int
    racks: int
    whole: int


@dataclass(frozen=True, slots=True)
class Site:
    """Where jobs can run. `size`: hosts of each rack, free or not. `zone_level`: which of the levels is the zone; its name's form, and
    what it is called.
    """

    spots: tuple[Spot, ...]
    size: dict[tuple[int, ...], int]
    zone_level: int
    zone_name: str
    noun: str = "zone"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Hosts in rank order, and what of each zone they are, in the same order."""

    hosts: tuple[str, ...]
    shares: tuple[Share, ...]
    free: int

    @property
    def spread(self) -> float:
        """The part of the pairs of hosts that are not in one zone: what leaves its zone when ranks stand in any order, 0 to 1."""
        total = len(self.hosts)
        return 1 - sum(share.hosts * share.hosts for share in self.shares) / (total * total)

    @property
    def borders(self) -> int:
        """How often a ring over the hosts goes from zone to zone: the cut. No order of these hosts has fewer."""
        return len(self.shares) if len(self.shares) > 1 else 0


def site_of(cluster: Cluster | SubnetCluster) -> Site:
    """The hosts in service: neither planned nor drained, nor under an RTSW that is."""
    if isinstance(cluster, SubnetCluster):
        return _subnet_site(cluster.subnet)
    fabric = cluster.fabric
    bad = {(s.zone, s.number) for s in fabric.switches if s.role == "rtsw" and s.state != "deployed"}
    hosts = [(host, (host.zone, host.rack)) for host in fabric.hosts() if host.state != "planned"]
    spots = [Spot(host.name, levels) for host, levels in hosts if host.state == "deployed" and levels not in bad]
    return Site(tuple(spots), _sizes(levels for _, levels in hosts), 0, "zone{:02d}")


def _subnet_site(subnet: Subnet) -> Site:
    pods: dict[int, set[int]] = {}
    for switch in subnet.switches:
        if switch.tier == "leaf":
            pods.setdefault(switch.unit, set()).add(switch.pod)
    nics = len({hca.rail for hca in subnet.compute})
    hosts = [
        (
            hca,
            (
                min(pods[hca.unit]) if len(pods[hca.unit]) == 1 else 0,
                hca.unit,
                index // subnet.spec.infiniband.hosts_per_rack + 1,
            ),
        )
        for index, hca in enumerate(subnet.compute[::nics])
        if hca.state != "planned"
    ]
    spots = tuple(Spot(hca.host, levels) for hca, levels in hosts if hca.state == "deployed")
    return Site(spots, _sizes(levels for _, levels in hosts), 1, "su{:04d}", "scalable unit")


def _sizes(levels: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], int]:
    found: dict[tuple[int, ...], int] = {}
    for key in levels:
        found[key] = found.get(key, 0) + 1
    return found


def place(site: Site, hosts: int, busy: Collection[str] = ()) -> Chosen:
    """The hosts for a job. FabricError when not so many are free, or none is asked for."""
    if hosts < 1:
        raise FabricError(f"a job on {hosts} hosts has nobody to run it", hint="--hosts 1 or more")
    taken = frozenset(busy)
    free = [spot for spot in site.spots if spot.name not in taken]
    if hosts > len(free):
        out = sum(site.size.values()) - len(site.spots)
        raise FabricError(
            f"{counted(hosts, 'host')} {verb(hosts, 'is', 'are')} wanted, {len(free):,} {verb(len(free), 'is', 'are')} free: "
            f"{len(site.spots):,} in service, {len(site.spots) - len(free):,} of them busy; {out:,} drained",
            hint=f"at most --hosts {len(free)}" if free else "name fewer hosts in --busy",
        )
    chosen = pack(free, hosts, 0)
    return Chosen(tuple(spot.name for spot in chosen), tuple(_shares(site, free, chosen)), len(free))


def pack(spots: Sequence[Spot], wanted: int, level: int) -> list[Spot]:
    """So many of the spots from the fewest parts of a level, in the order of the parts; inside each part likewise, level by level.

    The largest parts whole, then the smallest that holds the rest: of all choices of the fewest parts the one with the most pairs of
    hosts inside one part, since a sum of squares is largest where the largest parts are full.
    """
    if wanted == len(spots):
        return list(spots)
    if level == len(spots[0].levels):
        return list(spots[:wanted])
    parts: dict[int, list[Spot]] = {}
    for spot in spots:
        parts.setdefault(spot.levels[level], []).append(spot)
    taken: dict[int, list[Spot]] = {}
    left = wanted
    for key in sorted(parts, key=_larger_first(parts)):
        if left == 0:
            break
        if len(parts[key]) >= left:
            last = min(
                (other for other in parts if other not in taken and len(parts[other]) >= left), key=_tighter(parts)
            )
            taken[last] = pack(parts[last], left, level + 1)
            break
        taken[key] = parts[key]
        left -= len(parts[key])
    return [spot for key in parts if key in taken for spot in taken[key]]


def _larger_first(parts: dict[int, list[Spot]]) -> Callable[[int], tuple[int, int]]:
    return lambda key: (-len(parts[key]), key)


def _tighter(parts: dict[int, list[Spot]]) -> Callable[[int], tuple[int, int]]:
    return lambda key: (len(parts[key]), key)


def _shares(site: Site, free: Sequence[Spot], chosen: Sequence[Spot]) -> Iterator[Share]:
    room = _sizes((spot.levels[site.zone_level],) for spot in free)
    zones: dict[int, list[Spot]] = {}
    for spot in chosen:
        zones.setdefault(spot.levels[site.zone_level], []).append(spot)
    for key, spots in zones.items():
        racks = _sizes(spot.levels for spot in spots)
        whole = sum(count == site.size.get(rack) for rack, count in racks.items())
        yield Share(site.zone_name.format(key), len(spots), room[key,], len(racks), whole)
