"""Action plugin fabric_files: renders a concern's files of a GPU host on the controller, and has the module of the same name write them."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from fabric.design.hosts.shared import fleet_at, prime
from fabric.errors import FabricError, FabricErrors
from fabric.targets.host import render, render_concern

if TYPE_CHECKING:
    from fabric.design.hosts.model import HostFleet, HostPlan
    from fabric.design.load import FleetCluster
    from fabric.targets.base import Artifact

UNITS = "/etc/systemd/system/"
_NAMED = ("optional", "reboot_packages", "reboot_modules", "reboot_after")
_OPTIONS = ("concern", "folder", "packages", "services", "root", "restart", *_NAMED)

# Ansible imports this file in its main process, before it starts one for each host and task. What is designed and rendered here is there in
# all of them; without it each would do it again.
for _cluster in prime():
    if len(_cluster.fleet.hosts):
        try:
            render(_cluster.fleet, _cluster.fleet.hosts[0])
        except FabricError:
            continue  # told by the task that asks for it


class ActionModule(ActionBase):  # type: ignore[misc]
    """See DOCUMENTATION of the module fabric_files."""

    TRANSFERS_FILES = False
    _VALID_ARGS = frozenset(_OPTIONS)

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Renders, sends, and returns the module's result without its arguments."""
        known = task_vars or {}
        super().run(tmp, known)
        concern = str(self._task.args.get("concern", ""))
        try:
            wanted = self._wanted(concern, known)
        except FabricErrors as errors:
            raise AnsibleActionFail(str(errors.errors[0])) from None
        except FabricError as error:
            raise AnsibleActionFail(str(error)) from None
        payload = base64.b64encode(zlib.compress(json.dumps(wanted).encode())).decode()
        given = {key: self._task.args[key] for key in ("packages", "services", "root") if key in self._task.args}
        arguments = {"concern": concern, "payload": payload, **given}
        result: dict[str, Any] = self._execute_module("fabric_files", module_args=arguments, task_vars=known)
        result.pop("invocation", None)
        return result

    def _wanted(self, concern: str, known: Mapping[str, Any]) -> dict[str, Any]:
        spec, name = known.get("fabric_spec"), str(known["inventory_hostname"])
        if not spec:
            raise FabricError(f"{name} is in no cluster.yaml", hint="ansible-playbook -i .../cluster.yaml")
        cluster = fleet_at(Path(str(spec)))
        if concern == "topology":
            return topology_of(cluster, str(self._task.args.get("folder") or "/etc/slurm"))
        fleet = cluster.fleet
        try:
            plan = fleet.plan(name)
        except KeyError:
            raise FabricError(f"{name} is no GPU host of {spec}") from None
        return payload_of(cluster, plan, concern, self._task.args)


