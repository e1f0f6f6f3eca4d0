"""The formulas behind the numbers of devices, ports and zones, written out with their values."""

from __future__ import annotations

from fabric.design.fabric import Fabric
from fabric.design.figures import figures
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Port, Switch
from fabric.errors import FabricError
from fabric.words import counted

Path = tuple[str | int, ...]
Fact = tuple[str, str, str, Path | None]
"""(value, meaning, formula, spec path that decides it)."""


def device_facts(fabric: Fabric, switch: Switch) -> dict[str, Fact]:
    """Facts of a switch by name: asn, router_id, loopback, management, prefix (RTSW), state."""
    n, spec = fabric.numbering, fabric.spec
    number, how = _number(fabric, switch)
    facts: dict[str, Fact] = {
        "asn": (str(switch.asn), "AS number", _asn(fabric, switch), ("bgp", "asn", switch.role)),
        "router_id": (
            fmt4(switch.router_id),
            "BGP router id",
            f"first address of {spec.plan.router_ids} + {number}; {how}",
            ("addressing", "router_ids"),
        ),
        "management": (
            fmt4(switch.management),
            "management address",
            f"first address of {spec.mgmt.network} + {spec.mgmt.reserved} reserved + {number}; {how}",
            ("management", "network"),
        ),
        "state": (
            switch.state,
            "deployment state",
            "the last entry of `state` that matches, else deployed",
            ("state",),
        ),
    }
    if switch.loopback6 is not None and spec.plan.ipv6 is not None:
        pool = spec.plan.ipv6.loopbacks
        facts["loopback"] = (
            fmt6(switch.loopback6),
            "IPv6 loopback",
            f"first address of {pool} + {number}; {how}",
            ("addressing", "ipv6", "loopbacks"),
        )
    if switch.role == "rtsw":
        four, six = fabric.rack_prefix(switch.zone, switch.number)
        shown = [f"{fmt4(four.base)}/{four.length}"] if four else []
        shown += [f"{fmt6(six.base)}/{six.length}"] if six else []
        formula = (
            f"rack index (zone {switch.zone} - 1) x {n.racks} + (rack {switch.number} - 1), times {n.nics} NIC links"
        )
        facts["prefix"] = (", ".join(shown), "prefix of the rack's NIC links", formula, ("addressing",))
    return facts


def _number(fabric: Fabric, switch: Switch) -> tuple[int, str]:
    n = fabric.numbering
    if switch.role == "atsw":
        return n.atsw(switch.number), "an ATSW's number is its own"
    base = f"{n.zone_base} + (zone {switch.zone} - 1) x {n.zone_block}"
    if switch.role == "rtsw":
        return n.rtsw(switch.zone, switch.number), f"{base} + rack {switch.number}"
    return n.ctsw(switch.zone, switch.number), f"{base} + {n.racks} rack numbers + CTSW {switch.number}"


def _asn(fabric: Fabric, switch: Switch) -> str:
    n, asn = fabric.numbering, fabric.spec.bgp.asn
    if switch.role == "rtsw":
        return f"{asn.rtsw} + (zone {switch.zone} - 1) x {n.asn_racks} + (rack {switch.number} - 1)"
    return f"{asn.ctsw} + (zone {switch.zone} - 1)" if switch.role == "ctsw" else f"{asn.atsw}, one for all ATSWs"


def port_facts(fabric: Fabric, switch: Switch) -> dict[str, Fact]:
    """Facts of each used port of a switch, by NOS name: its addresses, what is at the other end, the link's index and pool."""
    found: dict[str, Fact] = {}
    for port in fabric.ports(switch):
        local = [fmt4(port.local4) + "/31"] if port.local4 is not None else []
        local += [f"{fmt6(port.local6)}/{port.len6}"] if port.local6 is not None else []
        end = f"{port.peer} {port.peer_port}" if port.peer else "nothing yet"
        cable = f"{port.cabled.cable}, {port.cabled.length_m:g} m, {port.cabled.speed_gbps}G"
        meaning = f"{port.role} port {port.index} to {end} ({cable})"
        found[port.slot.name] = (" ".join(local) or "-", meaning, _link_formula(fabric, switch, port), None)
    return found


