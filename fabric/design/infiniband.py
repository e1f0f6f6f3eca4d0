"""The InfiniBand fat tree by counts: leaves, spines, cores, cables and the stripe of each spine over its cores.

Rail-optimised: scalable unit s has one leaf a rail; leaf r takes NIC r of each host of the unit. All links are of one speed, so full
bisection means as many links on every tier as there are NICs.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric.catalog import catalog
from fabric.design.suggest import near
from fabric.errors import DesignError, FabricError
from fabric.spec.cluster import ClusterSpec

UNICAST_LIDS = 49_151  # 0x0001 to 0xBFFF, InfiniBand architecture


@dataclass(frozen=True, slots=True)
class FatTree:
    """Counts of a fat tree. `stripe` is (smallest, largest) number of links from a spine to a core of its plane; (0, 0) with two tiers."""

    endpoints: int
    hosts: int
    units: int
    leaves: int
    spines: int
    cores: int
    links: dict[str, int]
    stripe: tuple[int, int]
    lids: int
    radix: int


def fat_tree(spec: ClusterSpec) -> FatTree:
    """The tree that an InfiniBand spec declares; DesignError with the arithmetic when it cannot be built."""
    backend = spec.infiniband
    try:
        host, switch = catalog().host(spec.hosts.platform), catalog().switch(backend.switch)
    except FabricError as error:
        raise DesignError(("backend", "switch"), error.message, hint=error.hint) from None
    if switch.infiniband is None:
        known = [name for name in catalog().names("switch") if catalog().switch(name).infiniband]
        raise DesignError(
            ("backend", "switch"), f"{backend.switch} is not an InfiniBand switch", hint=near(backend.switch, known)
        )
    radix, nics = len(switch.ports), host.backend_nics.value
    half = radix // 2
    if backend.hosts_per_unit > half:
        raise DesignError(
            ("backend", "hosts_per_unit"),
            f"{backend.hosts_per_unit} hosts a unit need {backend.hosts_per_unit} downlinks on each leaf, "
            f"a {backend.switch} has {half} beside as many uplinks",
        )
    endpoints = backend.hosts * nics
    units = -(-backend.hosts // backend.hosts_per_unit)
    limit = radix**3 // 4
    if units * backend.hosts_per_unit * nics > limit:
        raise DesignError(
            ("backend", "hosts"),
            f"{units} units of {backend.hosts_per_unit} hosts x {nics} NICs are {units * backend.hosts_per_unit * nics:,} endpoints, "
            f"three tiers of {radix}-port switches end at {radix}^3 / 4 = {limit:,}",
        )
    return _tree(spec, radix, units, units * nics, endpoints)


def _tree(spec: ClusterSpec, radix: int, units: int, leaves: int, endpoints: int) -> FatTree:
    backend, half = spec.infiniband, radix // 2
    uplinks = leaves * backend.hosts_per_unit
    if leaves <= radix:
        spines, cores, stripe = -(-uplinks // radix), 0, (0, 0)
        links = {"host": endpoints, "leaf": uplinks}
    else:
        pods = -(-leaves // half)
        spines = pods * half
        fewest = -(-pods * half // radix)
        per_plane = fewest if backend.core_stripe == "minimal" else _even(fewest, half)
        stripe = (half // per_plane, -(-half // per_plane))
        cores = per_plane * half
        links = {"host": endpoints, "leaf": uplinks, "spine": spines * half}
    lids = endpoints + leaves + spines + cores
    if lids > UNICAST_LIDS:
        raise DesignError(
            ("backend", "hosts"), f"{lids:,} LIDs are needed (LMC 0), a subnet has {UNICAST_LIDS:,} unicast LIDs"
        )
    return FatTree(endpoints, backend.hosts, units, leaves, spines, cores, links, stripe, lids, radix)


def _even(fewest: int, half: int) -> int:
    """The smallest number of cores a plane, not below `fewest`, over which a spine's `half` uplinks divide."""
    return next(count for count in range(fewest, half + 1) if half % count == 0)
