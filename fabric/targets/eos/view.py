"""What the templates see: one slots object a device, every text ready to be written (jinja2 is fast on slots, slow on dicts)."""

from __future__ import annotations

from dataclasses import dataclass

from fabric.catalog import EosSide, catalog
from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Switch
from fabric.errors import FabricError
from fabric.targets.eos.view_bgp import BgpView, bgp_view
from fabric.targets.eos.view_management import ManagementView, management_view
from fabric.targets.eos.view_policy import PolicyView, policy_view
from fabric.targets.eos.view_ports import PortView, port_views
from fabric.targets.eos.view_qos import QosView, qos_view


@dataclass(frozen=True, slots=True)
class HashView:
    """Bytes of the RoCE header that the hash of a sand chassis takes besides its own fields."""

    name: str
    udp_port: int
    payload: str


@dataclass(frozen=True, slots=True)
class DeviceView:
    """One device. `loopback4`, `loopback6` are addresses with length, empty where the family is not used."""

    name: str
    family: str
    mtu: int
    loopback4: str
    loopback6: str
    ports: list[PortView]
    management: ManagementView
    hashing: HashView | None
    qos: QosView
    policy: PolicyView
    bgp: BgpView


QP_HASH = HashView("ROCE", 4791, "5-7")
"""Destination queue pair: the three bytes 5 to 7 of the base transport header after UDP port 4791.

Source: AVD `load_balance.policies.sand_profiles`; FBOSS UdfTestUtils.h has the same bytes (offset 13 from the UDP header, 3 wide).
"""


def eos_side(switch: Switch) -> EosSide:
    """The catalog's EOS facts of a switch; FabricError when its model does not run EOS."""
    side = catalog().switch(switch.model).eos
    if side is None:
        raise FabricError(f"{switch.name}: {switch.model} does not run EOS")
    return side


def device_view(fabric: Fabric, switch: Switch) -> DeviceView:
    """The view of an EOS switch; FabricError for a model that EOS does not run on."""
    side = eos_side(switch)
    ports = fabric.ports(switch)
    extended = fabric.spec.load_balancing.method != "ecmp" and side.family == "sand"
    return DeviceView(
        name=switch.name,
        family=side.family,
        mtu=fabric.spec.mtu.ip,
        loopback4=f"{fmt4(switch.router_id)}/32" if uses_ipv4(fabric) else "",
        loopback6="" if switch.loopback6 is None else f"{fmt6(switch.loopback6)}/128",
        ports=port_views(switch, ports),
        management=management_view(fabric, switch, side.management_interface.value),
        hashing=QP_HASH if extended else None,
        qos=qos_view(fabric.spec.qos, switch.model, side.family),
        policy=policy_view(fabric, switch),
        bgp=bgp_view(fabric, switch, ports),
    )


def uses_ipv4(fabric: Fabric) -> bool:
    """Does the fabric route IPv4."""
    return fabric.pools.host4 is not None
