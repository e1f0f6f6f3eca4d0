"""What a device's configuration says of its ends of BGP sessions and links: what the far end must match for them to come up.

A change of it on one device alone takes the session or link down until the far end is changed too.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """This end of a session, as text of its configuration; `port` is the NOS port that it goes over, "" when that is not known."""

    local_asn: str
    remote_asn: str
    local_address: str
    families: tuple[str, ...] = ()
    port: str = ""


@dataclass(frozen=True, slots=True)
class Ends:
    """Sessions by the peer's address (canonical), links by the NOS port: its state, speed and error correction."""

    sessions: Mapping[str, SessionEnd] = field(default_factory=dict)
    links: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


FarEnds = Mapping[str, tuple[str, str]]
"""NOS port -> (device, NOS port) at the other end of its cable."""


def canonical(address: str) -> str:
    """An address in the form in which two can be compared; other text as it is."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address


class Subnets:
    """Finds the interface, and its own address, that an address is next to."""

    def __init__(self, addresses: Iterable[tuple[str, str]]) -> None:
        """`addresses`: (interface, `10.0.0.1/31`); what is no address is left out."""
        self._found: dict[tuple[int, int, int], tuple[str, str]] = {}
        for name, text in addresses:
            try:
                own = ipaddress.ip_interface(text)
            except ValueError:
                continue
            length = own.network.prefixlen
            self._found[own.version, length, int(own.network.network_address)] = (name, str(own.ip))
        self._lengths = sorted({key[:2] for key in self._found}, reverse=True)

    def next_to(self, address: str) -> tuple[str, str]:
        """(interface, its address); two empty texts when there is none."""
        try:
            peer = ipaddress.ip_address(address)
        except ValueError:
            return "", ""
        for version, length in self._lengths:
            if version == peer.version:
                shift = peer.max_prefixlen - length
                found = self._found.get((version, length, int(peer) >> shift << shift))
                if found:
                    return found
        return "", ""
