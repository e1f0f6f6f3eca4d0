"""Which switches, hosts and HCAs a tree has, each with its name, its place and its placeholder GUID.

Placeholder GUIDs come from the place alone, one range for each kind of thing: 0x9000..., 0x9100..., 0x9200... for leaf, spine and core,
0xa000... for the HCAs of GPU hosts, 0xb000... for those of services. They follow the form of the reference's simulated fabrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from fabric.design.ib.model import Hca, IbSwitch, Purpose, Tier
from fabric.design.ib.tree import Tree
from fabric.design.model import State
from fabric.spec.infiniband import Service

LEAF, SPINE, CORE, HOST, SERVICE = (
    0x9000_0000_0000,
    0x9100_0000_0000,
    0x9200_0000_0000,
    0xA000_0000_0000,
    0xB000_0000_0000,
)
_SWITCH_STEP, _HCA_STEP = 0x100, 0x10
_ABOVE = 0x100  # spines of a pod, cores of a plane, HCAs of a host, ports of a leaf that there may be: catalog boxes have at most 256 ports

StateOf = Callable[[str, str], State]
"""(name, role) -> state."""


@dataclass(frozen=True, slots=True)
class Names:
    """Names of hosts and switches by place (places from 0, hosts from 1)."""

    host_form: str
    leaf_form: str
    spine_form: str
    core_form: str
    site: str

    @classmethod
    def of(cls, tree: Tree) -> Names:
        """The names that the spec's patterns make."""
        naming = tree.spec.infiniband.naming
        spine = naming.spine or ("spine{pod:02d}-{spine:02d}" if tree.tiers == 3 else "spine{spine:02d}")
        return cls(naming.host, naming.leaf, spine, naming.core, tree.spec.site.name)

    def host(self, number: int) -> str:
        """Name of a host, counted from 1."""
        return self.host_form.format(host=number, site=self.site)

    def leaf(self, leaf: int) -> str:
        """Name of a leaf."""
        return self.leaf_form.format(leaf=leaf + 1, site=self.site)

    def spine(self, pod: int, plane: int) -> str:
        """Name of a spine."""
        return self.spine_form.format(pod=pod + 1, spine=plane + 1, site=self.site)

    def core(self, plane: int, core: int) -> str:
        """Name of a core."""
        return self.core_form.format(plane=plane + 1, core=core + 1, site=self.site)


def leaf_guid(leaf: int) -> int:
    """Placeholder node GUID of a leaf."""
    return LEAF + _SWITCH_STEP * leaf


def spine_guid(pod: int, plane: int) -> int:
    """Placeholder node GUID of a spine."""
    return SPINE + _SWITCH_STEP * (pod * _ABOVE + plane)


def core_guid(plane: int, core: int) -> int:
    """Placeholder node GUID of a core."""
    return CORE + _SWITCH_STEP * (plane * _ABOVE + core)


def host_guid(host: int, rail: int) -> int:
    """Placeholder node GUID of an HCA of a GPU host; its port's is one more."""
    return HOST + _HCA_STEP * ((host - 1) * _ABOVE + rail)


def service_guid(leaf: int, port: int) -> int:
    """Placeholder node GUID of a service's HCA; its port's is one more."""
    return SERVICE + _HCA_STEP * (leaf * _ABOVE + port)


def switches(tree: Tree, names: Names, state: StateOf) -> Iterator[IbSwitch]:
    """Leaves, spines, cores."""
    model, ports, by_rail = tree.switch.name, tree.radix, tree.by_rail
    pod_base = 1 if tree.tiers == 3 else 0

    def made(name: str, tier: Tier, unit: int, pod: int, rail: int, plane: int, number: int, guid: int) -> IbSwitch:
        return IbSwitch(name, tier, unit, pod, rail, plane, number, model, ports, guid, True, state(name, tier))

    for leaf in range(tree.leaves):
        unit, rail = divmod(leaf, tree.nics)
        pod = tree.pod_of(leaf)[0] + pod_base
        yield made(names.leaf(leaf), "leaf", unit + 1, pod, rail if by_rail else -1, -1, leaf + 1, leaf_guid(leaf))
    for pod in tree.pods:
        for plane in range(tree.planes):
            guid = spine_guid(pod, plane)
            yield made(names.spine(pod, plane), "spine", 0, pod + pod_base, -1, plane, plane + 1, guid)
    for plane in range(tree.planes if tree.cores else 0):
        for core in range(tree.cores):
            yield made(names.core(plane, core), "core", 0, 0, -1, plane, core + 1, core_guid(plane, core))


def hcas(tree: Tree, names: Names, state: StateOf) -> Iterator[Hca]:
    """HCAs of GPU hosts, then those of services."""
    devices = tree.host.hcas.value
    for host in range(1, tree.hosts + 1):
        name = names.host(host)
        unit, of = (host - 1) // tree.hosts_per_unit + 1, state(name, "host")
        for rail, device in enumerate(devices):
            guid = host_guid(host, rail)
            yield Hca(f"{name} {device}", name, device, rail, unit, "compute", guid, guid + 1, True, of)
    for service in tree.spec.infiniband.services:
        yield from _service(tree, service, state(service.name, "host"))


def _service(tree: Tree, service: Service, state: State) -> Iterator[Hca]:
    purpose: Purpose | Literal["sm"] = service.purpose
    for index, port in enumerate(service.ports):
        guid = service_guid((port.unit - 1) * tree.nics + port.leaf - 1, port.port)
        device = f"mlx5_{index}"
        rail = port.leaf - 1 if tree.by_rail else index
        yield Hca(
            f"{service.name} {device}", service.name, device, rail, port.unit, purpose, guid, guid + 1, True, state
        )
