"""A virtual host: its NICs, each with its own addresses, gateway and routing table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_interface
from typing import Any

RAIL = 77
"""Protocol number of the routes that align rails (none of iproute2's own), so that they can be found again."""

FIRST_TABLE = 100
"""Routing table of the first NIC; NIC n has table 100 + n."""


def host_batch(nics: Sequence[dict[str, Any]]) -> list[str]:
    """`ip` commands that set up all NICs of a host (see `topology.Nic`)."""
    lines = ["link set lo up"]
    for number in range(len(nics)):
        lines += nic_batch(nics, number)
    return lines


def nic_batch(nics: Sequence[dict[str, Any]], number: int) -> list[str]:
    """`ip` commands for NIC `number`: traffic from its address, or bound to it, leaves by it. The first NIC also has the default route."""
    nic = nics[number]
    lines = [f"link set {nic['name']} up"]
    for address, gateway in ((nic["address4"], nic["gateway4"]), (nic["address6"], nic["gateway6"])):
        if address:
            lines += _family(nic["name"], FIRST_TABLE + number, address, gateway)
            if number == 0:
                lines.append(f"route replace default via {gateway} dev {nic['name']}")
    return lines


def _family(name: str, table: int, address: str, gateway: str) -> Iterator[str]:
    own = address.split("/", maxsplit=1)[0]
    six = ":" in address
    yield f"addr replace {address} dev {name}{' nodad' if six else ''}"
    yield f"route replace default via {gateway} dev {name} table {table}"
    sign = "-6 " if six else ""
    yield f"{sign}rule add from {own} lookup {table} priority {table}"
    yield f"{sign}rule add oif {name} lookup {table} priority {table}"


def rail_batch(nics: Sequence[dict[str, Any]], others: Iterable[Sequence[dict[str, Any]]]) -> list[str]:
    """`ip` commands so that what goes to rail n of another host leaves by NIC n, from its address.

    RDMA chooses its NIC by itself; programs that use TCP leave that to the kernel, which would take the first one for all.
    """
    return [
        f"route replace {ip_interface(peer['address4']).network} via {nic['gateway4']} dev {nic['name']} "
        f"src {nic['address4'].split('/')[0]} proto {RAIL}"
        for other in others
        for nic, peer in zip(nics, other, strict=False)
        if nic["address4"] and peer["address4"]
    ]


def without_rules(lines: Sequence[str]) -> list[str]:
    """The same without rules, which stay when an interface goes and comes back."""
    return [line for line in lines if "rule add " not in line]