def payload_of(cluster: FleetCluster, plan: HostPlan, concern: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What the module needs of one concern of one host. Raises FabricError, also for a secret that cannot be had."""
    from fabric.catalog import catalog

    fleet = cluster.fleet
    artifacts = render_concern(fleet, plan, concern)
    model = catalog().distribution(fleet.distribution.name)
    contents = _filled(cluster, artifacts)
    packages = _packages(fleet, concern)
    services = _services(fleet, concern)
    held = [package["name"] for package in packages if package["hold"]]
    texts = {a.path: content.decode("utf-8", "replace") for a, content in zip(artifacts, contents, strict=True)}
    names = _Names(texts)
    extra: Mapping[str, list[str]] = options.get("restart") or {}
    restart = {service: [*names.of(service), *extra.get(service, ())] for service in services}
    return {
        "files": [
            {"path": a.path, "content": base64.b64encode(content).decode(), "mode": a.mode, "secret": a.secret}
            for a, content in zip(artifacts, contents, strict=True)
        ],
        "packages": packages,
        "keys": _keys(fleet) if concern == "base" else [],
        "family": model.family,
        "distribution": {"name": model.name, "title": model.title, "ids": list(model.ids), "version": model.version_id},
        "plan": {
            "family": model.family,
            "services": list(services),
            "held": held if model.family == "debian" else [],
            "restart": restart,
            "others": names.others(services),
            **{name: list(options.get(name) or ()) for name in _NAMED},
            "nics": [nic.name for nic in plan.nics],
            "streams": _streams(fleet, concern),
            **(_firmware(fleet, plan) if concern == "rdma" else {}),
        },
    }


def topology_of(cluster: FleetCluster, folder: str) -> dict[str, Any]:
    """What the module needs for Slurm's topology on its controller, which may run any distribution. Raises FabricError."""
    from fabric.design.load import design_loaded, subnet_of
    from fabric.targets.host import topology as made

    slurm = cluster.spec.scheduler
    if slurm is None:
        raise FabricError("the spec declares no scheduler")
    infiniband = cluster.spec.backend.kind == "infiniband"
    loaded = cluster.loaded
    topology = made.of_subnet(subnet_of(loaded).subnet) if infiniband else made.of_fabric(design_loaded(loaded).fabric)
    files = made.topology_files(cluster.spec.name, topology, slurm)
    return {
        "files": [
            {"path": f"{folder}/{name}", "content": base64.b64encode(text).decode(), "mode": 0o644, "secret": False}
            for name, text in files.items()
        ],
        "packages": [],
        "keys": [],
        "family": "",
        "distribution": None,
        "plan": {},
    }


def _filled(cluster: FleetCluster, artifacts: Sequence[Artifact]) -> list[bytes]:
    """The files' bytes with their secrets in place."""
    from fabric.change.secrets import SecretSource, references

    names = references(artifacts)
    if not names:
        return [artifact.content for artifact in artifacts]
    source = SecretSource(cluster.spec.secrets, Path(cluster.loaded.path).parent, os.environ)
    values = source.resolve(names)
    return [values.fill(artifact.content) if artifact.secret else artifact.content for artifact in artifacts]


def _packages(fleet: HostFleet, concern: str) -> list[dict[str, Any]]:
    mounts = [mount.package for mount in fleet.mounts if mount.package is not None] if concern == "storage" else []
    return [{"name": p.name, "version": p.version, "hold": p.hold} for p in (*fleet.packages.get(concern, ()), *mounts)]


def _services(fleet: HostFleet, concern: str) -> tuple[str, ...]:
    """Units that must be enabled and run; those that are started by others are static, which counts as enabled."""
    from fabric.targets.host import services
    from fabric.targets.host.rdma import instances

    return (*services(fleet, concern), *(instances(fleet) if concern == "rdma" else ()))


def _keys(fleet: HostFleet) -> list[dict[str, str]]:
    """Keys of repositories that a host of the Debian family must have; dnf fetches its own."""
    from fabric.targets.host.repositories import keyring_of

    if fleet.distribution.family != "debian":
        return []
    return [{"url": r.key_url, "path": keyring_of(r.name)} for r in fleet.repositories if r.key_url is not None]


def _firmware(fleet: HostFleet, plan: HostPlan) -> dict[str, Any]:
    """What fabric_firmware takes: the tool of the RDMA stack, the host's NICs, and their parameters in order."""
    return {
        "firmware_tool": "mlxconfig" if "doca" in fleet.versions else "mstconfig",
        "firmware_devices": [nic.pci or nic.hca for nic in plan.nics],
        "firmware_settings": [f"{setting.key}={setting.value}" for setting in fleet.firmware],
    }


def _streams(fleet: HostFleet, concern: str) -> list[str]:
    """Modules of dnf with the stream that the pinned driver comes in: the open modules of its branch."""
    if fleet.distribution.family != "rhel" or concern != "nvidia":
        return []
    return [f"nvidia-driver:{fleet.versions['driver'].split('.')[0]}-open"]


class _Names:
    """Which rendered files a unit depends on: its own, its drop-ins, and all that these name, and so on."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def of(self, unit: str) -> list[str]:
        """Paths whose change restarts the unit."""
        found: dict[str, None] = {}
        ahead = [path for path in self._texts if _unit_of(path) == unit]
        while ahead:
            path = ahead.pop()
            if path not in found:
                found[path] = None
                ahead += [other for other in self._texts if other not in found and _names(self._texts[path], other)]
        return sorted(found)

    def others(self, services: Iterable[str]) -> dict[str, list[str]]:
        """Units among the files that are no services of the concern: restarted where they are active. Instances for a template."""
        known = set(services)
        units = {_unit_of(path) for path in self._texts} - known - {""}
        return {unit.replace("@.", "@*."): self.of(unit) for unit in sorted(units)}


def _unit_of(path: str) -> str:
    """The unit that a file below /etc/systemd/system belongs to; "" for another file."""
    return path.removeprefix(UNITS).split("/")[0].removesuffix(".d") if path.startswith(UNITS) else ""


def _names(text: str, path: str) -> bool:
    """Whether a text names a file by its path, or an instance of the template unit that it is."""
    unit = _unit_of(path)
    return path in text or ("@." in unit and unit.split("@")[0] + "@" in text)
