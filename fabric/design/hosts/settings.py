"""Kernel settings and NIC firmware parameters: the catalog's, those that follow from the fabric, and the spec's own."""

from __future__ import annotations

from fabric.catalog import HostModel, catalog
from fabric.design.hosts.model import RoceQos, Setting
from fabric.spec.cluster import ClusterSpec


def sysctls_of(spec: ClusterSpec) -> tuple[Setting, ...]:
    """Kernel settings: the catalog's for this back end, in its order, then the spec's own by name."""
    rows = {
        entry.key: Setting(entry.key, entry.value, entry.source)
        for entry in catalog().host_settings().settings
        if entry.backend in (None, spec.backend.kind)
    }
    own = {key.replace("/", "."): value for key, value in sorted(spec.hosts.tuning.sysctls.items())}
    rows.update({key: Setting(key, value, "hosts.tuning.sysctls") for key, value in own.items()})
    return tuple(rows.values())


def derived_firmware(spec: ClusterSpec, platform: HostModel, qos: RoceQos | None) -> tuple[Setting, ...]:
    """Firmware parameters of the NIC model for this back end, the fabric's classes put in."""
    model = catalog().nic(spec.hosts.nic or platform.nic.value)
    words = {"cnp_dscp": "", "cnp_priority": "", "cc_mask": ""}
    if qos is not None:
        mask = "255" if qos.dcqcn else "0"
        words = {"cnp_dscp": str(qos.cnp_dscp), "cnp_priority": str(qos.cnp_priority), "cc_mask": mask}
    return tuple(
        Setting(entry.key, entry.value.format(**words), entry.source)
        for entry in model.firmware
        if entry.backend in (None, spec.backend.kind)
    )


def firmware_of(spec: ClusterSpec, platform: HostModel, qos: RoceQos | None) -> tuple[Setting, ...]:
    """All firmware parameters in the order in which they are set; the spec's own in place of, or behind, the derived ones."""
    own = dict(spec.hosts.software.firmware) if spec.hosts.software else {}
    said = "hosts.software.firmware"
    rows = [
        Setting(row.key, own.pop(row.key), said) if row.key in own else row
        for row in derived_firmware(spec, platform, qos)
    ]
    return (*rows, *(Setting(key, value, said) for key, value in own.items()))
