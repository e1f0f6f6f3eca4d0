"""Do the pools, AS numbers and management addresses hold what the growth slots need, without overlap."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, ip_address
from itertools import pairwise

from fabric.design.fabric import Fabric
from fabric.errors import DesignError
from fabric.words import counted

_A = "addressing"
Net = IPv4Network | IPv6Network


def number_problems(fabric: Fabric) -> Iterator[DesignError]:
    """Pools too small, pools that overlap, AS ranges that meet or run out, a gateway outside its network."""
    pools = list(_pools(fabric))
    for path, pool, needed, why in pools:
        have = pool.num_addresses if pool.version == 4 else pool.num_addresses >> _host_bits(path)
        if needed > have:
            unit = "addresses" if pool.version == 4 or not _host_bits(path) else "/64s"
            yield DesignError(
                path,
                f"{why} need {needed:,} {unit}, {pool} holds {have:,}",
                hint=_bigger(pool, needed, _host_bits(path)),
            )
    yield from _overlaps([(path, pool) for path, pool, _, _ in pools])
    yield from _asn_problems(fabric)
    yield from _gateway(fabric)


def _host_bits(path: tuple[str | int, ...]) -> int:
    return 64 if path[-2:] == ("ipv6", "host_links") else 0


def _bigger(pool: Net, needed: int, host_bits: int) -> str:
    bits = 32 if pool.version == 4 else 128
    return f"a /{bits - host_bits - (needed - 1).bit_length()}, or less room in backend.growth"


def _pools(fabric: Fabric) -> Iterator[tuple[tuple[str | int, ...], Net, int, str]]:
    """(path, pool, addresses needed or /64s for IPv6 host links, the arithmetic)."""
    n, plan, management = fabric.numbering, fabric.spec.addressing, fabric.spec.management
    if plan is None or management is None:
        return
    host = f"{counted(n.zones, 'zone')} x {counted(n.racks, 'rack')} x {counted(n.nics, 'NIC link')}"
    rtsw = f"{counted(n.zones, 'zone')} x {counted(n.racks, 'rack')} x {counted(n.uplinks, 'uplink')}"
    ctsw = f"{counted(n.zones, 'zone')} x {counted(n.uplinks, 'CTSW')} x {counted(n.ctsw_uplinks, 'uplink')}"
    boxes = (
        f"{counted(n.zone_base, 'number')} of ATSWs + {counted(n.zones, 'zone')} x {counted(n.zone_block, 'number')}"
    )
    if plan.ipv4 is not None:
        yield (_A, "ipv4", "host_links"), plan.ipv4.host_links, 2 * n.host_links, f"{host} x 2"
        yield (_A, "ipv4", "rtsw_links"), plan.ipv4.rtsw_links, 2 * n.rtsw_links, f"{rtsw} x 2"
        yield (_A, "ipv4", "ctsw_links"), plan.ipv4.ctsw_links, 2 * n.ctsw_links, f"{ctsw} x 2"
    if plan.ipv6 is not None:
        yield (_A, "ipv6", "host_links"), plan.ipv6.host_links, n.host_links, host
        yield (_A, "ipv6", "rtsw_links"), plan.ipv6.rtsw_links, 2 * n.rtsw_links, f"{rtsw} x 2"
        yield (_A, "ipv6", "ctsw_links"), plan.ipv6.ctsw_links, 2 * n.ctsw_links, f"{ctsw} x 2"
        yield (_A, "ipv6", "loopbacks"), plan.ipv6.loopbacks, n.switches, boxes
    yield (_A, "router_ids"), plan.router_ids, n.switches, boxes
    yield (
        ("management", "network"),
        management.network,
        management.reserved + n.switches + 1,
        f"{management.reserved} reserved addresses + {boxes}",
    )


def _overlaps(pools: list[tuple[tuple[str | int, ...], Net]]) -> Iterator[DesignError]:
    """Neighbours in address order that overlap; one line a pair."""
    for version in (4, 6):
        ordered = sorted(
            ((pool, path) for path, pool in pools if pool.version == version),
            key=lambda item: (int(item[0].network_address), item[0].prefixlen),
        )
        for (first, first_path), (second, second_path) in pairwise(ordered):
            if int(second.network_address) <= int(first.broadcast_address):
                name = ".".join(str(part) for part in first_path)
                yield DesignError(second_path, f"{second} overlaps {first} of {name}")


def _asn_problems(fabric: Fabric) -> Iterator[DesignError]:
    asn, growth = fabric.spec.bgp.asn, fabric.spec.roce.growth
    ranges = [
        (
            "rtsw",
            asn.rtsw,
            growth.zones * growth.racks_per_zone,
            f"{counted(growth.zones, 'zone')} x {counted(growth.racks_per_zone, 'rack')}",
        ),
        ("ctsw", asn.ctsw, growth.zones, counted(growth.zones, "zone")),
        ("atsw", asn.atsw, 1, "the ATSWs"),
    ]
    for name, first, count, why in ranges:
        if first + count - 1 > 4294967294:
            yield DesignError(
                ("bgp", "asn", name),
                f"{why} need AS {first:,} to {first + count - 1:,}, the last usable one is 4,294,967,294",
            )
        for reserved in (23456, 65535):
            if first <= reserved < first + count:
                yield DesignError(
                    ("bgp", "asn", name), f"{why} need AS {first} to {first + count - 1}, but AS {reserved} is reserved"
                )
    ordered = sorted(ranges, key=lambda entry: entry[1])
    for lower, upper in pairwise(ordered):
        if lower[1] + lower[2] > upper[1]:
            yield DesignError(
                ("bgp", "asn", upper[0]),
                f"AS {upper[1]} lies in the range of {lower[0]}: {lower[3]} need AS {lower[1]} to {lower[1] + lower[2] - 1}",
            )


def _gateway(fabric: Fabric) -> Iterator[DesignError]:
    management = fabric.spec.management
    if management is None:
        return
    gateway, network = ip_address(management.gateway), management.network
    if gateway not in network:
        yield DesignError(("management", "gateway"), f"{gateway} is not in the management network {network}")
    elif network.num_addresses > 2 and gateway in (network.network_address, network.broadcast_address):
        yield DesignError(
            ("management", "gateway"), f"{gateway} is the first or last address of {network}, no host can have it"
        )
    elif int(gateway) - int(network.network_address) >= management.reserved:
        yield DesignError(
            ("management", "gateway"),
            f"{gateway} is not among the first {management.reserved} addresses of {network}, so a switch could get it",
            hint="raise management.reserved",
        )
