"""Addresses are ints inside; these functions write them down.

`socket.inet_ntop` is several times faster than the `ipaddress` classes, and gives the canonical form of RFC 5952.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Network, IPv6Network


def fmt4(address: int) -> str:
    """Dotted form of an IPv4 address."""
    return f"{address >> 24}.{address >> 16 & 255}.{address >> 8 & 255}.{address & 255}"


def fmt6(address: int) -> str:
    """RFC 5952 form of an IPv6 address."""
    return socket.inet_ntop(socket.AF_INET6, address.to_bytes(16, "big"))


def pool_base(pool: IPv4Network | IPv6Network) -> int:
    """First address of a pool."""
    return int(pool.network_address)


def pool_size(pool: IPv4Network | IPv6Network) -> int:
    """Number of addresses in a pool."""
    return pool.num_addresses


def pow2(count: int) -> int:
    """The smallest power of two that is not below `count` (count >= 1)."""
    return 1 << (count - 1).bit_length()
