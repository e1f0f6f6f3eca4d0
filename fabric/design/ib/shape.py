"""From the spec to the tree: which tiers, which pods, how many spines and cores; refused with the arithmetic where it does not fit."""

from __future__ import annotations

from fabric.catalog.parts import HostModel
from fabric.catalog.switch import SwitchModel
from fabric.design.ib import stripe
from fabric.design.ib.tree import UNICAST_LIDS, Tree, first_up, hardware, pods_for
from fabric.errors import DesignError
from fabric.spec.cluster import ClusterSpec
from fabric.words import counted


def tree_of(spec: ClusterSpec) -> Tree:
    """The tree that an InfiniBand spec declares; DesignError with the arithmetic when it cannot be built."""
    host, switch, radix = hardware(spec)
    backend, nics = spec.infiniband, host.backend_nics.value
    down, up = _leaf(spec, radix, nics)
    present = -(-backend.hosts // backend.hosts_per_unit)
    room = backend.growth.units or max([present, *(p.unit for s in backend.services for p in s.ports)])
    _room(spec, present, room)
    _limit(spec, radix, room, down, nics)
    tiers = _tiers(spec, radix, room * nics)
    sizes = _Sizer(spec, host, switch, radix, nics, down, up, room)
    tree = (sizes.one, sizes.two, sizes.three)[tiers - 1]()
    _lids(tree)
    return tree


def _leaf(spec: ClusterSpec, radix: int, nics: int) -> tuple[int, int]:
    """(downlinks, uplinks) of a leaf."""
    backend = spec.infiniband
    down, half = backend.hosts_per_unit, radix // 2
    if backend.cabling == "host-per-leaf" and down % nics:
        raise DesignError(
            ("backend", "hosts_per_unit"),
            f"host-per-leaf: {down} hosts do not divide over the {nics} leaves of a unit ({down} / {nics} = {down / nics:g} hosts a leaf)",
            hint=f"a multiple of {nics}",
        )
    up = backend.leaf_uplinks if backend.leaf_uplinks is not None else down
    if backend.leaf_uplinks is None and down > half and spec.infiniband.tiers != 1:
        raise DesignError(
            ("backend", "hosts_per_unit"),
            f"{down} hosts a unit need {down} downlinks on each leaf, a {_box(spec, radix)} has {half} beside as many uplinks",
            hint=f"at most {half}, or set leaf_uplinks",
        )
    if down + up > radix and spec.infiniband.tiers != 1:
        where = "leaf_uplinks" if backend.leaf_uplinks is not None else "hosts_per_unit"
        raise DesignError(
            ("backend", where),
            f"{counted(down, 'downlink')} and {counted(up, 'uplink')} are {down + up} ports, a {_box(spec, radix)} has {radix}",
        )
    return down, up


def _box(spec: ClusterSpec, radix: int) -> str:
    backend = spec.infiniband
    return f"{backend.switch} with {radix} ports in use" if backend.switch_ports else backend.switch


def _room(spec: ClusterSpec, present: int, room: int) -> None:
    backend = spec.infiniband
    if room < present:
        raise DesignError(
            ("backend", "growth", "units"),
            f"{counted(backend.hosts, 'host')} make {counted(present, 'unit')} of {backend.hosts_per_unit}, growth keeps room for {room:,}",
        )
    for index, service in enumerate(backend.services):
        for number, port in enumerate(service.ports):
            if port.unit > room:
                path = ("backend", "services", index, "ports", number, "unit")
                raise DesignError(
                    path, f"{service.name} stands in unit {port.unit}, growth keeps room for {counted(room, 'unit')}"
                )


def _limit(spec: ClusterSpec, radix: int, room: int, down: int, nics: int) -> None:
    limit, asked = radix**3 // 4, room * down * nics
    if asked > limit and down <= radix // 2:
        raise DesignError(
            ("backend", "growth", "units") if spec.infiniband.growth.units else ("backend", "hosts"),
            f"{counted(room, 'unit')} of {counted(down, 'host')} x {counted(nics, 'NIC')} are {asked:,} endpoints, "
            f"three tiers of {radix}-port switches end at {radix}^3 / 4 = {limit:,}",
        )


def _tiers(spec: ClusterSpec, radix: int, leaves: int) -> int:
    fewest = 1 if leaves == 1 else 2 if leaves <= radix else 3
    tiers = spec.infiniband.tiers or fewest
    if tiers > 3:
        raise DesignError(
            ("backend", "tiers"),
            f"{tiers} tiers: no more than 3 are designed; 3 of {radix}-port switches carry {radix}^3 / 4 = {radix**3 // 4:,} endpoints",
        )
    if tiers < fewest:
        room = 1 if tiers == 1 else radix
        raise DesignError(
            ("backend", "tiers"),
            f"{leaves:,} leaves do not fit {counted(tiers, 'tier')} of {radix}-port switches, which join at most {room}",
            hint=f"{fewest}",
        )
    return tiers


class _Sizer:
    """The three kinds of tree over the same leaves."""

    def __init__(
        self,
        spec: ClusterSpec,
        host: HostModel,
        switch: SwitchModel,
        radix: int,
        nics: int,
        down: int,
        up: int,
        room: int,
    ) -> None:
        self.spec, self.radix, self.nics, self.down, self.up, self.room = spec, radix, nics, down, up, room
        self.host, self.switch = host, switch
        self.leaves = room * nics

    def _tree(self, tiers: int, up: int, leaves_per_pod: int, planes: int, spine_up: int, cores: int) -> Tree:
        return Tree(
            self.spec,
            self.host,
            self.switch,
            self.radix,
            tiers,
            self.nics,
            self.down,
            up,
            leaves_per_pod,
            planes,
            spine_up,
            cores,
            self.room,
        )

    def one(self) -> Tree:
        """A single leaf."""
        if self.down > self.radix:
            raise DesignError(("backend", "hosts_per_unit"), f"{self.down} downlinks, a leaf has {self.radix} ports")
        return self._tree(1, 0, self.leaves, 0, 0, 0)

    def two(self) -> Tree:
        """Every leaf to every spine."""
        fewest = -(-self.leaves * self.up // self.radix)
        planes = self._above(fewest, self.up)
        return self._tree(2, self.up, self.leaves, planes, 0, 0)

    def three(self) -> Tree:
        """Pods of leaves and spines, planes of cores."""
        backend = self.spec.infiniband
        pod = backend.leaves_per_pod or self._pod()
        half = self.radix // 2
        planes = self._above(-(-pod * self.up // half), self.up)
        down = stripe.ports_needed(pod, self.up, planes)
        spine_up = backend.spine_uplinks or down
        if down + spine_up > self.radix:
            where = "spine_uplinks" if backend.spine_uplinks else "leaves_per_pod"
            raise DesignError(
                ("backend", where),
                f"{counted(pod, 'leaf', 'leaves')} a pod and {counted(self.up, 'uplink')} a leaf make "
                f"{counted(down, 'downlink')} on each of {counted(planes, 'spine')}; "
                f"with {counted(spine_up, 'uplink')} these are {down + spine_up} ports of {self.radix}",
            )
        pods = pods_for(self.room, self.nics, pod, rail_first=backend.pods == "rail-first")
        fewest = -(-pods * spine_up // self.radix)
        if fewest > spine_up:
            raise DesignError(
                ("backend", "leaves_per_pod" if backend.leaves_per_pod else "hosts"),
                f"{counted(pods, 'pod')}: a core would need a link to each of them and has {self.radix} ports",
            )
        return self._tree(3, self.up, pod, planes, spine_up, self._above(fewest, spine_up))

    def _above(self, fewest: int, uplinks: int) -> int:
        """Upper switches for so many uplinks: evenly many links to each, or just enough."""
        if self.spec.infiniband.core_stripe == "minimal":
            return min(fewest, uplinks)
        return stripe.even(min(fewest, uplinks), uplinks) or uplinks

    def _pod(self) -> int:
        """Leaves of a pod: half of a switch's ports; with narrow pods, the most for which the fewest cores divide evenly."""
        backend, half = self.spec.infiniband, self.radix // 2
        if backend.core_stripe != "narrow-pods":
            return half
        step = self.nics if backend.pods == "unit-first" else 1
        for pod in range(half - half % step, 0, -step):
            pods = pods_for(self.room, self.nics, pod, rail_first=backend.pods == "rail-first")
            cores = -(-pods * pod // self.radix)
            if pods <= self.radix and pod % cores == 0:
                return pod
        raise DesignError(
            ("backend", "core_stripe"),
            f"no pod of up to {half} leaves lets the fewest cores divide evenly",
            hint="even",
        )


def _lids(tree: Tree) -> None:
    grown = tree.spec.infiniband.growth.units
    plain = lids(tree, tree.room * tree.hosts_per_unit if grown else tree.hosts, tree.room)
    nodes = aggregation_nodes(tree, tree.room)
    if plain + nodes > UNICAST_LIDS:
        also = f"; {nodes:,} of them for the SHARP aggregation nodes of the switches" if nodes else ""
        raise DesignError(
            ("backend", "growth", "units") if grown else ("backend", "hosts"),
            f"{plain + nodes:,} LIDs are needed (LMC 0{also}), a subnet has {UNICAST_LIDS:,} unicast LIDs",
        )


def lids(tree: Tree, hosts: int, units: int) -> int:
    """LIDs of so many hosts and units at LMC 0: HCA ports, services, switches; not those of aggregation nodes."""
    services = sum(len(service.ports) for service in tree.spec.infiniband.services)
    return hosts * tree.nics + services + _switches(tree, units)


def aggregation_nodes(tree: Tree, units: int) -> int:
    """LIDs of SHARP aggregation nodes: each switch that has one shows it as an HCA, leaf or not (measured); 0 where there are none."""
    side = tree.switch.infiniband
    return _switches(tree, units) if side is not None and side.aggregation_node_port is not None else 0


def _switches(tree: Tree, units: int) -> int:
    rail_first = tree.spec.infiniband.pods == "rail-first"
    pods = 1 if tree.tiers < 3 else pods_for(units, tree.nics, tree.leaves_per_pod, rail_first=rail_first)
    return units * tree.nics + pods * tree.planes + tree.cores * tree.planes


__all__ = ["aggregation_nodes", "first_up", "lids", "tree_of"]
