"""Who sits where: rank -> GPU -> host -> NIC -> cable -> switch port, for RoCE and InfiniBand alike.

What a collective, a flight recorder or a log says of an address, a GUID or a GPU becomes names, a rack and a port by this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path

from fabric.design.hosts.build import rows_of
from fabric.design.hosts.model import HostPlan
from fabric.design.ib.model import IbLink
from fabric.design.load import Cluster, SubnetCluster, design_loaded, load_spec, subnet_of
from fabric.design.model import Link, State


@dataclass(frozen=True, slots=True)
class Seat:
    """One GPU with its NIC. `rail` and `gpu` count from 0 and are equal (one NIC a GPU, by index); `nic` is the interface, `hca` the
    RDMA device. `switch` and `port`: the RTSW or leaf at the other end of the cable. `zone`: the AI Zone, or the scalable unit.
    Addresses are ints, None where the back end has none of the kind; `guid` is InfiniBand's port GUID.
    """

    host: str
    zone: int
    rack: int
    unit: int
    rail: int
    nic: str
    hca: str
    switch: str
    port: str
    speed_gbps: int
    state: State
    ip4: int | None = None
    ip6: int | None = None
    guid: int | None = None

    @property
    def gpu(self) -> int:
        """Index of the GPU that uses this NIC first."""
        return self.rail

    @property
    def name(self) -> str:
        """`host:nic`."""
        return f"{self.host}:{self.nic}"

    @property
    def cable(self) -> str:
        """The cable as findings name it: `switch:port <-> host:nic` (InfiniBand: the HCA's device)."""
        return f"{self.switch}:{self.port} <-> {self.host}:{self.nic if self.guid is None else self.hca}"


@dataclass(frozen=True, slots=True)
class Trunk:
    """A cable between two switches. `tier` is that of its lower end: `rtsw`, `ctsw`, or InfiniBand's `leaf`, `spine`.

    `a*` is the upper end. Addresses of both ends are ints, None where there are none.
    """

    tier: str
    a: str
    a_port: str
    b: str
    b_port: str
    speed_gbps: int
    state: State
    a4: int | None = None
    b4: int | None = None
    a6: int | None = None
    b6: int | None = None

    @property
    def name(self) -> str:
        """The cable as findings name it."""
        return f"{self.a}:{self.a_port} <-> {self.b}:{self.b_port}"


class Seating:
    """All seats and trunks of a cluster, made when they are first asked for."""

    def __init__(self, cluster: Cluster | SubnetCluster) -> None:
        self.cluster = cluster

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self.cluster.spec.name

    @cached_property
    def by_host(self) -> Mapping[str, tuple[Seat, ...]]:
        """The seats of every host that is deployed or drained, in rail order; hosts in the fabric's order."""
        return {plan.name: _seats_of(plan) for plan in rows_of(self.cluster) if plan.state != "planned"}

    @cached_property
    def trunks(self) -> tuple[Trunk, ...]:
        """All cables between switches that are not planned only."""
        links = self.cluster.subnet.links if isinstance(self.cluster, SubnetCluster) else self.cluster.fabric.links()
        return tuple(_trunk(link) for link in links if link.tier != "host" and link.state != "planned")

    @cached_property
    def trunks_of(self) -> Mapping[str, tuple[Trunk, ...]]:
        """The trunks at each switch, upper or lower end."""
        found: dict[str, list[Trunk]] = {}
        for trunk in self.trunks:
            found.setdefault(trunk.a, []).append(trunk)
            found.setdefault(trunk.b, []).append(trunk)
        return {switch: tuple(trunks) for switch, trunks in found.items()}

    @cached_property
    def by_port(self) -> Mapping[tuple[str, str], Seat]:
        """The seat behind each (switch, port)."""
        return {(seat.switch, seat.port): seat for seats in self.by_host.values() for seat in seats}

    @cached_property
    def _by_address(self) -> Mapping[int, Seat]:
        """IPv4, IPv6 and GUIDs do not meet: their sizes differ by their first bits."""
        found: dict[int, Seat] = {}
        for seats in self.by_host.values():
            for seat in seats:
                found.update({key: seat for key in (seat.ip4, seat.ip6, seat.guid) if key is not None})
        return found

    @cached_property
    def _trunk_ends(self) -> Mapping[int, tuple[Trunk, str]]:
        found: dict[int, tuple[Trunk, str]] = {}
        for trunk in self.trunks:
            for switch, keys in ((trunk.a, (trunk.a4, trunk.a6)), (trunk.b, (trunk.b4, trunk.b6))):
                found.update({key: (trunk, switch) for key in keys if key is not None})
        return found

    def seat_at(self, address: str) -> Seat | None:
        """The seat with that back-end address: IPv4, IPv6, a GID that maps an IPv4 address (`::ffff:10.0.0.1`) or ends in a GUID.

        None for an address of nobody, and for what is no address.
        """
        number = _number(address)
        if number is None:
            return None
        found = self._by_address.get(number)
        if found is None and number >> 64 in (0xFE80 << 48, 0):
            found = self._by_address.get(number & (1 << 64) - 1)  # link-local GID: subnet prefix and port GUID
        return found

    def trunk_at(self, address: str) -> tuple[Trunk, str] | None:
        """The trunk with that address at one end, and the switch of this end."""
        number = _number(address)
        return None if number is None else self._trunk_ends.get(number)


def _number(address: str) -> int | None:
    try:
        found = ip_address(address.strip())
    except ValueError:
        return None
    if found.version == 6 and found.ipv4_mapped is not None:
        return int(found.ipv4_mapped)
    return int(found)


def _trunk(link: Link | IbLink) -> Trunk:
    keys = (link.a4, link.b4, link.a6, link.b6) if isinstance(link, Link) else (None,) * 4
    return Trunk(
        link.tier, link.a, str(link.a_port), link.b, str(link.b_port), link.cabled.speed_gbps, link.state, *keys
    )


def _seats_of(plan: HostPlan) -> tuple[Seat, ...]:
    return tuple(
        Seat(
            plan.name, plan.zone, plan.rack, plan.unit, nic.rail, nic.name, nic.hca, nic.switch, nic.switch_port,
            nic.speed_gbps, plan.state, nic.local4, nic.local6, nic.guid,
        )
        for nic in plan.nics
    )  # fmt: skip


def load_seating(path: Path) -> Seating:
    """The seating of the spec at `path`; FabricError for a spec with mistakes."""
    loaded = load_spec(path)
    return Seating(subnet_of(loaded) if loaded.value.backend.kind == "infiniband" else design_loaded(loaded))
