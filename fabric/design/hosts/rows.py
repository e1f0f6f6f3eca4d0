"""The hosts in the order of the fabric, each made when it is asked for.

A row follows from the host's place alone; nothing is kept but the design, so that a fleet may be sent to another process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from fabric.design.fabric import Fabric, ZonePlan
from fabric.design.hosts.model import BackendNic, HostPlan, NcclSetting
from fabric.design.ib.model import Hca, Subnet
from fabric.design.ib.partitions import DEFAULT_PKEY
from fabric.design.model import Host, Port
from fabric.spec.hosts import HostNetwork

FIRST_TABLE = 101
"""Routing table of the first back-end NIC; our choice: iproute2 keeps 253 to 255, small numbers are common elsewhere."""


class _Rows(Sequence[HostPlan]):
    """What both back ends share: names to places, and one host at a time."""

    __slots__ = ("_places",)

    def __init__(self) -> None:
        self._places: dict[str, int] | None = None

    def _names(self) -> Iterator[str]:
        raise NotImplementedError

    def deployed(self) -> Iterator[str]:
        """Names of the hosts that are not only planned, in their order; none of them is made for it."""
        raise NotImplementedError

    def _at(self, index: int) -> HostPlan:
        raise NotImplementedError

    def named(self, name: str) -> HostPlan:
        """The host of that name; KeyError when there is none."""
        if self._places is None:
            self._places = {known: index for index, known in enumerate(self._names())}
        return self._at(self._places[name])

    @overload
    def __getitem__(self, index: int) -> HostPlan: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[HostPlan]: ...
    def __getitem__(self, index: int | slice) -> HostPlan | Sequence[HostPlan]:
        if isinstance(index, slice):
            return [self._at(place) for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return self._at(place)


class RoceRows(_Rows):
    """Hosts of a RoCE fabric, by zone, rack and unit."""

    __slots__ = ("_domain", "_fabric", "_hcas", "_last", "_pci")

    def __init__(self, fabric: Fabric) -> None:
        super().__init__()
        self._fabric = fabric
        self._domain = fabric.spec.site.domain
        self._hcas = fabric.platform.hcas.value
        self._pci = pci_of(fabric.spec.hosts.network, len(fabric.nic_names))
        self._last: tuple[tuple[int, int], list[HostPlan]] = (0, 0), []  # one rack: hosts are asked for in their order

    def __len__(self) -> int:
        return sum(plan.racks * plan.profile.hosts for plan in self._fabric.zones.values())

    def _names(self) -> Iterator[str]:
        return (host.name for host in self._fabric.hosts())

    def deployed(self) -> Iterator[str]:
        """See `_Rows.deployed`."""
        return (host.name for host in self._fabric.hosts() if host.state != "planned")

    def __iter__(self) -> Iterator[HostPlan]:
        for plan in self._fabric.zones.values():
            for rack in range(1, plan.racks + 1):
                yield from self._rack(plan, rack)

    def _at(self, index: int) -> HostPlan:
        for plan in self._fabric.zones.values():
            inside = plan.racks * plan.profile.hosts
            if index < inside:
                rack, unit = divmod(index, plan.profile.hosts)
                place, hosts = self._last
                if place != (plan.number, rack + 1):
                    hosts = self._rack(plan, rack + 1)
                    self._last = (plan.number, rack + 1), hosts
                return hosts[unit]
            index -= inside
        raise IndexError(index)

    def _rack(self, plan: ZonePlan, rack: int) -> list[HostPlan]:
        fabric = self._fabric
        switch = fabric.by_name[fabric.rtsw_name(plan.number, rack)]
        ports, nics = list(fabric.host_ports(switch)), len(self._pci)
        return [
            self._host(host, switch.name, ports[place * nics : (place + 1) * nics])
            for place, host in enumerate(fabric.hosts_of(plan.number, rack))
        ]

    def _host(self, host: Host, switch: str, ports: list[Port]) -> HostPlan:
        nics = tuple(self._nic(rail, switch, port) for rail, port in enumerate(ports))
        fqdn = f"{host.name}.{self._domain}"
        return HostPlan(host.name, fqdn, host.zone, host.rack, host.unit, switch, host.state, nics)

    def _nic(self, rail: int, switch: str, port: Port) -> BackendNic:
        """Seen from the host: what is the port's peer address is the NIC's own."""
        return BackendNic(
            rail, port.peer_port, self._hcas[rail], self._pci[rail], switch, port.slot.name, port.cabled.speed_gbps,
            port.cabled.length_m, FIRST_TABLE + rail, port.peer4, port.local4, 31, port.peer6, port.local6, port.len6,
        )  # fmt: skip


class IbRows(_Rows):
    """GPU hosts of an InfiniBand subnet, by number. Services have no GPUs and are none of them."""

    __slots__ = ("_hcas", "_ipoib", "_lines", "_links", "_nics", "_pci", "_subnet")

    def __init__(self, subnet: Subnet, lines: dict[str, tuple[NcclSetting, ...]]) -> None:
        super().__init__()
        self._subnet, self._lines = subnet, lines
        self._hcas = subnet.compute
        self._ipoib = [part for part in subnet.partitions if part.ipoib is not None and part.pkey != DEFAULT_PKEY]
        self._links = {link.b: link for link in subnet.links if link.tier == "host"}
        self._nics = len({hca.rail for hca in self._hcas})
        self._pci = pci_of(subnet.spec.hosts.network, self._nics)

    def __len__(self) -> int:
        return len(self._hcas) // self._nics

    def _names(self) -> Iterator[str]:
        return (hca.host for hca in self._hcas[:: self._nics])

    def deployed(self) -> Iterator[str]:
        """See `_Rows.deployed`."""
        return (hca.host for hca in self._hcas[:: self._nics] if hca.state != "planned")

    def __iter__(self) -> Iterator[HostPlan]:
        return (self._at(index) for index in range(len(self)))

    def _at(self, index: int) -> HostPlan:
        hcas = self._hcas[index * self._nics : (index + 1) * self._nics]
        first, spec = hcas[0], self._subnet.spec
        rack, unit = divmod(index, spec.infiniband.hosts_per_rack)
        nics = tuple(self._nic(hca) for hca in hcas)
        fqdn = f"{first.host}.{spec.site.domain}"
        block = f"su{first.unit:03d}"
        lines = self._lines.get(first.host, ())
        pkeys = tuple(part.pkey for part in self._ipoib if first.port_guid in part.members)
        return HostPlan(first.host, fqdn, first.unit, rack + 1, unit + 1, block, first.state, nics, lines, pkeys)

    def _nic(self, hca: Hca) -> BackendNic:
        link = self._links[hca.name]
        return BackendNic(
            hca.rail, f"ib{hca.rail}", hca.device, self._pci[hca.rail], link.a, str(link.a_port),
            link.cabled.speed_gbps, link.cabled.length_m, FIRST_TABLE + hca.rail, guid=hca.port_guid,
        )  # fmt: skip


def pci_of(network: HostNetwork | None, nics: int) -> tuple[str | None, ...]:
    """PCI address by rail, as declared; all None where nothing is."""
    declared = network.backend_pci if network else None
    return tuple(declared) if declared else (None,) * nics
