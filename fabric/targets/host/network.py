"""Concern `network`: names of the back-end NICs by PCI slot, their addresses, a routing table each, the front end."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network
from typing import NamedTuple

from fabric.design.hosts.model import BackendNic, HostFleet, HostPlan
from fabric.design.ip import fmt4, fmt6
from fabric.targets.host.concern import LIBEXEC, SCRIPT, UNITS, File
from fabric.targets.host.templates import Pattern, fill, gap

NETWORKD = "/etc/systemd/network"
KEYFILES = "/etc/NetworkManager/system-connections"
_FIRST = "05-fabric"  # before what netplan writes (10-netplan-*): the first file that matches a NIC wins
_FULL = 0x8000  # the membership bit of a P_Key
_ETHERNET, _INFINIBAND = 1, 32  # ARPHRD_* of linux/if_arp.h


def shared(fleet: HostFleet) -> Iterator[File]:
    """Names, the front end, and for InfiniBand the IPoIB interfaces."""
    nics = fleet.hosts[0].nics if len(fleet.hosts) else ()
    if nics and nics[0].pci:
        link = _ETHERNET if fleet.backend == "roce" else _INFINIBAND
        yield File("/etc/udev/rules.d/70-fabric-names.rules", fill("names.rules", nics=nics, link=link))
    manager = fleet.distribution.network == "networkmanager"
    names = [nic.name for nic in nics]
    if manager and (fleet.backend == "roce" or _ipoib(fleet)):
        yield File("/etc/NetworkManager/conf.d/50-fabric.conf", fill("carrier.conf", names=names))
    if _ipoib(fleet):
        yield from _keyed("ipoib", names) if manager else _one("ipoib", names, {"mtu": fleet.mtu})
        yield File(f"{LIBEXEC}/ipoib", fill("ipoib.sh"), SCRIPT)
        unit = fill("ipoib.service", libexec=LIBEXEC, doca="doca" in fleet.versions)
        yield File(f"{UNITS}/fabric-ipoib.service", unit)
    if fleet.spec.hosts.network is not None and fleet.spec.hosts.network.dhcp:
        front = list(fleet.front_end)
        yield from _keyed("frontend", front) if manager else _one("frontend", front, {})


def own(fleet: HostFleet, plan: HostPlan) -> Iterator[File]:
    """Addresses and routes of each back-end NIC (RoCE), or the partitions of IP over InfiniBand."""
    if _ipoib(fleet):
        rows = [(nic.name, f"{_FULL | pkey:#06x}") for nic in plan.nics for pkey in plan.pkeys]
        yield File("/etc/fabric/ipoib.conf", fill("ipoib.conf", rows=rows))
    if fleet.backend != "roce":
        return
    pool4, pool6 = _pools(fleet)
    networkd = fleet.distribution.network == "networkd"
    kind = "backend.network" if networkd else "backend.nmconnection"
    for nic in plan.nics:
        len4, len6 = nic.len4 if nic.local4 is not None else 0, nic.len6 if nic.local6 is not None else 0
        shape = _Shape(kind, nic.name, nic.rail, nic.table, fleet.mtu, pool4, len4, pool6, len6)
        content = _pattern(shape).fill(_addresses(nic))
        if networkd:
            yield File(f"{NETWORKD}/{_FIRST}-{nic.name}.network", content)
        else:
            yield File(f"{KEYFILES}/fabric-{nic.name}.nmconnection", content, 0o600)


def services(fleet: HostFleet) -> tuple[str, ...]:
    """The service that configures the NICs, and ours for the partitions of IP over InfiniBand."""
    manager = "systemd-networkd.service" if fleet.distribution.network == "networkd" else "NetworkManager.service"
    return (manager, "fabric-ipoib.service") if _ipoib(fleet) else (manager,)


def _ipoib(fleet: HostFleet) -> bool:
    network = fleet.spec.hosts.network
    return fleet.backend == "infiniband" and network is not None and network.ipoib


def _one(kind: str, names: list[str], values: dict[str, object]) -> Iterator[File]:
    yield File(f"{NETWORKD}/{_FIRST}-{kind}.network", fill(f"{kind}.network", names=names, **values))


def _keyed(kind: str, names: list[str]) -> Iterator[File]:
    """NetworkManager takes a keyfile only when nobody else can read it."""
    for name in names:
        yield File(f"{KEYFILES}/fabric-{name}.nmconnection", fill(f"{kind}.nmconnection", name=name), 0o600)


def _pools(fleet: HostFleet) -> tuple[str, str]:
    """All back-end addresses of the cluster, by family; "" for a family that is not used."""
    plan = fleet.spec.plan
    return (_text(plan.ipv4.host_links) if plan.ipv4 else "", _text(plan.ipv6.host_links) if plan.ipv6 else "")


@lru_cache(maxsize=64)  # asked for by every host
def _text(pool: IPv4Network | IPv6Network) -> str:
    return str(pool)


def _addresses(nic: BackendNic) -> dict[str, str]:
    """What differs from NIC to NIC and host to host, as text."""
    return {
        "switch": nic.switch,
        "port": nic.switch_port,
        "local4": "" if nic.local4 is None else fmt4(nic.local4),
        "peer4": "" if nic.peer4 is None else fmt4(nic.peer4),
        "local6": "" if nic.local6 is None else fmt6(nic.local6),
        "peer6": "" if nic.peer6 is None else fmt6(nic.peer6),
    }


class _Shape(NamedTuple):
    """What the NICs of one rail have in common over all hosts."""

    kind: str
    name: str
    rail: int
    table: int
    mtu: int
    pool4: str
    len4: int
    pool6: str
    len6: int


@lru_cache(maxsize=1024)
def _pattern(shape: _Shape) -> Pattern:
    gaps = {key: gap(key) for key in ("switch", "port", "local4", "peer4", "local6", "peer6")}
    return Pattern(fill(shape.kind, nic=shape, **gaps))
