"""From what was read live to what the walk takes: LIDs by port GUID, the wiring as cabled."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

from fabric.design.ib.model import Subnet
from fabric.forwarding.wiring import EndpointRow, SwitchRow, Wiring, wire
from fabric.targets.opensm.mad_model import Node, Topology

_TIERS: Final = {"leaf": 0, "spine": 1, "core": 2}


def lids(topology: Topology) -> dict[int, int]:
    """Port GUID -> base LID of every HCA port that was reached; 0 where none is assigned."""
    return {guid: topology.ports[end].lid for end, guid in topology.port_guid.items()}


def switch_lids(topology: Topology) -> dict[int, int]:
    """Node GUID -> LID of every switch."""
    return {node.guid: node.lid for node in topology.switches}


def live_wiring(topology: Topology, subnet: Subnet) -> Wiring:
    """The wiring as cabled, with the design's names, tiers and compute ports by GUID.

    What the design does not know keeps the description that it gives of itself (with its GUID) and counts as a service: it must
    be reached, and does not count for balance. Links between two HCA ports are left out.
    """
    tier = {switch.guid: _TIERS[switch.tier] for switch in subnet.switches}
    compute = {hca.port_guid for hca in subnet.compute}
    switches = [
        SwitchRow(node.guid, _name(node, subnet.name_of), node.info.ports, tier.get(node.guid))
        for node in topology.switches
    ]
    endpoints = [
        EndpointRow(
            *end, guid, subnet.name_of.get(guid) or _name(topology.nodes[end[0]], subnet.name_of), guid in compute
        )
        for end, guid in topology.port_guid.items()
    ]
    forwarding = {node.guid for node in topology.switches}
    return wire(switches, endpoints, (link for link in topology.links if _touches(link, forwarding)))


def _touches(link: tuple[tuple[int, int], tuple[int, int]], forwarding: Set[int]) -> bool:
    """Whether a switch stands at one end; a cable from a port to itself (a loopback plug) leads nowhere."""
    return link[0] != link[1] and (link[0][0] in forwarding or link[1][0] in forwarding)


def _name(node: Node, names: Mapping[int, str]) -> str:
    return names.get(node.guid) or f"{node.description or node.info.kind} (0x{node.guid:016x})"
