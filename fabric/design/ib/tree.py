"""The shape of an InfiniBand fat tree: units, leaves, pods, planes, cores, the stripe, and every port by arithmetic.

All of it follows from the spec's sizes and from the room to grow (`growth.units`), never from how many units there are now.
Positions in here count from 0, except hosts and ports, which count from 1 as on the boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from fabric.catalog import catalog
from fabric.catalog.parts import HostModel
from fabric.catalog.switch import SwitchModel
from fabric.design.ib import stripe
from fabric.design.suggest import near
from fabric.errors import DesignError, FabricError
from fabric.spec.cluster import ClusterSpec

UNICAST_LIDS = 49_151  # 0x0001 to 0xBFFF, InfiniBand architecture


@dataclass(frozen=True)
class Tree:
    """The sizes that everything follows from.

    `down`, `up`: links of a leaf to HCAs and to spines; `planes`: spines of a pod (of the subnet, with two tiers); `leaves_per_pod` is
    the room of leaves with two tiers; `spine_up`: uplinks of a spine; `cores`: cores of a plane; `room`: units that there may be.
    """

    spec: ClusterSpec
    host: HostModel
    switch: SwitchModel
    radix: int
    tiers: int
    nics: int
    down: int
    up: int
    leaves_per_pod: int
    planes: int
    spine_up: int
    cores: int
    room: int

    @property
    def by_rail(self) -> bool:
        """Whether a leaf belongs to one rail."""
        return self.spec.infiniband.cabling == "rail-optimised"

    @property
    def hosts(self) -> int:
        """Hosts that there are."""
        return self.spec.infiniband.hosts

    @property
    def hosts_per_unit(self) -> int:
        """Hosts of a full unit."""
        return self.spec.infiniband.hosts_per_unit

    @cached_property
    def units(self) -> int:
        """Units that there are: those of the hosts and those in which a service stands."""
        placed = [port.unit for service in self.spec.infiniband.services for port in service.ports]
        return max([-(-self.hosts // self.hosts_per_unit), *placed])

    @property
    def leaves(self) -> int:
        """Leaves that there are; each unit has one for each HCA of a host."""
        return self.units * self.nics

    @cached_property
    def pods(self) -> tuple[int, ...]:
        """Pods that there are, in order; one that is no pod with fewer than three tiers."""
        if self.tiers < 3:
            return (0,)
        return tuple(sorted({self.pod_of(leaf)[0] for leaf in range(self.leaves)}))

    @cached_property
    def pod_room(self) -> int:
        """Pods that there may be."""
        return pods_for(self.room, self.nics, self.leaves_per_pod, rail_first=self._rail_first)

    @property
    def _rail_first(self) -> bool:
        return self.spec.infiniband.pods == "rail-first"

    def pod_of(self, leaf: int) -> tuple[int, int]:
        """(pod, place in the pod) of a leaf."""
        if self.tiers < 3:
            return 0, leaf
        if not self._rail_first:
            return divmod(leaf, self.leaves_per_pod)
        unit, rail = divmod(leaf, self.nics)
        block, place = divmod(unit, self.leaves_per_pod)
        return rail * -(-self.room // self.leaves_per_pod) + block, place

    def place_of(self, host: int, rail: int) -> tuple[int, int]:
        """(leaf, its port) of HCA `rail` of `host` (from 1)."""
        unit, slot = divmod(host - 1, self.hosts_per_unit)
        if self.by_rail:
            return unit * self.nics + rail, slot + 1
        leaf, place = divmod(slot, self.hosts_per_unit // self.nics)
        return unit * self.nics + leaf, place * self.nics + rail + 1

    def host_at(self, leaf: int, port: int) -> int | None:
        """The host (from 1, whether it is there or not) whose port this is; None beyond the ports of hosts."""
        if port > self.down:
            return None
        unit, local = divmod(leaf, self.nics)
        slot = port - 1 if self.by_rail else local * (self.hosts_per_unit // self.nics) + (port - 1) // self.nics
        return unit * self.hosts_per_unit + slot + 1

    @cached_property
    def leaf_first_up(self) -> int:
        """First uplink port of a leaf: the upper half of the box where it fits, at the start of a cage."""
        return first_up(self.radix, self.down, self.up, self.per_cage)

    @cached_property
    def spine_down(self) -> int:
        """Down ports of a spine that may be used."""
        return stripe.ports_needed(self.leaves_per_pod, self.up, self.planes)

    @cached_property
    def spine_first_up(self) -> int:
        """First uplink port of a spine."""
        return first_up(self.radix, self.spine_down, self.spine_up, self.per_cage)

    @property
    def per_cage(self) -> int:
        """Ports that share a cage, and its module."""
        return self.switch.infiniband.ports_per_cage.value if self.switch.infiniband else 1

    @property
    def core_ports(self) -> int:
        """Ports of a core that are used when all units are there."""
        return stripe.ports_needed(self.pod_room, self.spine_up, self.cores) if self.cores else 0

    @property
    def stripe(self) -> tuple[int, int]:
        """(smallest, largest) number of links from a spine to a core of its plane; (0, 0) without cores."""
        return stripe.spread(self.spine_up, self.cores) if self.cores else (0, 0)

    @property
    def leaf_stripe(self) -> tuple[int, int]:
        """(smallest, largest) number of links from a leaf to a spine of its pod; (0, 0) with one tier."""
        return stripe.spread(self.up, self.planes) if self.planes else (0, 0)

    @property
    def speed_gbps(self) -> int:
        """Speed of a port, in Gb/s."""
        side = self.switch.infiniband
        assert side is not None  # noqa: S101 - hardware() has refused every other switch
        return side.port_speed_gbps.value


def first_up(radix: int, down: int, up: int, per_cage: int) -> int:
    """The port at which uplinks begin: after half of the ports when both sides fit there, else after the downlinks' last cage."""
    half = radix // 2
    if down <= half and up <= radix - half:
        return half + 1
    aligned = -(-down // per_cage) * per_cage
    return (aligned if aligned + up <= radix else down) + 1


def pods_for(units: int, nics: int, leaves_per_pod: int, *, rail_first: bool) -> int:
    """Pods that so many units need."""
    return nics * -(-units // leaves_per_pod) if rail_first else -(-units * nics // leaves_per_pod)


def hardware(spec: ClusterSpec) -> tuple[HostModel, SwitchModel, int]:
    """(host model, switch model, radix in use); DesignError when the catalog has no such thing, or they do not fit."""
    backend = spec.infiniband
    try:
        host = catalog().host(spec.hosts.platform)
    except FabricError as error:
        raise DesignError(("hosts", "platform"), error.message, hint=error.hint) from None
    try:
        switch = catalog().switch(backend.switch)
    except FabricError as error:
        raise DesignError(("backend", "switch"), error.message, hint=error.hint) from None
    if switch.infiniband is None:
        known = [name for name in catalog().names("switch") if catalog().switch(name).infiniband]
        raise DesignError(
            ("backend", "switch"), f"{backend.switch} is not an InfiniBand switch", hint=near(backend.switch, known)
        )
    ports, radix = len(switch.ports), backend.switch_ports or len(switch.ports)
    if radix > ports:
        raise DesignError(("backend", "switch_ports"), f"a {backend.switch} has {ports} ports, not {radix}")
    speed, nic = switch.infiniband.port_speed_gbps.value, host.backend_speed_gbps.value
    if speed != nic:
        raise DesignError(
            ("backend", "switch"),
            f"the ports of a {backend.switch} run at {speed}G, the HCAs of a {host.name} at {nic}G",
        )
    return host, switch, radix
