"""The network as switches forward now: ECMP sets read from live or lab switches, laid over the cabling of the design."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Protocol

import numpy as np

from fabric.design.fabric import Fabric
from fabric.design.load import SubnetCluster
from fabric.design.seats import Seat, Seating, Trunk
from fabric.errors import FabricError
from fabric.predict.from_wiring import Cabling, net_of
from fabric.predict.loops import check
from fabric.predict.net import Groups, Ints, Net
from fabric.predict.sets import ANY, Compressor, SetStore

Fib = Mapping[str, Sequence[str]]
"""The table of a switch: prefix -> equal-cost ports, or addresses of neighbours."""
ROLES = ("rtsw", "ctsw", "atsw")


class Hop(Protocol):
    """A next hop as a switch tells it: address, interface, or both."""

    @property
    def address(self) -> str | None:
        """Address of the neighbour."""
        ...

    @property
    def interface(self) -> str | None:
        """Local port."""
        ...


class HasHops(Protocol):
    """A route as a switch tells it."""

    @property
    def prefix(self) -> str:
        """Prefix as text."""
        ...

    @property
    def next_hops(self) -> Sequence[Hop]:
        """Its equal-cost next hops."""
        ...


def fib_of(routes: Iterable[HasHops]) -> dict[str, list[str]]:
    """The table of a switch from the routes it told; a next hop by its address, or by its port where it has none or a link-local one."""
    found: dict[str, list[str]] = {}
    for route in routes:
        hops = found.setdefault(route.prefix, [])
        for hop in route.next_hops:
            local = hop.address is None or hop.address.lower().startswith("fe80:")
            name = hop.interface if local else hop.address
            if name is not None:
                hops.append(name)
    return found


def fib_net(seating: Seating, fibs: Mapping[str, Fib], *, strict: bool = True) -> Net:
    """The network by the tables of its switches (RoCE), IPv4 where the NICs have it, else IPv6.

    FabricError for a table of an unknown switch, tables without any route to a NIC, and, if `strict`, for racks that do not reach each other
    and for routing loops, by name.
    """
    if isinstance(seating.cluster, SubnetCluster):
        raise FabricError("forwarding by IP routes is RoCE's; InfiniBand has forwarding tables by LID")
    known = seating.cluster.fabric.by_name
    stranger = next((name for name in fibs if name not in known), None)
    if stranger is not None:
        raise FabricError(f"a forwarding table of {stranger!r}, which is no switch of {seating.name}")
    plug = _Plug(seating, seating.cluster.fabric)
    classes = _Classes(plug, fibs)
    groups = classes.groups()
    store, put = SetStore(), Compressor(groups, len(plug.names))
    some = False
    for index, name in enumerate(plug.names):
        row = classes.row(plug, store, index, fibs.get(name, {}))
        some = some or bool(row[groups.home != index].any())
        put.put(index, np.where(groups.home == index, ANY, row))
    if not some and np.unique(groups.home).size > 1:
        raise FabricError(
            f"no switch of {seating.name} has a route to a NIC behind another one: the forwarding tables are empty",
            hint="are they those of the back end, in the address family that the NICs have?",
        )
    net = net_of(plug.cabling, groups, put.done(store))
    if strict:
        check(net)
    return net


class _Plug:
    """Switches, NICs and trunks of a seating by number; channels by port and by the neighbour's address."""

    def __init__(self, seating: Seating, fabric: Fabric) -> None:
        live = [switch for switch in fabric.switches if switch.state != "planned"]
        switches = [switch for role in ROLES for switch in live if switch.role == role]
        self.names = [switch.name for switch in switches]
        self.zone = [switch.zone for switch in switches]
        self.index = {name: number for number, name in enumerate(self.names)}
        hosts = {host: seats for host, seats in seating.by_host.items() if all(s.switch in self.index for s in seats)}
        self.seats: list[Seat] = [seat for seats in hosts.values() for seat in seats]
        rails = max(map(len, hosts.values()), default=0)
        if not self.seats:
            raise FabricError(f"{seating.name} has no host that is more than planned")
        trunks: list[Trunk] = [trunk for trunk in seating.trunks if trunk.a in self.index and trunk.b in self.index]
        self.trunks = trunks
        unit = max(seat.speed_gbps for seat in self.seats)
        low = np.array([self.index[trunk.b] for trunk in trunks], dtype=np.int64)
        high = np.array([self.index[trunk.a] for trunk in trunks], dtype=np.int64)
        speed = np.array([trunk.speed_gbps / unit for trunk in trunks], dtype=np.float64)
        self.cabling = Cabling(
            self.names, np.array([ROLES.index(switch.role) for switch in switches], dtype=np.int64), ROLES, tuple(hosts), rails,
            np.array([self.index[seat.switch] for seat in self.seats], dtype=np.int64), self._nic_ends,
            np.concatenate([low, high]), np.concatenate([high, low]), np.concatenate([speed, speed]), self._ends,
        )  # fmt: skip
        self.by_port: dict[tuple[int, str], int] = {}
        self.by_address: dict[tuple[int, int], int] = {}
        for number, trunk in enumerate(trunks):
            up, down = self.cabling.first + number, self.cabling.first + len(trunks) + number
            for at, port, channel, far in (
                (self.index[trunk.b], trunk.b_port, up, (trunk.a4, trunk.a6)),
                (self.index[trunk.a], trunk.a_port, down, (trunk.b4, trunk.b6)),
            ):
                self.by_port[at, port] = channel
                self.by_address.update({(at, address): channel for address in far if address is not None})

    def _nic_ends(self, nic: int) -> tuple[str, str]:
        seat = self.seats[nic]
        return seat.name, f"{seat.switch}:{seat.port}"

    def _ends(self, trunk: int) -> tuple[str, str]:
        one = self.trunks[trunk % len(self.trunks)]
        ends = f"{one.b}:{one.b_port}", f"{one.a}:{one.a_port}"
        return ends if trunk < len(self.trunks) else ends[::-1]

    def channel(self, at: int, hop: str) -> int | None:
        """The trunk behind a port or a neighbour's address, None for what is none."""
        found = self.by_port.get((at, hop))
        if found is None:
            number = _address(hop)
            found = None if number is None else self.by_address.get((at, number))
        return found


