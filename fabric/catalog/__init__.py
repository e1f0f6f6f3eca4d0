"""The catalog: what switches, line cards, ASICs, hosts, NICs, cables and racks can do, each number with its source.

`catalog().switch("minipack2").port_map("grand-teton").downlinks` are the ports of the GPU NICs of a Grand Teton rack.
"""

from __future__ import annotations

from fabric.catalog.asic import AsicModel, BufferSet, HeadroomTable
from fabric.catalog.base import Evidence, Medium, Model, Sourced, Status
from fabric.catalog.chassis import CardSpeed, Chassis, ChassisPort, LineCard
from fabric.catalog.infiniband import InfiniBandSide
from fabric.catalog.loader import KINDS, Catalog, catalog
from fabric.catalog.parts import CableModel, HostModel, NicModel, RackModel
from fabric.catalog.portmap import PortMap
from fabric.catalog.ports import PortDef, Profile, ProfileOnPort
from fabric.catalog.switch import EosSide, FbossSide, SwitchModel

__all__ = [
    "KINDS",
    "AsicModel",
    "BufferSet",
    "CableModel",
    "CardSpeed",
    "Catalog",
    "Chassis",
    "ChassisPort",
    "EosSide",
    "Evidence",
    "FbossSide",
    "HeadroomTable",
    "HostModel",
    "InfiniBandSide",
    "LineCard",
    "Medium",
    "Model",
    "NicModel",
    "PortDef",
    "PortMap",
    "Profile",
    "ProfileOnPort",
    "RackModel",
    "Sourced",
    "Status",
    "SwitchModel",
    "catalog",
]
