"""How GPUs and back-end NICs hang on PCIe: the catalog's switches with the addresses that the spec declares."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.catalog import HostModel
from fabric.design.hosts.model import HostTopology, PcieSwitch
from fabric.errors import DesignError
from fabric.spec.cluster import ClusterSpec
from fabric.spec.hosts import HostNetwork
from fabric.words import counted


def topology_of(spec: ClusterSpec, platform: HostModel) -> HostTopology | None:
    """The expected topology; None where the spec does not say where the GPUs sit."""
    network = spec.hosts.network
    if network is None or network.gpu_pci is None or network.backend_pci is None or platform.pcie is None:
        return None
    health = platform.health
    return HostTopology(
        gpus=tuple(network.gpu_pci),
        nics=tuple(network.backend_pci),
        switches=tuple(PcieSwitch(group.pcie_switch, group.gpus, group.nics) for group in platform.pcie.groups),
        speed=health.pcie_speed.value if health and health.pcie_speed else "",
        width=health.pcie_width.value if health and health.pcie_width else 0,
        dump=spec.hosts.nccl.topology_dump or "",
    )


def topology_problems(network: HostNetwork, platform: HostModel) -> Iterator[DesignError]:
    """What keeps declared GPU slots from being compared with anything, or contradicts the NICs' slots."""
    path, given = ("hosts", "network", "gpu_pci"), network.gpu_pci
    if given is None:
        return
    if len(given) != platform.gpus.value:
        said = counted(len(given), "PCI address", "PCI addresses")
        yield DesignError(path, f"{said}, a {platform.name} has {platform.gpus.value} GPUs")
    for index, address in enumerate(given):
        if address in (network.backend_pci or ()):
            yield DesignError((*path, index), f"{address} is a back-end NIC in hosts.network.backend_pci")
    if network.backend_pci is None:
        yield DesignError(path, "GPU slots are held against those of the NICs", hint="add hosts.network.backend_pci")
    if platform.pcie is None:
        yield DesignError(
            path, f"the catalog does not say what shares a PCIe switch in a {platform.name}: leave it out"
        )
