"""Which live node is which of the design: by GUID first, then, where the design only has placeholder GUIDs, by the node's description."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fabric.design.ib.model import Subnet
from fabric.targets.opensm.mad_model import Node, Topology

_MANAGED = re.compile(r"^MF0;([^:;]+):[^/]+/U\d+$")
"""The description of a managed switch, "MF0;<host>:MQM9700/U1" (reference: a QM9700 as ibnetdiscover prints it)."""


@dataclass(slots=True)
class Matched:
    """Names of live nodes and the live nodes of names.

    `by_word` are the names that only a description told; `doubles` are descriptions of the design that several nodes have, with their
    GUIDs; `contrary` are nodes whose GUID says one name and whose description another one of the design.
    """

    name: dict[int, str] = field(default_factory=dict)
    guid: dict[str, int] = field(default_factory=dict)
    by_word: set[str] = field(default_factory=set)
    doubles: dict[str, list[int]] = field(default_factory=dict)
    contrary: dict[str, str] = field(default_factory=dict)


def match(subnet: Subnet, topology: Topology) -> Matched:
    """The match of all nodes. A node that the design does not know, or that does not tell its name, stays out of it.

    What a factory-new HCA calls itself ("localhost", "MT4129 ConnectX7 ...") is no name of a design, so it is never matched by it.
    """
    found = Matched()
    guids = {switch.guid: switch.name for switch in subnet.switches}
    guids.update({hca.node_guid: hca.name for hca in subnet.hcas})
    for guid in topology.nodes:
        if guid in guids:
            found.name[guid], found.guid[guids[guid]] = guids[guid], guid
    placeholders = {switch.name for switch in subnet.switches if switch.placeholder}
    placeholders.update(hca.name for hca in subnet.hcas if hca.placeholder)
    kinds = {**dict.fromkeys(subnet.switch, "switch"), **dict.fromkeys(subnet.hca, "hca")}
    words: dict[str, list[int]] = {}
    for guid, node in topology.nodes.items():
        word = spoken(node)
        if kinds.get(word) != node.info.kind:
            continue
        if guid in found.name:
            if found.name[guid] != word:
                found.contrary[found.name[guid]] = word
        elif word in placeholders and word not in found.guid:
            words.setdefault(word, []).append(guid)
    for word, claimants in words.items():
        if len(claimants) > 1:
            found.doubles[word] = claimants
        else:
            found.name[claimants[0]], found.guid[word] = word, claimants[0]
            found.by_word.add(word)
    return found


def spoken(node: Node) -> str:
    """The name in a node's description."""
    managed = _MANAGED.match(node.description)
    return managed.group(1) if managed else node.description


def stranger(node: Node) -> str:
    """How a node that is not in the design is written: its kind, GUID and what it says of itself."""
    kind = {"switch": "switch", "hca": "HCA", "router": "router"}[node.info.kind]
    return f"{kind} 0x{node.guid:016x} ({node.description or 'without a description'})"
