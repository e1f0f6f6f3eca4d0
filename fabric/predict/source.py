"""What a prediction takes from the spec where a case says nothing: the NICs' rate, and how hosts and switches are set."""

from __future__ import annotations

from dataclasses import replace

from fabric.design.load import Cluster, SubnetCluster
from fabric.predict.model import Case
from fabric.spec.cluster import ClusterSpec


def nic_gbps(cluster: Cluster | SubnetCluster) -> float:
    """Rate of the fastest back-end NIC in Gb/s, which is the unit of a network's capacities."""
    if isinstance(cluster, SubnetCluster):
        return float(max((link.cabled.speed_gbps for link in cluster.subnet.links if link.tier == "host"), default=400))
    return float(max(plan.ports.host_speed_gbps for plan in cluster.fabric.zones.values()))


def declared(spec: ClusterSpec, name: str = "as declared") -> Case:
    """The case that the spec itself declares: all GPUs, topology order, the declared hash, seeds and queue pairs."""
    case = Case(name, qps=spec.hosts.nccl.qps)
    if spec.backend.kind == "infiniband":
        return replace(case, hash="ecmp")  # one path a destination: nothing to choose by queue pair
    seeds = spec.load_balancing.seeds
    return replace(
        case, hash=spec.load_balancing.method, seed_per_tier=len({seeds.rtsw, seeds.ctsw}) == 2,
    )  # fmt: skip