def _link_formula(fabric: Fabric, switch: Switch, port: Port) -> str:
    n, pools = fabric.numbering, fabric.pools
    if port.role == "front-end":
        return "reserved for the link to the rack's front-end switch"
    if port.role == "host":
        pool, base4, base6, stride = "host_links", pools.host4, pools.host6, 1 << 64
        how = f"(rack index) x {n.nics} + (unit - 1) x {n.nics_per_host} + NIC from 0"
    elif switch.role == "rtsw" or port.peer_role == "rtsw":
        pool, base4, base6, stride = "rtsw_links", pools.rtsw4, pools.rtsw6, 2
        how = f"(rack index) x {n.uplinks} + (uplink - 1)"
    else:
        pool, base4, base6, stride = "ctsw_links", pools.ctsw4, pools.ctsw6, 2
        how = f"((zone - 1) x {n.uplinks} + CTSW - 1) x {n.ctsw_uplinks} + (uplink - 1)"
    index = 0
    if base4 is not None and port.local4 is not None:
        index = (port.local4 - base4) // 2
    elif base6 is not None and port.local6 is not None:
        index = (port.local6 - base6) // stride
    return f"link {index:,} of addressing.{pool}: {how}; rack index = (zone - 1) x {n.racks} + rack - 1; the upper end is even"


def zone_facts(fabric: Fabric, number: int) -> dict[str, Fact]:
    """Figures of a zone by name: ratio, port_ratio, rack_ratio, spare, power."""
    zone = next((zone for zone in figures(fabric).zones if zone.number == number), None)
    if zone is None:
        raise FabricError(f"there is no zone {number}", hint="zones are " + ", ".join(str(key) for key in fabric.zones))
    hosts = zone.racks * zone.rtsw.gbps_down
    return {
        "ratio": (
            f"1:{float(zone.host_ratio):.3f}" if zone.host_ratio else "-",
            "NIC bandwidth against CTSW uplink bandwidth",
            f"{counted(zone.racks, 'rack')} x {zone.rtsw.gbps_down}G = {hosts}G over {counted(zone.ctsws, 'CTSW')} x {zone.ctsw.gbps_up}G",
            ("backend", "ctsw", "uplinks"),
        ),
        "port_ratio": (
            f"1:{float(zone.ctsw.by_port):.3f}" if zone.ctsw.by_port else "-",
            "downlinks against uplinks of one CTSW",
            f"{zone.ctsw.ports_down} downlinks over {zone.ctsw.ports_up} uplinks",
            ("backend", "ctsw", "uplinks"),
        ),
        "rack_ratio": (
            f"1:{float(zone.rtsw.by_bandwidth):.3f}" if zone.rtsw.by_bandwidth else "-",
            "NIC bandwidth of a rack against its RTSW uplinks (below 1 = room to spare)",
            f"{zone.rtsw.gbps_down}G down over {zone.rtsw.gbps_up}G up",
            ("backend", "rack_profiles", zone.profile, "uplinks"),
        ),
        "spare": (
            str(zone.spare),
            "CTSWs that may fail with full bisection left inside the zone",
            f"{zone.ctsws} uplinks - ceil({zone.rtsw.gbps_down}G / {zone.rtsw.gbps_up // max(zone.ctsws, 1)}G)",
            ("backend", "rack_profiles", zone.profile, "uplinks"),
        ),
        "power": (
            zone.power,
            "power of a rack" if zone.rack_watts_whole else "power of a rack's GPUs alone",
            "hosts x hosts.power_w" if zone.rack_watts_whole else "hosts x GPUs x TDP of the catalog",
            ("hosts", "power_w"),
        ),
    }
