"""Slurm's topology, from the design: which hosts share a leaf, which leaves share a zone, and the blocks.

RoCE: the leaf is the rack's RTSW, over it the zone. InfiniBand: the leaf is the scalable unit, since a host of a rail-optimised fabric
hangs on all leaves of its unit. GPU hosts only: storage in the same tree would put all nodes under one leaf (public issue threads of
tools that read it from ibnetdiscover). Leaves and one top, no spines: listing every spine slows scheduling (Slurm's documentation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric.design.fabric import Fabric
from fabric.design.ib.model import Subnet
from fabric.errors import FabricError
from fabric.spec.scheduler import Slurm
from fabric.targets.host.hostlist import hostlist
from fabric.targets.host.templates import template

TOP = "fabric"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf, or a block: its hosts as Slurm's hostlist, and how many they are."""

    name: str
    nodes: str
    count: int


@dataclass(frozen=True, slots=True)
class Group:
    """A switch over others: `switches` as a hostlist."""

    name: str
    switches: str


@dataclass(frozen=True, slots=True)
class Topology:
    """The tree (leaves, groups over them, one top where there are several) and the blocks; what a leaf and a block are, in words."""

    leaves: tuple[Leaf, ...]
    groups: tuple[Group, ...]
    top: Group | None
    blocks: tuple[Leaf, ...]
    leaf_is: str
    block_is: str


def of_fabric(fabric: Fabric) -> Topology:
    """The topology of a RoCE fabric: leaves are racks, groups and blocks are zones."""
    racks: dict[int, dict[str, list[str]]] = {}
    for host in fabric.hosts():
        if host.state != "planned":
            leaf = fabric.rtsw_name(host.zone, host.rack)
            racks.setdefault(host.zone, {}).setdefault(leaf, []).append(host.name)
    zones = {f"zone{zone:02d}": leaves for zone, leaves in racks.items()}
    leaves = [_leaf(name, hosts) for rows in zones.values() for name, hosts in rows.items()]
    groups = {zone: list(rows) for zone, rows in zones.items()}
    blocks = [_leaf(zone, [host for hosts in rows.values() for host in hosts]) for zone, rows in zones.items()]
    return _topology(leaves, groups, blocks, "a leaf is a rack's RTSW", "a block is a zone")


def of_subnet(subnet: Subnet) -> Topology:
    """The topology of an InfiniBand subnet: leaves and blocks are scalable units, groups are pods that hold several whole units.

    Widths of the numbers are fixed, so that growth renames nothing.
    """
    units: dict[int, dict[str, None]] = {}
    for hca in subnet.compute:
        if hca.state != "planned":
            units.setdefault(hca.unit, {})[hca.host] = None
    leaves = [_leaf(f"su{unit:04d}", list(hosts)) for unit, hosts in sorted(units.items())]
    pods = _pods(subnet, sorted(units))
    groups = {f"pod{pod:03d}": [f"su{unit:04d}" for unit in of] for pod, of in pods.items()}
    return _topology(leaves, groups, leaves, "a switch is a scalable unit, not a leaf", "a block is a scalable unit")


def _pods(subnet: Subnet, units: Sequence[int]) -> dict[int, list[int]]:
    """Pod -> its units; empty when a unit spans pods, or a pod is one unit, or all is one pod."""
    of_unit: dict[int, set[int]] = {}
    for switch in subnet.switches:
        if switch.tier == "leaf":
            of_unit.setdefault(switch.unit, set()).add(switch.pod)
    found: dict[int, list[int]] = {}
    for unit in units:
        pods = of_unit.get(unit, set())
        if len(pods) != 1 or not min(pods):
            return {}
        found.setdefault(min(pods), []).append(unit)
    return found if 1 < len(found) < len(units) else {}


def _leaf(name: str, hosts: Sequence[str]) -> Leaf:
    return Leaf(name, hostlist(hosts), len(hosts))


def _topology(
    leaves: Sequence[Leaf], groups: Mapping[str, Sequence[str]], blocks: Sequence[Leaf], leaf_is: str, block_is: str
) -> Topology:
    if not leaves:
        raise FabricError("no GPU host is deployed: an empty topology can stop slurmctld (NVIDIA/aicr #1737)")
    below = list(groups) if groups else [leaf.name for leaf in leaves]
    over = tuple(Group(name, hostlist(names)) for name, names in groups.items())
    top = Group(TOP, hostlist(below)) if len(below) > 1 else None
    return Topology(tuple(leaves), over, top, tuple(blocks), leaf_is, block_is)


def block_sizes(topology: Topology, declared: Sequence[int] | None = None) -> list[int]:
    """Sizes in hosts: as declared, or the smallest block and its doublings up to all blocks (as Topograph infers them).

    Raises FabricError for a declared base size that a block does not have: slurmctld would refuse it.
    """
    smallest = min(topology.blocks, key=lambda block: block.count)
    if declared is not None:
        if declared[0] > smallest.count:
            raise FabricError(
                f"scheduler.block_sizes: block {smallest.name} has {smallest.count:,} hosts, the base size is {declared[0]:,}",
                hint="every block must be as large as the base size",
            )
        return list(declared)
    return [smallest.count << power for power in range(len(topology.blocks).bit_length())]


def topology_files(cluster: str, topology: Topology, slurm: Slurm) -> dict[str, bytes]:
    """File name -> content: topology.conf or topology.yaml as declared, and the lines for slurm.conf.

    Raises FabricError for sizes that do not fit (see `block_sizes`).
    """
    values = {"cluster": cluster, "topology": topology}
    plugin = slurm.topology
    sizes = block_sizes(topology, slurm.block_sizes) if plugin == "block" or slurm.yaml else []
    if slurm.yaml:
        name, source = "topology.yaml", "topology.yaml"
    else:
        name, source = "topology.conf", f"topology-{plugin}.conf"
    text = template(source, "slurm").render(**values, sizes=sizes, default=plugin)
    include = template("slurm.conf", "slurm").render(
        cluster=cluster, plugin="" if slurm.yaml else plugin, parameters=_parameters(slurm)
    )
    return {name: text.encode(), "fabric-topology.conf": include.encode()}


def _parameters(slurm: Slurm) -> list[str]:
    """As declared; with blocks, ranks follow blocks where nothing was declared."""
    if slurm.topology == "block" and "parameters" not in slurm.model_fields_set:
        return ["BlockAsNodeRank"]
    return list(slurm.parameters)
