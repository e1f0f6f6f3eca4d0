"""Concern `checks`: the program `check-host`, and /etc/fabric/host.json, what it compares the running host with."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from json.encoder import encode_basestring
from typing import Any

from fabric.catalog import catalog
from fabric.design.hosts import expect
from fabric.design.hosts.expect import (
    Expectation,
    ExpectedMount,
    ExpectedNic,
    ExpectedPackage,
    ExpectedPcieSwitch,
    ExpectedPlatform,
    ExpectedQos,
    ExpectedTopology,
    ExpectedVersions,
)
from fabric.design.hosts.limits import expected_limits, expected_platform
from fabric.design.hosts.model import BackendNic, HostFleet, HostPlan, Mount
from fabric.design.ip import fmt4, fmt6
from fabric.targets.host import check_host
from fabric.targets.host.concern import SCRIPT, File
from fabric.targets.host.rdma import instances
from fabric.targets.host.storage import kernel_options, unit_of
from fabric.targets.host.templates import Pattern, gap

_KERNEL_ARGUMENTS = {"pt": ("iommu=pt",), "off": ("iommu=off|intel_iommu=off|amd_iommu=off",)}
"""Words of the kernel's command line by `hosts.tuning.iommu` (kernel-parameters.txt); of those with "|" one is enough."""


def shared() -> tuple[File, ...]:
    """The program that reads host.json."""
    return (File(check_host.PATH, check_host.check_host(), SCRIPT),)


class ExpectationWriter:
    """Writes host.json for the hosts of one fleet.

    `services` are the units that must be active, `shared` the files that all hosts have. The text is made once for all hosts that
    differ in texts alone (names, addresses, digests), which is most: JSON of 30 KB a host would take most of the time of a render.
    """

    def __init__(self, fleet: HostFleet, services: Sequence[str], shared: Sequence[File]) -> None:
        self.fleet = fleet
        self._services = (*services, *instances(fleet))
        self._shared = _digests(shared)
        self._patterns: dict[Any, Pattern] = {}

    def files(self, plan: HostPlan, own: Sequence[File]) -> tuple[File, ...]:
        """host.json, beside the host's `own` files, whose digests it holds."""
        digests = _digests(own)
        shape = (
            tuple(
                (nic.rail, nic.speed_gbps, nic.cable_length_m, nic.local4 is None, nic.local6 is None)
                for nic in plan.nics
            ),
            plan.nccl,
            tuple(digests),
        )
        pattern = self._patterns.get(shape)
        if pattern is None:
            pattern = self._patterns[shape] = Pattern(expect.dumps(self._marked(plan, digests)).encode())
        values = self._values(plan, digests)
        if not all(map(_PLAIN, values.values())):
            values = {name: _escaped(value) for name, value in values.items()}
        return (File(expect.PATH, pattern.fill(values)),)

    def expectation(self, plan: HostPlan, own: Sequence[File]) -> Expectation:
        """What the host should look like. A file with a secret is not compared: its text on the host is another."""
        marked, values = self._marked(plan, _digests(own)), self._values(plan, _digests(own))
        return expect.loads(Pattern(expect.dumps(marked).encode()).fill(values).decode())

    def _values(self, plan: HostPlan, digests: Mapping[str, str]) -> dict[str, str]:
        values = {"host": plan.name, **{f"file {place}": digest for place, digest in enumerate(digests.values())}}
        for nic in plan.nics:
            rail = nic.rail
            values[f"switch {rail}"], values[f"port {rail}"] = nic.switch, nic.switch_port
            values[f"guid {rail}"] = "" if nic.guid is None else f"{nic.guid:#018x}"
            for name, four, six in (("local", nic.local4, nic.local6), ("peer", nic.peer4, nic.peer6)):
                values[f"{name}4 {rail}"] = "" if four is None else fmt4(four)
                values[f"{name}6 {rail}"] = "" if six is None else fmt6(six)
        for mount in self.fleet.mounts:
            values[f"source {mount.name}"] = mount.source if mount.kind == "fuse" else self.fleet.source_of(mount, plan)
        return values

    def _marked(self, plan: HostPlan, digests: Mapping[str, str]) -> Expectation:
        """The expectation with gaps in the place of `_values`."""
        fleet, spec = self.fleet, self.fleet.spec
        hosts = spec.hosts
        os_id, _, os_version = fleet.distribution.name.partition("-")
        return Expectation(
            host=gap("host"),
            cluster=spec.name,
            backend=fleet.backend,
            platform=_platform(fleet),
            os_id=os_id,
            os_version=os_version,
            mtu=fleet.mtu if fleet.backend == "roce" or (hosts.network and hosts.network.ipoib) else 0,
            nics=tuple(_nic(fleet, nic) for nic in plan.nics),
            qos=_qos(fleet),
            versions=_versions(fleet),
            packages=_packages(fleet),
            firmware={setting.key: setting.value for setting in fleet.firmware},
            sysctls={setting.key: setting.value for setting in fleet.sysctls},
            governor=hosts.tuning.governor or "",
            hugepages=hosts.tuning.hugepages.count if hosts.tuning.hugepages else 0,
            services=self._services,
            modules=("nvidia_peermem",) if hosts.tuning.gpu_direct == "peermem" else (),
            nccl={setting.key: setting.value for setting in (*fleet.nccl, *plan.nccl)},
            files={**self._shared, **{path: gap(f"file {place}") for place, path in enumerate(digests)}},
            mounts=tuple(_mount(mount) for mount in fleet.mounts),
            limits=expected_limits(catalog().host(hosts.platform)),
            topology=_topology(fleet),
            kernel_arguments=_KERNEL_ARGUMENTS[hosts.tuning.iommu] if hosts.tuning.iommu else (),
        )


