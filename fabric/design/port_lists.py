"""The ports of one switch, in order, each with the port at its other end, its addresses and its cable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fabric.design.model import Host, Port, Switch

if TYPE_CHECKING:
    from fabric.design.fabric import Fabric


def ports(fabric: Fabric, switch: Switch) -> list[Port]:
    """See Fabric.ports."""
    if switch.role == "rtsw":
        return [*host_ports(fabric, switch), *_rtsw_up(fabric, switch), *_front_end(fabric, switch)]
    if switch.role == "ctsw":
        return [*_ctsw_down(fabric, switch), *_ctsw_up(fabric, switch)]
    return list(_atsw_down(fabric, switch))


def _pair(base: int | None, index: int, *, upper: bool, stride: int = 2) -> tuple[int | None, int | None]:
    """(local, peer) address of link `index`: the upper end has the even address."""
    if base is None:
        return None, None
    even = base + stride * index
    return (even, even + 1) if upper else (even + 1, even)


def host_ports(fabric: Fabric, switch: Switch) -> Iterator[Port]:
    """The ports of an RTSW towards the NICs of its hosts, by host and rail."""
    plan = fabric.zones[switch.zone]
    cabled = fabric.cabled("host", plan.ports.host_speed_gbps, plan)
    nics = fabric.nic_names
    for host in fabric.hosts_of(switch.zone, switch.number):
        for nic, ifname in enumerate(nics):
            index = fabric.numbering.host_link(switch.zone, switch.number, host.unit, nic)
            local4, peer4 = _pair(fabric.pools.host4, index, upper=True)
            six = None if fabric.pools.host6 is None else fabric.pools.host6 + (index << 64)
            number = (host.unit - 1) * len(nics) + nic
            yield Port(
                plan.ports.downlinks[number], "host", number + 1, cabled, host.name, ifname, 0, "host",
                local4, peer4, None if six is None else six + 1, None if six is None else six + 2, 64,
                _enabled(switch, host),
            )  # fmt: skip


def _rtsw_up(fabric: Fabric, switch: Switch) -> Iterator[Port]:
    plan = fabric.zones[switch.zone]
    if fabric.spec.roce.ctsw is None:
        return
    cabled = fabric.cabled("rtsw", plan.ports.uplink_speed_gbps, plan)
    far = fabric.ctsw_down[plan.ports.uplink_speed_gbps][switch.number - 1].name
    for uplink, peer in enumerate(fabric.tiers["ctsw", switch.zone], start=1):
        index = fabric.numbering.rtsw_link(switch.zone, switch.number, uplink)
        local4, peer4 = _pair(fabric.pools.rtsw4, index, upper=False)
        local6, peer6 = _pair(fabric.pools.rtsw6, index, upper=False)
        yield Port(
            plan.ports.uplinks[uplink - 1], "up", uplink, cabled, peer.name, far, peer.asn, "ctsw",
            local4, peer4, local6, peer6, 127, _enabled(switch, peer),
        )  # fmt: skip


def _front_end(fabric: Fabric, switch: Switch) -> Iterator[Port]:
    plan = fabric.zones[switch.zone]
    if plan.ports.front_end is not None:
        cabled = fabric.cabled("host", plan.ports.host_speed_gbps, plan)
        yield Port(plan.ports.front_end, "front-end", 1, cabled, "", "", 0, "rsw", None, None, None, None, 127, False)


def _ctsw_down(fabric: Fabric, switch: Switch) -> Iterator[Port]:
    plan = fabric.zones[switch.zone]
    speed = plan.ports.uplink_speed_gbps
    cabled = fabric.cabled("rtsw", speed, plan)
    slots = fabric.ctsw_down[speed]
    far = plan.ports.uplinks[switch.number - 1].name
    for rack, peer in enumerate(fabric.tiers["rtsw", switch.zone], start=1):
        index = fabric.numbering.rtsw_link(switch.zone, rack, switch.number)
        local4, peer4 = _pair(fabric.pools.rtsw4, index, upper=True)
        local6, peer6 = _pair(fabric.pools.rtsw6, index, upper=True)
        yield Port(
            slots[rack - 1], "down", rack, cabled, peer.name, far, peer.asn, "rtsw",
            local4, peer4, local6, peer6, 127, _enabled(switch, peer),
        )  # fmt: skip


def _ctsw_up(fabric: Fabric, switch: Switch) -> Iterator[Port]:
    wiring, ctsw = fabric.wiring, fabric.spec.roce.ctsw
    if wiring is None or ctsw is None:
        return
    cabled = fabric.cabled("ctsw", fabric.spine_speed)
    atsws = fabric.tiers["atsw", 0]
    for uplink in range(1, ctsw.uplinks + 1):
        index = fabric.numbering.ctsw_link(switch.zone, switch.number, uplink)
        local4, peer4 = _pair(fabric.pools.ctsw4, index, upper=False)
        local6, peer6 = _pair(fabric.pools.ctsw6, index, upper=False)
        peer = atsws[wiring.atsw(switch.number, uplink) - 1]
        far = fabric.atsw_down[wiring.atsw_port(switch.zone, switch.number, uplink)].name
        yield Port(
            fabric.ctsw_up[-uplink], "up", uplink, cabled, peer.name, far, peer.asn, "atsw",
            local4, peer4, local6, peer6, 127, _enabled(switch, peer),
        )  # fmt: skip


def _atsw_down(fabric: Fabric, switch: Switch) -> Iterator[Port]:
    wiring, ctsw = fabric.wiring, fabric.spec.roce.ctsw
    if wiring is None or ctsw is None:
        return
    cabled = fabric.cabled("ctsw", fabric.spine_speed)
    found = [
        (wiring.atsw_port(plan.number, number, uplink), plan.number, number, uplink)
        for uplink in wiring.uplinks_to(switch.number, ctsw.uplinks)
        for plan in fabric.zones.values()
        for number in range(switch.plane + 1, plan.profile.uplinks + 1, wiring.planes)
    ]
    for place, zone, number, uplink in sorted(found):
        index = fabric.numbering.ctsw_link(zone, number, uplink)
        local4, peer4 = _pair(fabric.pools.ctsw4, index, upper=True)
        local6, peer6 = _pair(fabric.pools.ctsw6, index, upper=True)
        peer = fabric.tiers["ctsw", zone][number - 1]
        yield Port(
            fabric.atsw_down[place], "down", place + 1, cabled, peer.name, fabric.ctsw_up[-uplink].name, peer.asn, "ctsw",
            local4, peer4, local6, peer6, 127, _enabled(switch, peer),
        )  # fmt: skip


def _enabled(switch: Switch, peer: Switch | Host) -> bool:
    """Whether a port towards a peer carries traffic: not while one of the two is only planned."""
    return switch.state != "planned" and peer.state != "planned"
