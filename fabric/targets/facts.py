"""What a device says of itself, in one shape for all kinds: what `verify` and the health gates look at.

Readers in the targets fill these; a field that the device did not answer is None (unknown), never a guess.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Version:
    """Software and hardware as reported."""

    hostname: str
    model: str | None
    image: str | None
    uptime_s: float | None


@dataclass(frozen=True, slots=True)
class LldpNeighbor:
    """One neighbour heard on a port. `port` is the local NOS name; the rest as received, quotes stripped; None when not sent."""

    port: str
    system_name: str | None
    port_id: str | None
    port_description: str | None
    chassis_id: str | None


@dataclass(frozen=True, slots=True)
class BgpSession:
    """One BGP session. `state` is in lower case ("established", "idle", ...); counts are None when not reported."""

    peer: str
    remote_asn: int | None
    state: str
    received: int | None
    accepted: int | None
    description: str | None


@dataclass(frozen=True, slots=True)
class NextHop:
    """One next hop of a route: address or None (connected), and the NOS interface when it is known."""

    address: str | None
    interface: str | None


@dataclass(frozen=True, slots=True)
class Route:
    """One route of the forwarding table: prefix as text in canonical form, its equal-cost next hops, protocol ("bgp", "connected", ...)."""

    prefix: str
    next_hops: tuple[NextHop, ...]
    protocol: str | None


@dataclass(frozen=True, slots=True)
class InterfaceState:
    """One interface: admin and operational state, MTU in bytes, speed in Gb/s; None when not reported."""

    name: str
    admin_up: bool | None
    oper_up: bool
    mtu: int | None
    speed_gbps: int | None
    description: str | None
