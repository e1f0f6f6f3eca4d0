"""spec + fabric or subnet -> HostFleet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabric.catalog import catalog
from fabric.design.hosts.model import Distribution, HostFleet
from fabric.design.hosts.nccl import derived, host_lines, merged
from fabric.design.hosts.qos import qos_of
from fabric.design.hosts.rows import IbRows, RoceRows
from fabric.design.hosts.settings import firmware_of, sysctls_of
from fabric.design.hosts.software import modules_of, packages_of, repositories_of, versions_of
from fabric.design.hosts.storage import mount_of
from fabric.design.hosts.topology import topology_of
from fabric.errors import DesignError
from fabric.spec.cluster import ClusterSpec

if TYPE_CHECKING:
    from fabric.design.load import Cluster, SubnetCluster


def design_hosts(cluster: Cluster | SubnetCluster) -> HostFleet:
    """The hosts that a designed cluster declares; DesignError where it does not say what is installed, or contradicts itself."""
    spec = cluster.spec
    hosts = spec.hosts
    if hosts.os is None or hosts.software is None or hosts.network is None:
        raise _undeclared(spec)
    platform, model = catalog().host(hosts.platform), catalog().distribution(hosts.os)
    qos, mounts = qos_of(spec), tuple(mount_of(mount) for mount in spec.storage)
    return HostFleet(
        spec=spec,
        backend=spec.backend.kind,
        distribution=Distribution(model.name, model.family, model.cuda_repo, model.network),
        packages=packages_of(model, hosts.software, mounts),
        qos=qos,
        mtu=mtu_of(cluster),
        nccl=merged(derived(spec, platform, qos), hosts.nccl.overrides),
        mounts=mounts,
        hosts=rows_of(cluster),
        repositories=repositories_of(model, hosts.software),
        sysctls=sysctls_of(spec),
        firmware=firmware_of(spec, platform, qos),
        front_end=tuple(hosts.network.front_end),
        ntp=tuple(hosts.tuning.ntp or (spec.management.ntp if spec.management else ())),
        modules=modules_of(model, hosts.software),
        versions=versions_of(hosts.software),
        topology=topology_of(spec, platform),
    )


def _undeclared(spec: ClusterSpec) -> DesignError:
    missing = [name for name in ("os", "software", "network") if getattr(spec.hosts, name) is None]
    return DesignError(
        ("hosts",),
        f"hosts without {', '.join(missing)} cannot be provisioned",
        hint="docs/hosts.md shows the keys; switches and subnet managers need none of them",
    )


def rows_of(cluster: Cluster | SubnetCluster) -> RoceRows | IbRows:
    """The hosts by place, which needs nothing that is installed on them."""
    from fabric.design.load import SubnetCluster

    if isinstance(cluster, SubnetCluster):
        return IbRows(cluster.subnet, host_lines(cluster.subnet))
    return RoceRows(cluster.fabric)


def mtu_of(cluster: Cluster | SubnetCluster) -> int:
    """IP MTU of the back-end NICs in bytes; IPoIB: the broadcast group's less 4 of its header (RFC 4391)."""
    from fabric.design.load import SubnetCluster

    if not isinstance(cluster, SubnetCluster):
        return cluster.spec.mtu.ip
    groups = [part.ipoib.mtu for part in cluster.subnet.partitions if part.ipoib is not None]
    return min(groups, default=2048) - 4


__all__ = ["design_hosts", "mtu_of", "qos_of", "rows_of"]
