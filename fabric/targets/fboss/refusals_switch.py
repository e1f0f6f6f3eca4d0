"""What FBOSS refuses of the switch settings, VLANs, interfaces and static routes (reference: fboss.md 12.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fabric.targets.fboss.problem import Problem, join
from fabric.targets.fboss.refusals_base import (
    Json,
    Row,
    Rule,
    View,
    has,
    ip,
    is_mac,
    is_version,
    items,
    member,
    network,
    number,
    rows,
    text,
    twice,
)
from fabric.targets.fboss.schema import enum_value

_DEFAULT_RANGE = (0, 2047)
"""What a portIdRange of 0..0 means (SwitchIdScopeResolver)."""

_SETTINGS = "sw.switchSettings"


def _infos(view: View) -> list[Row]:
    path = f"{_SETTINGS}.switchIdToSwitchInfo"
    return [
        (join(path, key), info)
        for key, info in member(member(view.sw, "switchSettings"), "switchIdToSwitchInfo").items()
    ]


def _voq(view: View) -> bool:
    kind = enum_value("SwitchType.VOQ")
    return any(info.get("switchType") == kind for _, info in _infos(view))


def switch_info(view: View) -> Iterator[Problem]:
    """`switchIdToSwitchInfo`: not empty, one kind of switch, the ASIC of the box, and a range for every port."""
    infos = _infos(view)
    if not infos:
        yield Problem(f"{_SETTINGS}.switchIdToSwitchInfo", "must not be empty")
        return
    kinds = {number(info, "switchType") for _, info in infos}
    if {enum_value("SwitchType.VOQ"), enum_value("SwitchType.NPU")} <= kinds:
        yield Problem(f"{_SETTINGS}.switchIdToSwitchInfo", "mixes VOQ and NPU switches")
    for path, info in infos:
        if number(info, "asicType") != view.asic.asic_type:
            yield Problem(
                f"{path}.asicType", f"is not {view.asic.name} ({view.asic.asic_type}), the ASIC of this switch"
            )
    ranges = [_id_range(info) for _, info in infos]
    for path, port in view.ports:
        logical = number(port, "logicalID")
        if not any(low <= logical <= high for low, high in ranges):
            yield Problem(f"{path}.logicalID", f"{logical} is outside every portIdRange")


def _id_range(info: Json) -> tuple[int, int]:
    found = member(info, "portIdRange")
    low, high = number(found, "minimum"), number(found, "maximum")
    return _DEFAULT_RANGE if (low, high) == (0, 0) else (low, high)


def settings(view: View) -> Iterator[Problem]:
    """Single values of switchSettings."""
    found = member(view.sw, "switchSettings")
    if len(items(found, "exactMatchTableConfigs")) > 1:
        yield Problem(f"{_SETTINGS}.exactMatchTableConfigs", "takes at most one entry")
    if has(found, "ecmpWidth"):
        width = found["ecmpWidth"]
        if width <= 0:
            yield Problem(f"{_SETTINGS}.ecmpWidth", f"must be above 0, not {width}")
        elif width > view.asic.ecmp_width:
            yield Problem(f"{_SETTINGS}.ecmpWidth", f"{width} is above the {view.asic.ecmp_width} of {view.asic.name}")
    if not _voq(view):
        for key in ("minLinksToRemainInVOQDomain", "minLinksToJoinVOQDomain"):
            if has(found, key):
                yield Problem(f"{_SETTINGS}.{key}", "is for VOQ switches only")
    if view.sai and found.get("qcmEnable"):
        yield Problem(f"{_SETTINGS}.qcmEnable", "is refused by SAI")


def _macs(view: View) -> Iterator[tuple[str, str | None]]:
    sw = view.sw
    for path, info in _infos(view):
        yield f"{path}.switchMac", info.get("switchMac")
    yield "sw.cpuMAC", sw.get("cpuMAC")
    for path, interface in rows(sw, "interfaces", "sw.interfaces"):
        yield f"{path}.mac", interface.get("mac")
    if has(sw, "lacp"):
        yield "sw.lacp.systemID", text(sw["lacp"], "systemID")
    for path, block in rows(member(sw, "switchSettings"), "macAddrsToBlock", f"{_SETTINGS}.macAddrsToBlock"):
        yield f"{path}.macAddress", text(block, "macAddress")
    for path, entry in rows(sw, "staticMacAddrs", "sw.staticMacAddrs"):
        yield f"{path}.macAddress", text(entry, "macAddress")


def mac_addresses(view: View) -> Iterator[Problem]:
    """Every MAC address but those of ACLs."""
    for path, value in _macs(view):
        if value is not None and not is_mac(value):
            yield Problem(path, f"{value!r} is not a MAC address")


def vlans(view: View) -> Iterator[Problem]:
    """VLAN ids once, the default VLAN among them, each (VLAN, port) pair once."""
    sw = view.sw
    ids = [(f"{path}.id", number(vlan, "id")) for path, vlan in rows(sw, "vlans", "sw.vlans")]
    yield from twice(ids, lambda vlan: f"VLAN {vlan} is declared twice")
    default = number(sw, "defaultVlan")
    if default and default not in {vlan for _, vlan in ids}:
        yield Problem("sw.defaultVlan", f"VLAN {default} is not in vlans")
    pairs = [
        (path, (number(entry, "vlanID"), number(entry, "logicalPort")))
        for path, entry in rows(sw, "vlanPorts", "sw.vlanPorts")
    ]
    yield from twice(pairs, lambda pair: f"port {pair[1]} is in VLAN {pair[0]} twice")


def interfaces(view: View) -> Iterator[Problem]:
    """Interface ids, the VLAN or port under each, addresses."""
    sw = view.sw
    found = list(rows(sw, "interfaces", "sw.interfaces"))
    ids = [(f"{path}.intfID", number(interface, "intfID")) for path, interface in found]
    yield from twice(ids, lambda intf: f"interface {intf} is declared twice")
    kinds = {name: enum_value(f"InterfaceType.{name}") for name in ("VLAN", "SYSTEM_PORT", "PORT")}
    voq = _voq(view)
    for path, interface in found:
        kind = number(interface, "type", kinds["VLAN"])
        if kind == kinds["PORT"]:
            yield from _port_interface(view, path, interface)
        elif has(interface, "portID"):
            yield Problem(f"{path}.portID", "is only for interfaces of type PORT")
        if kind == kinds["SYSTEM_PORT"] and not voq:
            yield Problem(f"{path}.type", "SYSTEM_PORT is for VOQ switches only")
    on_vlan = [row for row in found if number(row[1], "type", kinds["VLAN"]) == kinds["VLAN"]]
    yield from _interface_vlans(view, on_vlan)


def _port_interface(view: View, path: str, interface: Json) -> Iterator[Problem]:
    if not has(interface, "portID"):
        yield Problem(f"{path}.portID", "an interface of type PORT needs it")
    elif interface["portID"] not in view.port_ids:
        yield Problem(f"{path}.portID", f"port {interface['portID']} is not configured")


def _interface_vlans(view: View, found: list[Row]) -> Iterator[Problem]:
    known = {number(vlan, "id") for vlan in items(view.sw, "vlans")}
    for path, interface in found:
        if number(interface, "vlanID") not in known:
            yield Problem(f"{path}.vlanID", f"VLAN {number(interface, 'vlanID')} does not exist")
    default = number(view.sw, "defaultVlan")
    used = [(f"{path}.vlanID", number(interface, "vlanID")) for path, interface in found]
    yield from twice([use for use in used if use[1] != default], lambda vlan: f"VLAN {vlan} has two interfaces")


def port_vlans(view: View) -> Iterator[Problem]:
    """Every enabled port has an interface: through its VLANs, or of type PORT."""
    sw = view.sw
    port_kind, vlan_kind = enum_value("InterfaceType.PORT"), enum_value("InterfaceType.VLAN")
    routed = items(sw, "interfaces")
    with_port = {number(i, "portID") for i in routed if number(i, "type", vlan_kind) == port_kind}
    with_vlan = {number(i, "vlanID") for i in routed if number(i, "type", vlan_kind) == vlan_kind}
    of_port: dict[int, list[int]] = {}
    for entry in items(sw, "vlanPorts"):
        of_port.setdefault(number(entry, "logicalPort"), []).append(number(entry, "vlanID"))
    for path, port in view.enabled:
        logical = number(port, "logicalID")
        if logical in with_port:
            continue
        if logical not in of_port:
            yield Problem(path, f"enabled port {logical} is in no VLAN and has no interface of type PORT")
        for vlan in of_port.get(logical, ()):
            if vlan not in with_vlan:
                yield Problem(path, f"enabled port {logical} is in VLAN {vlan}, which has no interface")


def addresses(view: View) -> Iterator[Problem]:
    """Interface addresses parse, stand once, and no subnet is on two interfaces of one router."""
    subnets: dict[tuple[int, tuple[int, int, int]], str] = {}
    for path, interface in rows(view.sw, "interfaces", "sw.interfaces"):
        own: set[tuple[int, int]] = set()
        router = number(interface, "routerID")
        for at, value in enumerate(items(interface, "ipAddresses")):
            found = network(value)
            if found is None:
                yield Problem(f"{path}.ipAddresses[{at}]", f"{value!r} is not an address with a prefix length")
                continue
            if found[:2] in own:
                yield Problem(f"{path}.ipAddresses[{at}]", f"the address of {value} stands twice on this interface")
            own.add(found[:2])
            first = path if found.link_local else subnets.setdefault((router, found.subnet), path)
            if first != path:
                yield Problem(f"{path}.ipAddresses[{at}]", f"the subnet {found} is on {first} already")
        yield from _router_address(path, interface, own)


def _router_address(path: str, interface: Json, own: set[tuple[int, int]]) -> Iterator[Problem]:
    value = member(interface, "ndp").get("routerAddress")
    if value is None:
        return
    found = network(value) if is_version(value, 6) else None
    if found is None:
        yield Problem(f"{path}.ndp.routerAddress", f"{value!r} is not an IPv6 address")
    elif found[:2] not in own and not found.link_local:
        yield Problem(f"{path}.ndp.routerAddress", f"{value} is neither an address of the interface nor link-local")


_ONE_RELAY = {
    f"{name}V{version}": version
    for name in ("dhcpRelayAddress", "dhcpRelaySrcOverride", "dhcpReplySrcOverride")
    for version in (4, 6)
} | {"icmpV4UnavailableSrcAddress": 4}
_MANY_RELAYS = {"dhcpRelayOverridesV4": 4, "dhcpRelayOverridesV6": 6}


def _relay_addresses(view: View) -> Iterator[tuple[str, str, int]]:
    sw = view.sw
    for path, holder in [("sw", sw), *rows(sw, "vlans", "sw.vlans"), *rows(sw, "interfaces", "sw.interfaces")]:
        for key in _ONE_RELAY.keys() & holder.keys():
            if has(holder, key):
                yield f"{path}.{key}", holder[key], _ONE_RELAY[key]
        for key in _MANY_RELAYS.keys() & holder.keys():
            for name, value in member(holder, key).items():
                yield join(f"{path}.{key}", name), value, _MANY_RELAYS[key]


def relay_addresses(view: View) -> Iterator[Problem]:
    """DHCP relay and override addresses, and the source of ICMP unavailable messages."""
    for path, value, version in sorted(_relay_addresses(view)):
        if not is_version(value, version):
            yield Problem(path, f"{value!r} is not an IPv{version} address")


def routes(view: View) -> Iterator[Problem]:
    """Static routes and aggregate ports."""
    for key in ("staticRoutesWithNhops", "staticRoutesToNull", "staticRoutesToCPU"):
        for path, route in rows(view.sw, key, f"sw.{key}"):
            if network(text(route, "prefix")) is None:
                yield Problem(f"{path}.prefix", f"{text(route, 'prefix')!r} is not a prefix")
            for at, hop in enumerate(items(route, "nexthops")):
                if ip(hop) is None:
                    yield Problem(f"{path}.nexthops[{at}]", f"{hop!r} is not an IP address")
    keys = [(f"{path}.key", number(lag, "key")) for path, lag in rows(view.sw, "aggregatePorts", "sw.aggregatePorts")]
    yield from twice(keys, lambda key: f"aggregate port {key} is declared twice")


def port_count(view: View) -> Iterator[Problem]:
    """Not more ports than the ASIC has, and each logical id once."""
    if len(view.ports) > view.asic.logical_ports:
        yield Problem("sw.ports", f"{len(view.ports)} ports, {view.asic.name} has {view.asic.logical_ports}")
    counted = Counter(number(port, "logicalID") for _, port in view.ports)
    if counted and max(counted.values()) > 1:
        ids = [(f"{path}.logicalID", number(port, "logicalID")) for path, port in view.ports]
        yield from twice(ids, lambda logical: f"port {logical} is declared twice")


RULES: tuple[Rule, ...] = (
    switch_info,
    settings,
    mac_addresses,
    port_count,
    vlans,
    interfaces,
    port_vlans,
    addresses,
    relay_addresses,
    routes,
)
"""The rules of this module, in the order in which their problems are reported."""
