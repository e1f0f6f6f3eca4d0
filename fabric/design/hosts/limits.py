"""What the catalog says of a host model, as a host's checks need it."""

from __future__ import annotations

from fabric.catalog.parts import HostModel
from fabric.design.hosts.expect import ExpectedLimits, ExpectedPlatform


def expected_platform(model: HostModel) -> ExpectedPlatform:
    """The platform; what the catalog does not say is 0 or "", and not checked."""
    health = model.health
    return ExpectedPlatform(
        name=model.name,
        gpus=model.gpus.value,
        gpu=model.gpu,
        pcie_speed=health.pcie_speed.value if health and health.pcie_speed else "",
        pcie_width=health.pcie_width.value if health and health.pcie_width else 0,
        nvlinks=health.nvlinks.value if health and health.nvlinks else 0,
    )


def expected_limits(model: HostModel) -> ExpectedLimits:
    """The thresholds of the model's checks; none without `health` in the catalog."""
    health = model.health
    if health is None:
        return ExpectedLimits()
    return ExpectedLimits(
        ecc_sram=health.ecc_sram.value,
        ecc_dram=health.ecc_dram.value,
        remapped_rows=health.remapped_rows.value,
        xids=health.xids.values,
        xid_hours=health.xid_hours.value,
        flaps=health.flaps.value,
        flap_hours=health.flap_hours.value,
        clock_offset_ms=health.clock_offset_ms.value,
    )
