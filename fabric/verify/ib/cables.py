"""The declared cables of a subnet and what is really at each end, in the shapes of the LLDP side, so that its rings are found alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fabric.design.ib.model import IbLink, Subnet
from fabric.targets.opensm.mad_model import Node, PortInfo, Topology
from fabric.verify.cabling_plan import CablePlan, Ears, End
from fabric.verify.ib.names import Matched, stranger


@dataclass(slots=True)
class Cables:
    """Both sides: `plan` and `ears` as `cabling_mix.rings` wants them; `ports` the live port of an end; `strangers` who is at an end."""

    subnet: Subnet
    plan: CablePlan
    ears: Ears
    links: list[IbLink]
    nodes: dict[str, Node]
    ports: dict[End, PortInfo] = field(default_factory=dict)
    strangers: dict[End, Node] = field(default_factory=dict)

    def ends(self, number: int) -> tuple[End, End]:
        """The upper and the lower end of a declared link."""
        link = self.links[number]
        return (link.a, str(link.a_port)), (link.b, str(link.b_port))


def deployed(subnet: Subnet) -> Iterator[IbLink]:
    """The links that should be there: no end, and not the link itself, only planned."""
    planned = {switch.name for switch in subnet.switches if switch.state == "planned"}
    planned.update(hca.name for hca in subnet.hcas if hca.state == "planned")
    return (link for link in subnet.links if link.state != "planned" and not {link.a, link.b} & planned)


def cables(subnet: Subnet, topology: Topology, matched: Matched) -> Cables:
    """The declared cables, and who meets whom."""
    links = list(deployed(subnet))
    plan = CablePlan(links)
    for number, link in enumerate(links):
        a, b = (link.a, str(link.a_port)), (link.b, str(link.b_port))
        plan.mate[a], plan.mate[b] = b, a
        plan.link_of[a] = plan.link_of[b] = number
    for link in subnet.links:
        plan.ignored.update(
            end for end in ((link.a, str(link.a_port)), (link.b, str(link.b_port))) if end not in plan.mate
        )
    nodes = {name: topology.nodes[guid] for name, guid in matched.guid.items()}
    found = Cables(subnet, plan, Ears(), links, nodes)
    for (guid, number), port in topology.ports.items():
        name = matched.name.get(guid)
        if name is not None and number > 0:
            found.ports[name, str(number)] = port
    for here, there in topology.far.items():
        name = matched.name.get(here[0])
        if name is not None:
            _meet(found, topology, matched, (name, str(here[1])), there)
    for end in plan.mate:
        if end not in found.ears.states:
            found.ears.states[end] = "silent" if end[0] in nodes else "blind"
    return found


def _meet(found: Cables, topology: Topology, matched: Matched, end: End, peer: tuple[int, int]) -> None:
    """Notes who is at the other end of one end's cable."""
    switch = found.subnet.switch.get(end[0])
    if end in found.plan.ignored or (switch is not None and int(end[1]) > switch.ports):
        return  # planned, or the port of a switch's own aggregation node
    mate = found.plan.mate.get(end)
    name = matched.name.get(peer[0])
    other = None if name is None else (name, str(peer[1]))
    if mate is not None and other == mate:
        found.ears.states[end] = "right"
        return
    if other is None:
        found.strangers[end] = topology.nodes[peer[0]]
        found.ears.said[end] = f"{stranger(found.strangers[end])} port {peer[1]}"
    else:
        found.ears.said[end] = f"{name}:{peer[1]}"
    if mate is None:
        found.ears.extra[end] = other
    else:
        found.ears.states[end] = "stranger" if other is None else "wrong"
    if other is not None and (mate is not None or other in found.plan.mate):
        found.ears.meets[end] = other