class _Classes:
    """NICs that no table tells apart: those of a leaf that are within the same prefixes."""

    def __init__(self, plug: _Plug, fibs: Mapping[str, Fib]) -> None:
        four = all(seat.ip4 is not None for seat in plug.seats)
        bits = 32 if four else 128
        self.number: dict[str, int] = {}
        known: dict[int, dict[int, list[int]]] = {}  # length -> base -> prefixes, texts that say the same one
        owner: dict[str, int] = {}  # the one switch that has a prefix, -1 for several
        for name, fib in fibs.items():
            for prefix in fib:
                owner[prefix] = -1 if prefix in owner else plug.index.get(name, -1)
        for prefix in owner:
            parsed = _prefix(prefix)
            if parsed is not None and parsed[2] == bits:
                self.number[prefix] = len(self.number)
                known.setdefault(parsed[1], {}).setdefault(parsed[0], []).append(self.number[prefix])
        lengths = sorted(known, reverse=True)
        owners = [owner[prefix] for prefix in self.number]
        classes: dict[tuple[int, tuple[int, ...]], int] = {}
        of_nic = []
        for seat in plug.seats:
            address = seat.ip4 if four else seat.ip6
            if address is None:
                raise FabricError(f"{seat.name} has no address")
            within = (known[length].get(address >> (bits - length) << (bits - length), ()) for length in lengths)
            home = plug.index[
                seat.switch
            ]  # what only it knows, such as the NIC's own link, tells nobody's traffic apart
            told = (number for numbers in within for number in numbers if owners[number] != home)
            key = (home, tuple(told))
            of_nic.append(classes.setdefault(key, len(classes)))
        self.of_nic = np.array(of_nic, dtype=np.int64)
        self.home = np.array([home for home, _ in classes], dtype=np.int64)
        zones = np.array([plug.zone[home] for home in self.home.tolist()])
        few = len(classes) <= np.unique(self.home).size
        self.block = np.unique(zones if few else self.home, return_inverse=True)[1]
        depth = max((len(numbers) for _, numbers in classes), default=0)
        self.within = np.full((max(depth, 1), len(classes)), len(self.number), dtype=np.int64)
        for place, (_, numbers) in enumerate(classes):
            self.within[: len(numbers), place] = numbers

    def groups(self) -> Groups:
        """The groups."""
        return Groups.of(self.of_nic, self.home, self.block)

    def row(self, plug: _Plug, store: SetStore, at: int, fib: Fib) -> Ints:
        """The set of a switch for each class: that of the longest prefix it has a route for. A route to no trunk is none."""
        entry = np.full(len(self.number) + 1, -1, dtype=np.int64)
        for prefix, hops in fib.items():
            place = self.number.get(prefix)
            if place is not None:
                found = {channel for hop in hops if (channel := plug.channel(at, hop)) is not None}
                entry[place] = store.add(sorted(found))
        row = np.full(self.home.size, -1, dtype=np.int64)
        for numbers in self.within:
            row = np.where(row < 0, entry[numbers], row)
        return np.maximum(row, 0)


@lru_cache(maxsize=1 << 16)
def _prefix(text: str) -> tuple[int, int, int] | None:
    """(base, length, bits); None for what is no prefix, such as `default`."""
    try:
        found = ip_network(text, strict=False)
    except ValueError:
        return None
    return int(found.network_address), found.prefixlen, found.max_prefixlen


@lru_cache(maxsize=1 << 16)
def _address(text: str) -> int | None:
    try:
        return int(ip_address(text))
    except ValueError:
        return None
