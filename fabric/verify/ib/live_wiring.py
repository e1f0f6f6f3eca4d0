"""The wiring as it really is, in the design's names: routes are walked over the cables that are there."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.ib.model import Subnet
from fabric.forwarding.wiring import LEVELS, EndpointRow, SwitchRow, Wiring, wire
from fabric.targets.opensm.mad_model import Topology
from fabric.verify.ib.names import match, stranger


def live_wiring(subnet: Subnet, topology: Topology) -> Wiring:
    """Switches and HCA ports that were seen, and the links between them.

    HCAs of the design keep their purpose; all others (aggregation nodes, strangers) must be reached and count for no balance. HCAs
    without a link to a switch stay out: they are the cabling's matter.
    """
    matched = match(subnet, topology)
    switches = []
    for node in topology.switches:
        switch = subnet.switch.get(matched.name.get(node.guid, ""))
        level = None if switch is None else LEVELS.index(switch.tier)
        switches.append(SwitchRow(node.guid, switch.name if switch else stranger(node), node.info.ports, level))
    guids = {row.guid for row in switches}
    homes = {end: far for end, far in topology.far.items() if end[0] not in guids and far[0] in guids}
    endpoints = []
    for guid, port in topology.hca_ports:
        if (guid, port) not in homes:
            continue
        hca = subnet.hca.get(matched.name.get(guid, ""))
        name = hca.name if hca is not None else _named(subnet, topology, matched.name, guid, homes[guid, port])
        compute = hca is not None and hca.purpose == "compute"
        endpoints.append(EndpointRow(guid, port, topology.port_guid[guid, port], name, compute))
    return wire(switches, endpoints, _links(topology, guids, set(homes)))


def _links(
    topology: Topology, guids: set[int], homes: set[tuple[int, int]]
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    for ends in topology.links:
        if all(end[0] in guids or end in homes for end in ends):
            yield ends


def _named(subnet: Subnet, topology: Topology, names: dict[int, str], guid: int, home: tuple[int, int]) -> str:
    """An endpoint that the design does not have: a switch's own aggregation node, or a stranger."""
    switch = subnet.switch.get(names.get(home[0], ""))
    if switch is not None and home[1] > switch.ports:
        return f"aggregation node of {switch.name}"
    return stranger(topology.nodes[guid])
