"""Inventory from a cluster's spec: the switches, subnet managers and hosts that cluster.yaml declares, by the code of the command `fabric`."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible.template import trust_as_template

if TYPE_CHECKING:
    from ansible.inventory.data import InventoryData
    from ansible.inventory.group import Group
    from ansible.inventory.host import Host
    from ansible.parsing.dataloader import DataLoader

    from fabric.design.fabric import Fabric
    from fabric.design.ib.model import Subnet
    from fabric.spec.cluster import ClusterSpec
    from fabric.spec.loader import Loaded

DOCUMENTATION = """
name: fabric
short_description: Switches, subnet managers and hosts of a cluster, from its cluster.yaml
description:
  - Reads files named C(cluster.yaml). The Python that runs Ansible must have the package clusterfabric.
  - "Groups of switches: C(switches); by role C(rtsw), C(ctsw), C(atsw); by operating system C(eos), C(fboss)."
  - "Groups of hosts: C(gpu_hosts); by platform, as C(platform_grand_teton_h100); by distribution, as C(os_ubuntu_24_04)."
  - "C(slurm_controllers): the host that C(scheduler.controller) names."
  - "Groups of both: C(zone_1), C(zone_2), ...; their racks C(rack_z01_r001), ...; by deployment state C(planned), C(drained)."
  - "Variables of a switch: C(ansible_host) (its management address), C(nos), C(role), C(zone) (0 for an ATSW), C(model)."
  - "Variables of a host: C(role) (C(host)), C(zone), C(model); C(ansible_user), C(ansible_become), C(ansible_port) where the spec's
    C(hosts.ssh) has others than root and 22. A host is reached by its name."
  - "InfiniBand: the group C(subnet_managers) with C(sm_master) and C(sm_standby), and C(ansible_host), C(sm_priority), C(hca) of each;"
  - "C(gpu_hosts) by C(unit_1), C(unit_2), ... (scalable units) and C(rack_r001), ... Its switches run no configuration of ours: not listed."
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
    """The hosts of the subnet managers, and all GPU hosts by scalable unit."""
    groups = _Groups(inventory)
    _common(groups, subnet.spec, path)
    for group in ("sm_master", "sm_standby"):  # there even when empty
        groups.child("subnet_managers", group)
    for number, manager in enumerate(subnet.managers):
        groups.add(manager.host, "sm_standby" if number else "sm_master")
        values = {"sm_priority": manager.priority, "hca": manager.hca.name, "ansible_host": manager.address}
        groups.host_variables(manager.host, {key: value for key, value in values.items() if value is not None})
    racks = subnet.spec.infiniband.hosts_per_rack
    for index, (host, hca) in enumerate({hca.host: hca for hca in subnet.compute}.items()):
        groups.add(host, "gpu_hosts", f"unit_{hca.unit}", f"rack_r{index // racks + 1:03}", *_state(hca.state))
    groups.join()


def fill(inventory: InventoryData, fabric: Fabric, path: str) -> None:
    """All devices with their groups and variables. What a group has in common is a variable of the group: that is faster."""
    from fabric.design.ip import fmt4

    groups = _Groups(inventory)
    _common(groups, fabric.spec, path)
    for role in ("rtsw", "ctsw", "atsw"):
        groups.variables(role, {"role": role})
        groups.child("switches", role)
    groups.variables("atsw", {"zone": 0})
    for nos in ("eos", "fboss"):
        groups.variables(nos, {"nos": nos})
    for plan in fabric.zones.values():
        groups.variables(f"zone_{plan.number}", {"zone": plan.number})
        for rack in range(1, plan.racks + 1):
            groups.child(f"zone_{plan.number}", _rack(plan.number, rack))
    for switch in fabric.switches:
        place = {"rtsw": [_rack(switch.zone, switch.number)], "ctsw": [f"zone_{switch.zone}"]}.get(switch.role, [])
        groups.add(switch.name, switch.role, switch.nos, *place, *_state(switch.state))
        groups.host_variables(switch.name, {"ansible_host": fmt4(switch.management), "model": switch.model})
    for host in fabric.hosts():
        groups.add(host.name, "gpu_hosts", _rack(host.zone, host.rack), *_state(host.state))
    groups.join()


