"""Ports, VLANs and interfaces of agent.conf: one SVI a port, numbered by the port's stable index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Port, Switch
from fabric.errors import FabricError
from fabric.targets.fboss.box import Box, Json
from fabric.targets.fboss.schema import enum_value

LOOPBACK_VLAN = 10
DEFAULT_VLAN = 4094
DOWN_BASE, UP_BASE = 2000, 4000
"""VLAN (and interface) number = base + the port's index from 1 (Meta's numbers: fboss.md section 4)."""

MOST_UPLINKS = DEFAULT_VLAN - UP_BASE - 1
"""Uplinks that have a VLAN number below the default VLAN."""

MIRROR = "sflow"
_RA_SECONDS = 4  # the reference example's interval; the other NDP values are the IDL's defaults
_MIN_FRAME = 64


@dataclass(frozen=True, slots=True)
class PortFacts:
    """What all ports of a switch, or all of one role, have in common. `templates`: port role -> the fields that never differ."""

    templates: dict[str, Json]
    box: Box
    mtu: int
    four: bool
    sai: bool


def template(frame: int, more: Json) -> Json:
    """The fields of a port that do not tell it from others of its role; `more` are those of the role."""
    return {
        "portType": enum_value("PortType.INTERFACE_PORT"),
        "routable": True,
        "parserType": enum_value("ParserType.L3"),
        "minFrameSize": _MIN_FRAME,
        "maxFrameSize": frame,
        "loopbackMode": enum_value("PortLoopbackMode.NONE"),
        "drainState": enum_value("PortDrainState.UNDRAINED"),
        "pause": {"tx": False, "rx": False},
        "lookupClasses": [],
        **more,
    }


def vlan_of(port: Port) -> int:
    """VLAN, and interface, of a port; the default VLAN for a port without addresses (front-end)."""
    if port.role == "front-end":
        return DEFAULT_VLAN
    if port.role == "up":
        if port.index > MOST_UPLINKS:
            raise FabricError(f"port {port.slot.name}: uplink {port.index} has no VLAN number, {MOST_UPLINKS} is the last that has")
        return UP_BASE + port.index
    return DOWN_BASE + port.index


def port_entries(ports: Sequence[Port], facts: PortFacts) -> list[Json]:
    """`ports`: the used ones; under the native SDK also those that they subsume, which must be listed as disabled."""
    made = [_port(port, facts) for port in ports]
    if not facts.sai:
        made += _subsumed(ports, facts)
    return made


def _port(port: Port, facts: PortFacts) -> Json:
    slot = port.slot
    assert slot.logical_id is not None and slot.profile is not None  # noqa: PT018  # the design gives both under FBOSS
    lldp = {_LLDP_PORT: port.peer_port, _LLDP_NAME: port.peer} if port.enabled else {}
    return {
        "logicalID": slot.logical_id,
        "name": slot.name,
        "description": _description(port),
        "state": _ENABLED if port.enabled else _DISABLED,
        "speed": facts.box.speeds[slot.profile],
        "profileID": slot.profile,
        "ingressVlan": vlan_of(port),
        "expectedLLDPValues": lldp,
        **facts.templates[port.role],
    }


_ENABLED = enum_value("PortState.ENABLED")
_DISABLED = enum_value("PortState.DISABLED")
_FORWARDING = enum_value("SpanningTreeState.FORWARDING")
_SVI = enum_value("InterfaceType.VLAN")
_LLDP_PORT = str(enum_value("LLDPTag.PORT"))
_LLDP_NAME = str(enum_value("LLDPTag.SYSTEM_NAME"))


def _description(port: Port) -> str:
    if port.role == "front-end":
        return "reserved: link to the front-end rack switch"
    word = "up" if port.role == "up" else "down"
    return f"{word} {port.peer}:{port.peer_port}" + ("" if port.enabled else " (planned)")


def _subsumed(ports: Sequence[Port], facts: PortFacts) -> list[Json]:
    """Ports whose lanes an enabled port uses (native SDK: they must be there, and disabled)."""
    known = facts.box.inventory.ports
    made: list[Json] = []
    for port in ports:
        if not port.enabled:
            continue
        for logical in known[port.slot.logical_id or 0].profiles[port.slot.profile or 0]:
            profile = min(known[logical].profiles)
            made.append(
                {
                    "logicalID": logical,
                    "name": known[logical].name,
                    "description": f"lanes used by {port.slot.name}",
                    "state": _DISABLED,
                    "speed": facts.box.speeds[profile],
                    "profileID": profile,
                    "ingressVlan": DEFAULT_VLAN,
                    **facts.templates["front-end"],
                }
            )
    return made


def vlans(ports: Sequence[Port]) -> list[Json]:
    """`vlans`: one a port with addresses, then the loopback's and the default one."""
    made = [_vlan(number, f"vlan{number}", number) for number in map(vlan_of, ports) if number != DEFAULT_VLAN]
    made.append(_vlan(LOOPBACK_VLAN, "fbossLoopback0", LOOPBACK_VLAN))
    made.append(_vlan(DEFAULT_VLAN, "default", None))
    return made


def _vlan(number: int, name: str, interface: int | None) -> Json:
    made: Json = {"id": number, "name": name, "recordStats": True, "routable": interface is not None}
    if interface is not None:
        made["intfID"] = interface
    made["ipAddresses"] = []
    return made


def vlan_ports(entries: Sequence[Json]) -> list[Json]:
    """`vlanPorts`: each port of `port_entries` untagged in its VLAN."""
    return [
        {
            "vlanID": entry["ingressVlan"],
            "logicalPort": entry["logicalID"],
            "spanningTreeState": _FORWARDING,
            "emitTags": False,
        }
        for entry in entries
    ]


def interfaces(switch: Switch, ports: Sequence[Port], facts: PortFacts) -> list[Json]:
    """`interfaces`: the SVI of each port with addresses, then the loopback."""
    made = [_interface(port, facts.mtu) for port in ports if port.role != "front-end"]
    addresses = [] if switch.loopback6 is None else [f"{fmt6(switch.loopback6)}/128"]
    if facts.four:
        addresses.append(f"{fmt4(switch.router_id)}/32")
    made.append(_svi(LOOPBACK_VLAN, "fbossLoopback0", facts.mtu, addresses, virtual=True))
    return made


def _interface(port: Port, mtu: int) -> Json:
    number = vlan_of(port)
    addresses = [] if port.local6 is None else [f"{fmt6(port.local6)}/{port.len6}"]
    if port.local4 is not None:
        addresses.append(f"{fmt4(port.local4)}/31")
    made = _svi(number, f"fboss{number}", mtu, addresses, virtual=False)
    if port.role == "host" and port.local6 is not None:
        made["ndp"] = _NDP  # hosts learn their gateway from router advertisements; switches do not
    return made


def _svi(number: int, name: str, mtu: int, addresses: list[str], *, virtual: bool) -> Json:
    return {
        "intfID": number,
        "routerID": 0,
        "vlanID": number,
        "name": name,
        "mtu": mtu,
        "type": _SVI,
        "isVirtual": virtual,
        "isStateSyncDisabled": False,
        "ipAddresses": addresses,
    }


_NDP: Json = {
    "routerAdvertisementSeconds": _RA_SECONDS,
    "curHopLimit": 255,
    "routerLifetime": 1800,
    "prefixValidLifetimeSeconds": 2_592_000,
    "prefixPreferredLifetimeSeconds": 604_800,
    "routerAdvertisementManagedBit": False,
    "routerAdvertisementOtherBit": False,
}
