"""Ports, VLANs and interfaces of agent.conf: one SVI a port, numbered by the port's stable index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Port, Switch
from fabric.errors import DesignError
from fabric.targets.fboss import wire
from fabric.targets.fboss.box import Box, Json
from fabric.targets.fboss.rows import ROW_DEPTH, Rows, Template, template
from fabric.targets.fboss.schema import enum_value
from fabric.targets.fboss.strict import checked_raw

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
    """What the ports of equal switches have in common: templates by port role, of the SVIs ("loopback" among them) by kind.

    `lists` keeps `vlans` and `vlanPorts` by the ports' VLANs and ids: they are the same on nearly all switches of a kind.
    """

    ports: Mapping[str, Template]
    svis: Mapping[str, Template]
    box: Box
    four: bool
    sai: bool
    lists: dict[tuple[tuple[int, int], ...], VlanLists]


@dataclass(frozen=True, slots=True)
class VlanLists:
    """`vlans` and `vlanPorts` as objects and as checked text."""

    vlans: list[Json]
    vlan_ports: list[Json]
    vlans_text: list[wire.Raw]
    vlan_ports_text: list[wire.Raw]


def port_template(frame: int, more: Json) -> Template:
    """The fields of a port that do not tell it from others of its role; `more` are those of the role."""
    fields = {
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
    return template("Port", fields)


def svi_templates(mtu: int, *, six: bool) -> dict[str, Template]:
    """Templates of the interfaces. Hosts learn their gateway from router advertisements; switches do not."""
    common: Json = {
        "routerID": 0,
        "mtu": mtu,
        "type": enum_value("InterfaceType.VLAN"),
        "isVirtual": False,
        "isStateSyncDisabled": False,
    }
    plain = template("Interface", common)
    return {
        "host": template("Interface", {**common, "ndp": _NDP}) if six else plain,
        "down": plain,
        "up": plain,
        "loopback": template("Interface", {**common, "isVirtual": True}),
    }


def vlan_of(port: Port) -> int:
    """VLAN, and interface, of a port; the default VLAN for a port without addresses (front-end)."""
    if port.role == "front-end":
        return DEFAULT_VLAN
    if port.role == "up":
        if port.index > MOST_UPLINKS:
            raise DesignError(
                ("backend",),
                f"port {port.slot.name}: uplink {port.index} has no VLAN number, {MOST_UPLINKS} is the last that has",
            )
        return UP_BASE + port.index
    return DOWN_BASE + port.index


def port_rows(ports: Sequence[Port], facts: PortFacts) -> Rows:
    """`ports`: the used ones; under the native SDK also those that they subsume, which must be listed as disabled."""
    own = [_port(port, facts) for port in ports]
    templates = [facts.ports[port.role] for port in ports]
    if not facts.sai:
        subsumed = _subsumed(ports, facts)
        own += subsumed
        templates += [facts.ports["front-end"]] * len(subsumed)
    return Rows("Port", own, templates)


def _port(port: Port, facts: PortFacts) -> Json:
    slot = port.slot
    profile = (
        slot.profile or 0
    )  # the design gives one to every port under FBOSS; PROFILE_DEFAULT (0) has no speed, hence a KeyError
    lldp = {_LLDP_PORT: port.peer_port, _LLDP_NAME: port.peer} if port.enabled else {}
    return {
        "logicalID": slot.logical_id,
        "name": slot.name,
        "description": _description(port),
        "state": _ENABLED if port.enabled else _DISABLED,
        "speed": facts.box.speeds[profile],
        "profileID": profile,
        "ingressVlan": vlan_of(port),
        "expectedLLDPValues": lldp,
    }


_ENABLED = enum_value("PortState.ENABLED")
_DISABLED = enum_value("PortState.DISABLED")
_FORWARDING = enum_value("SpanningTreeState.FORWARDING")
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
                }
            )
    return made


def vlan_lists(rows: Rows, facts: PortFacts) -> VlanLists:
    """`vlans` and `vlanPorts` of the rows of ports: each port untagged in its VLAN; also the loopback's VLAN and the default one."""
    key = tuple((own["ingressVlan"], own["logicalID"]) for own in rows.own)
    found = facts.lists.get(key)
    if found is None:
        found = facts.lists[key] = _vlan_lists(key)
    return found


def _vlan_lists(key: tuple[tuple[int, int], ...]) -> VlanLists:
    vlans = [_vlan(number, f"vlan{number}", number) for number, _ in key if number != DEFAULT_VLAN]
    vlans.append(_vlan(LOOPBACK_VLAN, "fbossLoopback0", LOOPBACK_VLAN))
    vlans.append(_vlan(DEFAULT_VLAN, "default", None))
    members = [
        {"vlanID": vlan, "logicalPort": logical, "spanningTreeState": _FORWARDING, "emitTags": False}
        for vlan, logical in key
    ]
    return VlanLists(
        vlans,
        members,
        [checked_raw("Vlan", row, depth=ROW_DEPTH) for row in vlans],
        [checked_raw("VlanPort", row, depth=ROW_DEPTH) for row in members],
    )


def _vlan(number: int, name: str, interface: int | None) -> Json:
    made: Json = {"id": number, "name": name, "recordStats": True, "routable": interface is not None}
    if interface is not None:
        made["intfID"] = interface
    made["ipAddresses"] = []
    return made


def interface_rows(switch: Switch, ports: Sequence[Port], facts: PortFacts) -> Rows:
    """`interfaces`: the SVI of each port with addresses, then the loopback."""
    routed = [port for port in ports if port.role != "front-end"]
    own = [_interface(port) for port in routed]
    addresses = [] if switch.loopback6 is None else [f"{fmt6(switch.loopback6)}/128"]
    if facts.four:
        addresses.append(f"{fmt4(switch.router_id)}/32")
    own.append(_svi(LOOPBACK_VLAN, "fbossLoopback0", addresses))
    return Rows("Interface", own, [*(facts.svis[port.role] for port in routed), facts.svis["loopback"]])


def _interface(port: Port) -> Json:
    number = vlan_of(port)
    addresses = [] if port.local6 is None else [f"{fmt6(port.local6)}/{port.len6}"]
    if port.local4 is not None:
        addresses.append(f"{fmt4(port.local4)}/31")
    return _svi(number, f"fboss{number}", addresses)


def _svi(number: int, name: str, addresses: list[str]) -> Json:
    return {"intfID": number, "vlanID": number, "name": name, "ipAddresses": addresses}


_NDP: Json = {
    "routerAdvertisementSeconds": _RA_SECONDS,
    "curHopLimit": 255,
    "routerLifetime": 1800,
    "prefixValidLifetimeSeconds": 2_592_000,
    "prefixPreferredLifetimeSeconds": 604_800,
    "routerAdvertisementManagedBit": False,
    "routerAdvertisementOtherBit": False,
}
