"""What a prediction takes from the spec where a case says nothing: the NICs' rate, and how hosts and switches are set."""

from __future__ import annotations

from dataclasses import replace

from fabric.design.alike import seed_groups
from fabric.design.load import Cluster, SubnetCluster
from fabric.predict.model import Case
from fabric.spec.cluster import ClusterSpec

QPS_KEY = "NCCL_IB_QPS_PER_CONNECTION"
"""NCCL's name of the number of queue pairs a connection."""


def nic_gbps(cluster: Cluster | SubnetCluster) -> float:
    """Rate of the fastest back-end NIC in Gb/s, which is the unit of a network's capacities."""
    if isinstance(cluster, SubnetCluster):
        return float(max((link.cabled.speed_gbps for link in cluster.subnet.links if link.tier == "host"), default=400))
    return float(max(plan.ports.host_speed_gbps for plan in cluster.fabric.zones.values()))


def declared(spec: ClusterSpec, name: str = "as declared") -> Case:
    """The case that the spec itself declares: all GPUs, topology order, the declared hash, seeds and queue pairs."""
    case = Case(name, qps=queue_pairs(spec))
    if spec.backend.kind == "infiniband":
        # a table has one path a destination, and nothing to choose by queue pair; adaptive routing spreads packets
        adaptive = spec.backend.routing.engines[0].startswith("ar_")
        return replace(case, hash="spray" if adaptive else "ecmp")
    groups = seed_groups(spec)
    return replace(case, hash=spec.load_balancing.method, seed_per_tier=not groups, seed_groups=groups)


def queue_pairs(spec: ClusterSpec) -> int:
    """Queue pairs a connection that hosts are given: an override stands above `hosts.nccl.qps`, as in nccl.conf."""
    own = spec.hosts.nccl.overrides.get(QPS_KEY, "")
    return int(own) if own.isdecimal() and int(own) else spec.hosts.nccl.qps