_PLAIN = re.compile(r"[A-Za-z0-9 _.:/@=,+-]*").fullmatch
"""Text that JSON writes as it is: names, addresses and digests, nearly all of them."""


def _digests(files: Sequence[File]) -> dict[str, str]:
    """SHA-256 by path; not of files with a secret, whose text on the host is another."""
    return {file.path: hashlib.sha256(file.content).hexdigest() for file in files if not file.secret}


def _escaped(text: str) -> str:
    """Text as it stands inside the quotes of JSON."""
    return encode_basestring(text)[1:-1]


def _platform(fleet: HostFleet) -> ExpectedPlatform:
    tuning = fleet.spec.hosts.tuning
    model = expected_platform(catalog().host(fleet.spec.hosts.platform))
    return replace(model, max_read_request=tuning.max_read_request or 0, acs_off=tuning.acs == "off")


def _nic(fleet: HostFleet, nic: BackendNic) -> ExpectedNic:
    rail = nic.rail
    families = [(4, nic.len4)] * (nic.local4 is not None) + [(6, nic.len6)] * (nic.local6 is not None)
    return ExpectedNic(
        rail=rail,
        name=nic.name,
        hca=nic.hca,
        speed_gbps=nic.speed_gbps,
        pci=nic.pci or "",
        switch=gap(f"switch {rail}"),
        switch_port=gap(f"port {rail}"),
        addresses=tuple(gap(f"local{family} {rail}") + f"/{length}" for family, length in families),
        peers=tuple(gap(f"peer{family} {rail}") + f"/{length}" for family, length in families),
        table=nic.table if fleet.backend == "roce" else 0,
        guid=gap(f"guid {rail}"),
        cable_length_m=nic.cable_length_m,
    )


def _topology(fleet: HostFleet) -> ExpectedTopology | None:
    found = fleet.topology
    if found is None:
        return None
    switches = tuple(ExpectedPcieSwitch(switch.name, switch.gpus, switch.nics) for switch in found.switches)
    return ExpectedTopology(found.gpus, found.nics, switches, found.dump)


def _qos(fleet: HostFleet) -> ExpectedQos | None:
    qos = fleet.qos
    if qos is None:
        return None
    return ExpectedQos(qos.priority, qos.dscps, qos.dscp, qos.traffic_class, qos.cnp_dscp, qos.cnp_priority, qos.dcqcn)


def _versions(fleet: HostFleet) -> ExpectedVersions:
    pinned = fleet.versions
    return ExpectedVersions(
        driver=pinned.get("driver", ""),
        fabric_manager=pinned.get("fabric_manager", ""),
        cuda=pinned.get("cuda", ""),
        nccl=pinned.get("nccl", ""),
        dcgm=pinned.get("dcgm", ""),
        rdma_stack="doca" if "doca" in pinned else "inbox",
        rdma=pinned.get("doca", ""),
    )


def _packages(fleet: HostFleet) -> tuple[ExpectedPackage, ...]:
    found = [package for packages in fleet.packages.values() for package in packages]
    return tuple(ExpectedPackage(package.name, package.version or "", package.hold) for package in found)


def _mount(mount: Mount) -> ExpectedMount:
    return ExpectedMount(
        name=mount.name,
        kind=mount.kind,
        path=mount.path,
        unit=mount_unit(mount),
        source=gap(f"source {mount.name}"),
        options=mount.options if mount.kind == "fuse" else kernel_options(mount),
        binary=mount.binary,
        probe=mount.probe is not None,
    )


def mount_unit(mount: Mount) -> str:
    """Name, without suffix, of the unit that mounts: a service for FUSE, a mount unit for NFS."""
    return unit_of(mount).removesuffix(".service") if mount.kind == "fuse" else mount.unit
