"""Inventory from a cluster's spec: the switches, subnet managers and hosts that cluster.yaml declares, by the code of the command `fabric`."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin

if TYPE_CHECKING:
    from ansible.inventory.data import InventoryData
    from ansible.parsing.dataloader import DataLoader

    from fabric.design.fabric import Fabric
    from fabric.design.ib.model import Subnet
    from fabric.design.model import Host, Switch
    from fabric.spec.cluster import ClusterSpec
    from fabric.spec.loader import Loaded

DOCUMENTATION = """
name: fabric
short_description: Switches, subnet managers and hosts of a cluster, from its cluster.yaml
description:
  - Reads files named C(cluster.yaml). The Python that runs Ansible must have the package clusterfabric.
  - "Groups of switches: C(switches); by role C(rtsw), C(ctsw), C(atsw); by operating system C(eos), C(fboss)."
  - "Groups of hosts: C(gpu_hosts)."
  - "Groups of both: C(zone_1), C(zone_2), ...; by deployment state C(planned), C(drained)."
  - "Variables of a switch: C(ansible_host) (its management address), C(nos), C(role), C(zone) (0 for an ATSW), C(model)."
  - "Variables of a host: C(role) (C(host)), C(zone), C(model). The design gives hosts no management address."
  - "InfiniBand: the group C(subnet_managers) with C(sm_master) and C(sm_standby), and C(ansible_host), C(sm_priority), C(hca) of each;"
  - "C(gpu_hosts) by C(unit_1), C(unit_2), ... instead of zones. Its switches run no configuration of ours and are not listed."
  - "Variable of all: C(fabric_spec), the path of the spec."
options: {}
"""

SPEC = "cluster.yaml"
T = TypeVar("T")


class InventoryModule(BaseInventoryPlugin):  # type: ignore[misc]
    """See DOCUMENTATION."""

    NAME = "fabric"
    # What is set here are addresses that we computed and names from the catalog, no text of others; untrusted values would
    # stand wrapped in `ansible-inventory --list`.
    trusted_by_default = True

    def verify_file(self, path: str) -> bool:
        """A spec is known by its name."""
        return bool(super().verify_file(path)) and Path(path).name == SPEC

    def parse(self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True) -> None:
        """Fills the inventory. AnsibleParserError with file:line:column for what is wrong in the spec."""
        super().parse(inventory, loader, path, cache)
        gc.disable()  # nothing of an inventory is garbage before the process ends
        try:
            loaded = load(path)
            if loaded.value.backend.kind == "infiniband":
                fill_subnet(inventory, designed_subnet(loaded), path)
            else:
                fill(inventory, designed(loaded), path)
        finally:
            gc.freeze()
            gc.enable()


def load(path: str) -> Loaded[ClusterSpec]:
    """The spec at `path`."""
    try:
        from fabric.design.load import load_spec
    except ImportError as error:
        raise AnsibleParserError(
            f"{path}: the Python that runs Ansible has no package clusterfabric ({error}); pip install it there"
        ) from error
    return _told(lambda: load_spec(Path(path)))


def designed(loaded: Loaded[ClusterSpec]) -> Fabric:
    """The fabric of a RoCE spec."""
    from fabric.design.load import design_loaded

    return _told(lambda: design_loaded(loaded).fabric)


def designed_subnet(loaded: Loaded[ClusterSpec]) -> Subnet:
    """The subnet of an InfiniBand spec."""
    from fabric.design.load import subnet_of

    return _told(lambda: subnet_of(loaded).subnet)


def _told(work: Callable[[], T]) -> T:
    """Does `work`; what is wrong in the spec as Ansible tells it."""
    from fabric.errors import FabricError, FabricErrors

    try:
        return work()
    except FabricErrors as errors:
        more = len(errors.errors) - 1
        raise AnsibleParserError(f"{errors.errors[0]}{f' (and {more:,} more: fabric check)' if more else ''}") from None
    except FabricError as error:
        raise AnsibleParserError(str(error)) from None


def fill_subnet(inventory: InventoryData, subnet: Subnet, path: str) -> None:
    """The hosts of the subnet managers, and all GPU hosts."""
    groups = _Groups(inventory)
    inventory.set_variable("all", "fabric_spec", str(Path(path).absolute()))
    for group in ("sm_master", "sm_standby"):  # there even when empty
        groups.child("subnet_managers", group)
    groups.variables("planned", {})
    groups.variables("gpu_hosts", {"role": "host", "model": subnet.spec.hosts.platform})
    for number, manager in enumerate(subnet.managers):
        groups.host(manager.host, ["sm_standby" if number else "sm_master"])
        values = {"sm_priority": manager.priority, "hca": manager.hca.name, "ansible_host": manager.address}
        for key, value in values.items():
            if value is not None:
                inventory.set_variable(manager.host, key, value)
    for host, hca in {hca.host: hca for hca in subnet.compute}.items():
        groups.host(host, ["gpu_hosts", f"unit_{hca.unit}", *([hca.state] if hca.state != "deployed" else [])])


def fill(inventory: InventoryData, fabric: Fabric, path: str) -> None:
    """All devices with their groups and variables. What a group has in common is a variable of the group: that is faster."""
    from fabric.design.ip import fmt4

    groups = _Groups(inventory)
    inventory.set_variable("all", "fabric_spec", str(Path(path).absolute()))
    for role in ("rtsw", "ctsw", "atsw"):
        groups.variables(role, {"role": role})
        groups.child("switches", role)
    groups.variables("atsw", {"zone": 0})
    for nos in ("eos", "fboss"):
        groups.variables(nos, {"nos": nos})
    for zone in fabric.zones:
        groups.variables(f"zone_{zone}", {"zone": zone})
    for state in ("planned", "drained"):  # there even when empty, so that a play may say `switches:!planned`
        groups.variables(state, {})
    groups.variables("gpu_hosts", {"role": "host", "model": fabric.spec.hosts.platform})
    for switch in fabric.switches:
        groups.add(switch, (switch.role, switch.nos))
        inventory.set_variable(switch.name, "ansible_host", fmt4(switch.management))
        inventory.set_variable(switch.name, "model", switch.model)
    for host in fabric.hosts():
        groups.add(host, ("gpu_hosts",))


class _Groups:
    """Adds hosts to groups, and makes a group when it is first used."""

    def __init__(self, inventory: InventoryData) -> None:
        self._inventory = inventory
        self._made: set[str] = set()

    def _group(self, name: str) -> None:
        if name not in self._made:
            self._inventory.add_group(name)
            self._made.add(name)

    def child(self, group: str, child: str) -> None:
        """A group of groups."""
        self._group(group)
        self._group(child)
        self._inventory.add_child(group, child)

    def add(self, device: Switch | Host, groups: Iterable[str]) -> None:
        """A device in its groups, that of its zone and that of its state."""
        more = [f"zone_{device.zone}"] if device.zone else []
        if device.state != "deployed":
            more.append(device.state)
        self.host(device.name, (*groups, *more))

    def host(self, name: str, groups: Iterable[str]) -> None:
        """A host of this name in its groups."""
        for group in groups:
            self._group(group)
            self._inventory.add_host(name, group)

    def variables(self, group: str, values: Mapping[str, Any]) -> None:
        """Variables of a group."""
        self._group(group)
        for key, value in values.items():
            self._inventory.set_variable(group, key, value)
