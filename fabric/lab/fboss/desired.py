"""What an agent.conf asks of the kernel, as plain values: no process, no file, no socket."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any, NamedTuple

Json = dict[str, Any]

_ENABLED = 2  # PortState.ENABLED
_INTERFACE_ON_PORT = 3  # InterfaceType.PORT
_DEFAULT_MTU = 1500  # of an interface without `mtu`: fboss.md section 4
_ECMP = 1  # LoadBalancerID.ECMP


class PortWish(NamedTuple):
    """One Linux interface. `addresses` are canonical address/length texts; `ra_s` 0 = no router advertisements."""

    port: str
    up: bool
    mtu: int
    description: str
    addresses: frozenset[str]
    ra_s: int


class Wish(NamedTuple):
    """All that is programmed.

    `ports` by Linux name, `loopback` = addresses of lo, `routes` = prefix -> next hops (none = discard), `l4_hash` whether ECMP
    looks at L4 ports, `notes` = what is declared and not imitated, for the log.
    """

    ports: Mapping[str, PortWish]
    loopback: frozenset[str]
    routes: Mapping[str, frozenset[str]]
    l4_hash: bool
    notes: tuple[str, ...]


def items(holder: Json, key: str) -> list[Json]:
    """The list under `key`; [] when it is absent or null."""
    return holder.get(key) or []


def wish(
    conf: Json, links: Mapping[str, str], shut: frozenset[str] = frozenset(), opened: frozenset[str] = frozenset()
) -> Wish:
    """What `conf` (checked) asks; `links` = FBOSS port -> Linux name, `shut` and `opened` = ports that an operator set by hand."""
    sw = conf["sw"]
    homes, notes = port_interfaces(sw)
    ports: dict[str, PortWish] = {}
    configured = {port.get("name") or "": port for port in items(sw, "ports")}
    for name, link in links.items():
        port = configured.get(name, {})
        svi = homes.get(port.get("logicalID", -1), {})
        ports[link] = PortWish(
            port=name,
            up=name in opened or (port.get("state") == _ENABLED and name not in shut),
            mtu=svi.get("mtu") or _DEFAULT_MTU,
            description=port.get("description") or "",
            addresses=frozenset(canonical(text) for text in svi.get("ipAddresses", [])),
            ra_s=(svi.get("ndp") or {}).get("routerAdvertisementSeconds", 0),
        )
    loopback = frozenset(
        canonical(text) for svi in items(sw, "interfaces") if svi.get("isVirtual") for text in svi["ipAddresses"]
    )
    return Wish(ports, loopback, _routes(sw), _l4_hash(sw), tuple(notes))


def port_interfaces(sw: Json) -> tuple[dict[int, Json], list[str]]:
    """Logical port id -> its interface, and what of it cannot be imitated (a VLAN of several ports is not a bridge here)."""
    members: dict[int, list[int]] = {}
    for row in items(sw, "vlanPorts"):
        members.setdefault(row.get("vlanID", 0), []).append(row.get("logicalPort", 0))
    homes: dict[int, Json] = {}
    notes: list[str] = []
    for svi in items(sw, "interfaces"):
        if svi.get("type") == _INTERFACE_ON_PORT:
            homes[svi["portID"]] = svi
        elif not svi.get("isVirtual"):
            found = members.get(svi.get("vlanID", 0), [])
            if found:
                homes[found[0]] = svi
            if len(found) > 1:
                notes.append(f"VLAN {svi.get('vlanID')}: of its {len(found)} ports only {found[0]} has its interface")
    return homes, notes


def canonical(text: str) -> str:
    """`address/length` in the one form that the kernel prints; no length = host route."""
    return str(ipaddress.ip_interface(text))


def _routes(sw: Json) -> dict[str, frozenset[str]]:
    made: dict[str, frozenset[str]] = {}
    for key in ("staticRoutesToNull", "staticRoutesToCPU"):
        for row in items(sw, key):
            made[_prefix(row["prefix"])] = frozenset()
    for row in items(sw, "staticRoutesWithNhops"):
        made[_prefix(row["prefix"])] = frozenset(str(ipaddress.ip_address(hop)) for hop in row.get("nexthops", []))
    return made


def _prefix(text: str) -> str:
    return str(ipaddress.ip_network(text, strict=False))


def _l4_hash(sw: Json) -> bool:
    for balancer in items(sw, "loadBalancers"):
        if balancer.get("id") == _ECMP:
            return bool((balancer.get("fieldSelection") or {}).get("transportFields"))
    return False
