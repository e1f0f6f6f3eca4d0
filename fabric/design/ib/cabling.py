"""Every cable of a tree, with the port on both ends."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.ib import stripe
from fabric.design.ib.model import Hca, IbLink, IbSwitch
from fabric.design.ib.places import Names
from fabric.design.ib.tree import Tree
from fabric.design.model import Cabled, State

Cables = dict[str, Cabled]
"""How each tier is cabled: host, leaf, spine."""

_LEAST = {"planned": 0, "drained": 1, "deployed": 2}


class Cabler:
    """The links of a tree whose switches and HCAs are known."""

    def __init__(self, tree: Tree, names: Names, cables: Cables, switches: dict[str, IbSwitch], plain: bool) -> None:
        self.tree, self.names, self.cables, self.switches, self.plain = tree, names, cables, switches, plain

    def links(self, hcas: tuple[Hca, ...]) -> Iterator[IbLink]:
        """Leaf to HCA by host and rail, spine to leaf by leaf and uplink, core to spine by spine and uplink."""
        yield from self._hosts(hcas)
        yield from self._leaves()
        if self.tree.cores:
            yield from self._spines()

    def _hosts(self, hcas: tuple[Hca, ...]) -> Iterator[IbLink]:
        tree, names, cabled = self.tree, self.names, self.cables["host"]
        leaves = [names.leaf(leaf) for leaf in range(tree.leaves)]
        compute = tree.hosts * tree.nics
        for index, hca in enumerate(hcas[:compute]):
            leaf, port = tree.place_of(index // tree.nics + 1, hca.rail)
            name = leaves[leaf]
            yield IbLink("host", name, port, hca.name, 1, cabled, self._state(name, hca.state))
        ports = (port for service in tree.spec.infiniband.services for port in service.ports)
        for hca, at in zip(hcas[compute:], ports, strict=True):
            name = leaves[(at.unit - 1) * tree.nics + at.leaf - 1]
            yield IbLink("host", name, at.port, hca.name, 1, cabled, self._state(name, hca.state))

    def _leaves(self) -> Iterator[IbLink]:
        tree, names, cabled = self.tree, self.names, self.cables["leaf"]
        if not tree.planes:
            return
        for leaf in range(tree.leaves):
            pod, place = tree.pod_of(leaf)
            low, first = names.leaf(leaf), tree.leaf_first_up
            for uplink, plane, port in stripe.stripe(place, tree.up, tree.planes):
                high = names.spine(pod, plane)
                yield IbLink("leaf", high, port + 1, low, first + uplink, cabled, self._between(high, low))

    def _spines(self) -> Iterator[IbLink]:
        tree, names, cabled = self.tree, self.names, self.cables["spine"]
        first = tree.spine_first_up
        for pod in tree.pods:
            steps = list(stripe.stripe(pod, tree.spine_up, tree.cores))
            for plane in range(tree.planes):
                low = names.spine(pod, plane)
                highs = [names.core(plane, core) for core in range(tree.cores)]
                for uplink, core, port in steps:
                    high = highs[core]
                    yield IbLink("spine", high, port + 1, low, first + uplink, cabled, self._between(high, low))

    def _state(self, switch: str, other: State) -> State:
        if self.plain:
            return "deployed"
        return min(self.switches[switch].state, other, key=_LEAST.__getitem__)

    def _between(self, high: str, low: str) -> State:
        return "deployed" if self.plain else self._state(high, self.switches[low].state)
