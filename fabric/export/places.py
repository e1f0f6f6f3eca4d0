"""Where each host stands, as schedulers say it: the names over it, the nearest first."""

from __future__ import annotations

from dataclasses import dataclass

from fabric.design.load import Cluster, SubnetCluster
from fabric.targets.host.hostlist import expand
from fabric.targets.host.topology import Topology, of_fabric, of_subnet


@dataclass(frozen=True, slots=True)
class Place:
    """A host and its `layers`: leaf (an RTSW, or a scalable unit), then the zone or pod where there are several, then the top."""

    host: str
    layers: tuple[str, ...]


def topology_of(cluster: Cluster | SubnetCluster) -> Topology:
    """Slurm's view of the cluster; FabricError when no host is deployed."""
    return of_subnet(cluster.subnet) if isinstance(cluster, SubnetCluster) else of_fabric(cluster.fabric)


def places_of(topology: Topology) -> list[Place]:
    """The hosts in the order of the fabric. Hosts of one tree have the same number of layers."""
    group_of = {leaf: group.name for group in topology.groups for leaf in expand(group.switches)}
    top = (topology.top.name,) if topology.top else ()
    found = []
    for leaf in topology.leaves:
        group = (group_of[leaf.name],) if leaf.name in group_of else ()
        found += [Place(host, (leaf.name, *group, *top)) for host in expand(leaf.nodes)]
    return found
