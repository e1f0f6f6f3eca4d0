"""Hosts, NICs, cables and racks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fabric.catalog.base import Evidence, Medium, Model, Sourced, SourcedNames
from fabric.catalog.health import HostHealth


class PcieGroup(Model):
    """One PCIe switch of a host and the GPUs and backend NICs under it, by index."""

    pcie_switch: str
    gpus: tuple[int, ...]
    nics: tuple[int, ...]


class PcieGroups(Evidence):
    """The PCIe groups of a host."""

    groups: tuple[PcieGroup, ...]


class HostModel(Model):
    """One GPU host: counts, backend NICs in GPU order, names on the host."""

    name: str
    title: str
    vendor: str
    gpu: str
    gpus: Sourced[int]
    gpu_tdp_w: Sourced[int] | None = None
    backend_nics: Sourced[int]
    backend_speed_gbps: Sourced[int]
    nic: Sourced[str] = Field(description="name of the NIC's catalog file")
    rails: Sourced[int]
    backend_ifnames: SourcedNames | None = Field(default=None, description="netdev names in rail order")
    hcas: SourcedNames = Field(description="RDMA device names in rail order")
    front_end_nics: Sourced[int] | None = None
    front_end_speed_gbps: Sourced[int] | None = None
    cpus: Sourced[int] | None = None
    height_ou: Sourced[int] | None = Field(default=None, description="height in Open Rack units")
    pcie: PcieGroups | None = None
    health: HostHealth | None = Field(default=None, description="thresholds of the checks of a host")
    notes: tuple[str, ...] = ()


class FirmwareSetting(Evidence):
    """One firmware parameter (mlxconfig). `value` may hold `{cnp_dscp}`, `{cnp_priority}`, `{cc_mask}` of the fabric's QoS."""

    key: str
    value: str
    backend: Literal["roce", "infiniband"] | None = None


class NicModel(Model):
    """One NIC."""

    name: str
    title: str
    vendor: str
    speed_gbps: Sourced[int]
    device_id: Sourced[str] | None = None
    vendor_id: Sourced[str] | None = None
    node_description: Sourced[str] | None = Field(default=None, description="until the host sets its own")
    firmware: tuple[FirmwareSetting, ...] = Field(
        default=(), description="in the order in which they are set: a parameter may un-hide those after it"
    )
    notes: tuple[str, ...] = ()


class CableModel(Model):
    """One kind of cable or pair of optics with fibre.

    `lanes` are those of the medium. `max_length_m` None: no length was found in any public text read. `twin`: one
    module carries two links.
    """

    name: str
    title: str
    technology: Literal["ethernet", "infiniband"]
    medium: Medium
    speed_gbps: Sourced[int] = Field(description="of one link")
    lanes: Sourced[int] | None = None
    max_length_m: Sourced[int] | None = None
    twin: bool = False
    connector: str | None = None
    fboss_media: str | None = Field(default=None, description="media code of FBOSS's qsfp_service")
    part: str | None = Field(default=None, description="maker's part number of the module")
    notes: tuple[str, ...] = ()


class RackModel(Model):
    """One rack standard and the power that it delivers."""

    name: str
    title: str
    power_kw: Sourced[float]
    busbar_v: Sourced[int] | None = None
    power_shelves: Sourced[str] | None = None
    notes: tuple[str, ...] = ()
