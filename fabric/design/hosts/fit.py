"""What the host sections declare and cannot be: refused with the place, before anything is written."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.catalog import HostModel, catalog
from fabric.design.hosts.nccl_lint import lint, truth_of
from fabric.design.hosts.nccl_rules import Truth
from fabric.design.hosts.settings import derived_firmware
from fabric.design.hosts.storage_fit import storage_problems
from fabric.design.hosts.topology import topology_problems
from fabric.errors import DesignError, FabricError
from fabric.spec.cluster import ClusterSpec
from fabric.spec.hosts import Software
from fabric.words import counted

_WANTED = ("os", "software", "network")


def host_problems(spec: ClusterSpec) -> Iterator[DesignError]:
    """All refusals of hosts, storage and scheduler. Unknown platforms and NICs are refused elsewhere, and end this."""
    yield from _whole(spec)
    yield from storage_problems(spec)
    yield from _scheduler(spec)
    if spec.hosts.software is not None:
        yield from _versions(spec.hosts.software)
    try:
        platform = catalog().host(spec.hosts.platform)
        catalog().nic(spec.hosts.nic or platform.nic.value)
    except FabricError:
        return
    yield from _interfaces(spec, platform)
    yield from _class(spec)
    truth = truth_of(spec)
    yield from _firmware(spec, truth)
    yield from _nccl(spec, truth)


def _whole(spec: ClusterSpec) -> Iterator[DesignError]:
    """Either all that provisioning needs, or nothing of it."""
    given = [name for name in _WANTED if getattr(spec.hosts, name) is not None]
    if given and len(given) < len(_WANTED):
        missing = [name for name in _WANTED if name not in given]
        yield DesignError(
            ("hosts", given[0]),
            f"hosts with {' and '.join(given)} need {' and '.join(missing)} too",
            hint=f"add hosts.{missing[0]}",
        )


def _versions(software: Software) -> Iterator[DesignError]:
    path = ("hosts", "software")
    if software.fabric_manager not in (None, software.driver):
        yield DesignError(
            (*path, "fabric_manager"),
            f"fabric manager {software.fabric_manager} refuses to start beside driver {software.driver}: both versions must be equal",
            hint="leave fabric_manager out, it follows the driver",
        )
    _, built, for_cuda = software.nccl.partition("+cuda")
    if built and for_cuda.split(".")[0] != software.cuda.split(".")[0]:
        yield DesignError((*path, "nccl"), f"NCCL is built for CUDA {for_cuda}, hosts.software.cuda is {software.cuda}")


def _interfaces(spec: ClusterSpec, platform: HostModel) -> Iterator[DesignError]:
    network = spec.hosts.network
    if network is None:
        return
    path, nics = ("hosts", "network"), platform.backend_nics.value
    if network.backend_pci is not None and len(network.backend_pci) != nics:
        yield DesignError(
            (*path, "backend_pci"),
            f"{counted(len(network.backend_pci), 'PCI address', 'PCI addresses')}, a {platform.name} has {nics} back-end NICs",
        )
    yield from topology_problems(network, platform)
    roce = spec.backend.kind == "roce"
    back = platform.backend_ifnames.value if roce and platform.backend_ifnames else [f"ib{n}" for n in range(nics)]
    for index, name in enumerate(network.front_end):
        if name in back:
            yield DesignError((*path, "front_end", index), f"{name} is a back-end NIC of a {platform.name}")
    if network.ipoib and roce:
        yield DesignError((*path, "ipoib"), "IP over InfiniBand on a RoCE back end")


def _class(spec: ClusterSpec) -> Iterator[DesignError]:
    dscp = spec.hosts.nccl.dscp
    if dscp is not None and spec.backend.kind == "roce" and dscp not in spec.qos.lossless.dscp:
        first, last = spec.qos.lossless.dscp[0], spec.qos.lossless.dscp[-1]
        yield DesignError(
            ("hosts", "nccl", "dscp"),
            f"DSCP {dscp} is not of qos.lossless ({first} to {last}), so its packets may be dropped",
        )


def _firmware(spec: ClusterSpec, truth: Truth) -> Iterator[DesignError]:
    """Own firmware parameters that say another thing than the fabric."""
    own = spec.hosts.software.firmware if spec.hosts.software else {}
    kept = ("LINK_TYPE_P1", "CNP_DSCP_P1", "CNP_802P_PRIO_P1")
    for row in derived_firmware(spec, truth.platform, truth.qos):
        if row.key in kept and own.get(row.key, row.value) != row.value:
            yield DesignError(
                ("hosts", "software", "firmware", row.key),
                f"{row.key}={own[row.key]} contradicts the fabric, from which {row.value} follows",
            )


def _nccl(spec: ClusterSpec, truth: Truth) -> Iterator[DesignError]:
    overrides = spec.hosts.nccl.overrides
    for key, value in overrides.items():
        for flaw in lint(key, value, truth):
            if flaw.level == "error":
                yield DesignError(("hosts", "nccl", "overrides", key), flaw.message, hint=flaw.hint)
    if "NCCL_IB_QPS_PER_CONNECTION" not in overrides:
        for flaw in lint("NCCL_IB_QPS_PER_CONNECTION", str(spec.hosts.nccl.qps), truth):
            if flaw.level == "error":
                yield DesignError(("hosts", "nccl", "qps"), flaw.message)


def _scheduler(spec: ClusterSpec) -> Iterator[DesignError]:
    slurm = spec.scheduler
    if slurm is None or not slurm.block_sizes:
        return
    path = ("scheduler", "block_sizes", 0)
    hosts = hosts_of(spec)
    if slurm.block_sizes[0] > hosts:
        yield DesignError(path, f"a block of {slurm.block_sizes[0]:,} hosts, the cluster has {hosts:,}")


def hosts_of(spec: ClusterSpec) -> int:
    """Number of GPU hosts, by arithmetic on the spec."""
    if spec.backend.kind == "infiniband":
        return spec.infiniband.hosts
    profiles = spec.roce.rack_profiles
    return sum(
        len(zone.id) * zone.racks * profiles[zone.rack_profile].hosts
        for zone in spec.roce.zones
        if zone.rack_profile in profiles
    )