def _common(groups: _Groups, spec: ClusterSpec, path: str) -> None:
    """What RoCE and InfiniBand share: the spec's path, the groups of states and of all GPU hosts."""
    from fabric.design.hosts.shared import note

    hosts = spec.hosts
    note(Path(path))
    groups.variables("all", {"fabric_spec": str(Path(path).absolute())})
    for state in ("planned", "drained"):  # there even when empty, so that a play may say `switches:!planned`
        groups.variables(state, {})
    login = {"ansible_user": hosts.ssh.user, "ansible_become": True} if hosts.ssh.user != "root" else {}
    port = {"ansible_port": hosts.ssh.port} if hosts.ssh.port != 22 else {}
    groups.variables("gpu_hosts", {"role": "host", "model": hosts.platform, **login, **port})
    groups.child(_named("platform", hosts.platform), "gpu_hosts")
    if hosts.os is not None:
        groups.child(_named("os", hosts.os), "gpu_hosts")
    groups.variables("slurm_controllers", {})
    if spec.scheduler is not None and spec.scheduler.controller is not None:
        groups.add(spec.scheduler.controller, "slurm_controllers")


def _named(kind: str, name: str) -> str:
    """A group's name from a name with other characters: "os", "ubuntu-24.04" -> "os_ubuntu_24_04"."""
    return f"{kind}_{re.sub('[^a-z0-9]', '_', name)}"


def _rack(zone: int, rack: int) -> str:
    return f"rack_z{zone:02}_r{rack:03}"


def _state(state: str) -> list[str]:
    """The group of a state; deployed is the rule and has none."""
    return [] if state == "deployed" else [state]


class _Groups:
    """Adds hosts to groups, and makes what is not there yet.

    Ansible's own calls for that check every name and tag every value again, for thousands of hosts that the design has checked. So its
    objects are filled directly; and groups get their parents only in `join`, when they are full: each host of a group that has
    parents already would look for them anew.
    """

    def __init__(self, inventory: InventoryData) -> None:
        self._inventory = inventory
        self._groups: dict[str, Group] = {}
        self._hosts: dict[str, Host] = {}
        self._children: dict[tuple[str, str], None] = {}

    def _group(self, name: str) -> Group:
        if name not in self._groups:
            self._inventory.add_group(name)
            self._groups[name] = self._inventory.groups[name]
        return self._groups[name]

    def child(self, group: str, child: str) -> None:
        """A group of groups."""
        self._group(group)
        self._group(child)
        self._children[group, child] = None

    def add(self, name: str, *groups: str) -> None:
        """A host of this name in its groups."""
        host = self._hosts.get(name)
        if host is None:
            self._inventory.add_host(name)
            host = self._hosts[name] = self._inventory.hosts[name]
        for name_of in groups:
            group = self._group(name_of)
            group.hosts.append(host)
            host.groups.append(group)

    def variables(self, group: str, values: Mapping[str, Any]) -> None:
        """Variables of a group."""
        self._group(group).vars.update({key: trusted(value) for key, value in values.items()})

    def host_variables(self, name: str, values: Mapping[str, Any]) -> None:
        """Variables of a host that has been added."""
        self._hosts[name].vars.update({key: trusted(value) for key, value in values.items()})

    def join(self) -> None:
        """Puts the groups of groups together, once they are full."""
        for group, child in self._children:
            self._inventory.add_child(group, child)


def trusted(value: Any) -> Any:
    """A value of ours: computed, or a name that the spec's models have let through. Ansible shows an untrusted text wrapped."""
    return trust_as_template(value) if isinstance(value, str) else value
