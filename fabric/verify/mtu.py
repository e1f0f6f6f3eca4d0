"""MTU: what the interfaces say, and what passes from host to host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from fabric.design.fabric import Fabric
from fabric.design.ip import fmt4, fmt6
from fabric.design.model import Host, Switch
from fabric.verify.finding import Finding
from fabric.verify.lldp_names import port_key
from fabric.verify.observed import Network

HEADERS = {4: 28, 6: 48}
"""IP and ICMP header bytes in front of a ping's payload (RFC 791, 792, 8200, 4443)."""
SMALL = 56
"""Payload of an ordinary ping, in bytes."""
SHOWN = 8


class Prober(Protocol):
    """Sends pings from hosts."""

    def ping(self, src_host: str, dst_address: str, size: int, df: bool) -> bool | None:
        """Whether an echo of `size` payload bytes comes back, unfragmented when `df`; None when it could not be sent."""


def judge_interfaces(fabric: Fabric, network: Network) -> Iterator[Finding]:
    """MTU of every fabric port of every switch that was read: one finding a switch and wrong value."""
    want = fabric.spec.mtu.ip
    for switch in fabric.switches:
        device = network.get(switch.name)
        if device is not None and device.interfaces is not None:
            mtus = {port_key(state.name): state.mtu for state in device.interfaces}
            yield from _switch(fabric, switch, mtus, want)


def _switch(fabric: Fabric, switch: Switch, mtus: dict[str, int | None], want: int) -> Iterator[Finding]:
    by_value: dict[int | None, list[str]] = {}
    for port in fabric.ports(switch):
        if port.enabled:
            by_value.setdefault(mtus.get(port_key(port.slot.name)), []).append(port.slot.name)
    for value, ports in by_value.items():
        expected = f"IP MTU {want:,}"
        if value == want:
            yield Finding("routing.mtu", switch.name, "pass", expected, expected, "", (), (switch.name,), len(ports))
        elif value is None:
            subject = _ports(switch, ports)
            yield Finding(
                "routing.mtu", subject, "unknown", "the device does not say the MTU", expected, "", (), (switch.name,), len(ports)
            )  # fmt: skip
        else:
            action = "apply the declared configuration (fabric plan shows the difference)"
            yield Finding(
                "routing.mtu", _ports(switch, ports), "fail", f"IP MTU {value:,}", expected, action, (), (switch.name,), len(ports)
            )  # fmt: skip


def _ports(switch: Switch, ports: Sequence[str]) -> str:
    more = f" and {len(ports) - SHOWN:,} more" if len(ports) > SHOWN else ""
    return f"{switch.name}:{','.join(ports[:SHOWN])}{more}"


def host_pairs(fabric: Fabric, *, full: bool) -> Iterator[tuple[Host, Host]]:
    """Pairs to probe: each host to the next one, and to its like in the next zone, so that every host, rack and zone is crossed;
    all ordered pairs when `full`. Planned and drained hosts are left out.
    """
    hosts = [host for host in fabric.hosts() if host.state == "deployed" and _rack_is_there(fabric, host)]
    if full:
        yield from ((one, two) for one in hosts for two in hosts if one is not two)
        return
    for place, host in enumerate(hosts):
        if len(hosts) > 1:
            yield host, hosts[(place + 1) % len(hosts)]
    zones = sorted({host.zone for host in hosts})
    like = {(host.zone, host.rack, host.unit): host for host in hosts}
    for host in hosts:
        zone = zones[(zones.index(host.zone) + 1) % len(zones)]
        other = like.get((zone, host.rack, host.unit))
        if zone != host.zone and other is not None:
            yield host, other


def _rack_is_there(fabric: Fabric, host: Host) -> bool:
    return fabric.by_name[fabric.rtsw_name(host.zone, host.rack)].state != "planned"


@dataclass(frozen=True, slots=True)
class Probe:
    """One ping to make: from a host to the address of another's first NIC."""

    src: str
    dst: str
    version: int
    address: str


def probes(fabric: Fabric, *, full: bool, racks: frozenset[str] | None = None) -> list[Probe]:
    """The pings of `host_pairs` in each family; only from hosts of the racks of the RTSWs `racks` when given."""
    return [
        Probe(one.name, two.name, version, address)
        for one, two in dict.fromkeys(host_pairs(fabric, full=full))
        if racks is None or fabric.rtsw_name(one.zone, one.rack) in racks
        for version, address in _addresses(fabric, two)
    ]


def _addresses(fabric: Fabric, host: Host) -> Iterable[tuple[int, str]]:
    """(IP version, address) of a host's first NIC."""
    index = fabric.numbering.host_link(host.zone, host.rack, host.unit, 0)
    if fabric.pools.host4 is not None:
        yield 4, fmt4(fabric.pools.host4 + 2 * index + 1)
    if fabric.pools.host6 is not None:
        yield 6, fmt6(fabric.pools.host6 + (index << 64) + 2)


def judge_path(fabric: Fabric, prober: Prober, probe: Probe) -> Finding:
    """A ping of exactly the declared MTU with "do not fragment"; when it is lost, a small one tells MTU from reachability."""
    mtu = fabric.spec.mtu.ip
    subject, names = f"{probe.src} -> {probe.dst} ({probe.address})", (probe.src, probe.dst)
    expected = f"packets of {mtu:,} bytes pass unfragmented"
    answer = prober.ping(probe.src, probe.address, mtu - HEADERS[probe.version], True)
    if answer:
        return Finding("routing.path-mtu", subject, "pass", expected, expected, "", (), names)
    small = None if answer is None else prober.ping(probe.src, probe.address, SMALL, False)
    if answer is None or small is None:
        return unsent(fabric, probe, "no ping could be sent")
    if small:
        text = f"packets of {mtu:,} bytes are lost, small ones pass"
        action = "look for the interface with a smaller MTU on the way: routing.mtu names it, else it is a host's"
        return Finding("routing.path-mtu", subject, "fail", text, expected, action, (), names)
    action = "check the host's link and its addresses, then the routes of both racks"
    return Finding(
        "routing.reach", subject, "fail", "no answer, not even to a small ping", "an answer", action, (), names
    )


def unsent(fabric: Fabric, probe: Probe, why: str) -> Finding:
    """The finding on a probe that could not be made."""
    expected = f"packets of {fabric.spec.mtu.ip:,} bytes pass unfragmented"
    subject = f"{probe.src} -> {probe.dst} ({probe.address})"
    return Finding("routing.path-mtu", subject, "unknown", why, expected, "", (), (probe.src, probe.dst))
