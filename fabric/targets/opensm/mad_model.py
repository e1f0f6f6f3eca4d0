"""What is read from a live InfiniBand subnet, as values: nodes, ports, links, counters, the subnet manager. GUIDs and LIDs are ints.

Field names and codes are those of the InfiniBand Architecture Specification, volume 1, chapter 14 (as libibmad prints them).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

NodeKind = Literal["hca", "switch", "router"]
PortState = Literal["down", "initialize", "armed", "active"]
SmState = Literal["not active", "discovering", "standby", "master"]
End = tuple[int, int]  # (node GUID, port number)
Link = tuple[End, End]  # the smaller end first


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """What a node says of itself. `port_guid` and `local_port` are of the port that was asked; a switch has one port GUID (port 0)."""

    kind: NodeKind
    ports: int
    system_guid: int
    guid: int
    port_guid: int
    partition_cap: int
    vendor: int
    device: int
    local_port: int


@dataclass(frozen=True, slots=True)
class PortInfo:
    """The state of one port. `lid` 0: none assigned. `link_up`: the physical state is LinkUp.

    `width` is in lanes (4 for 4x), `speed` in Gb/s a lane (53.125 for HDR); both 0 while the link is down. `mtu` (of the link) and
    `mtu_cap` are in bytes; `data_vls` is the number of data VLs in use. `high_limit` is in units of 4 KB.
    """

    lid: int
    lmc: int
    sm_lid: int
    sm_sl: int
    is_sm: bool
    state: PortState
    link_up: bool
    width: int
    speed: float
    mtu: int
    mtu_cap: int
    vl_cap: int
    data_vls: int
    high_limit: int
    arb_high_cap: int
    arb_low_cap: int


@dataclass(frozen=True, slots=True)
class SwitchInfo:
    """A switch's tables: `lft_cap` entries possible, `lft_top` the highest LID in use; `enhanced_port0` says that port 0 is a full port."""

    lft_cap: int
    lft_top: int
    partition_cap: int
    enhanced_port0: bool


@dataclass(frozen=True, slots=True)
class SmInfo:
    """What a subnet manager says of itself. `guid` is the port GUID it is bound to."""

    guid: int
    activity: int
    priority: int
    state: SmState


@dataclass(frozen=True, slots=True)
class PortCounters:
    """Error and traffic counters of one port (PerfMgt PortCounters). They stop at their largest value; data in units of four bytes."""

    symbol_errors: int
    link_error_recovery: int
    link_downed: int
    receive_errors: int
    remote_physical_errors: int
    switch_relay_errors: int
    transmit_discards: int
    transmit_constraint_errors: int
    receive_constraint_errors: int
    local_integrity_errors: int
    excessive_buffer_overruns: int
    vl15_dropped: int
    transmit_data: int
    receive_data: int
    transmit_packets: int
    receive_packets: int
    transmit_wait: int


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a live subnet. `path` is the directed route to it from the asking port: the out port of each node on the way.

    `lid` is the node's own: port 0 of a switch, the reached port of an HCA. `description` has only printable characters.
    """

    info: NodeInfo
    description: str
    path: tuple[int, ...]
    lid: int
    switch: SwitchInfo | None

    @property
    def guid(self) -> int:
        """The node GUID."""
        return self.info.guid

    @property
    def is_switch(self) -> bool:
        """Whether it forwards."""
        return self.info.kind == "switch"


@dataclass(frozen=True)
class Topology:
    """A live subnet as one sweep saw it.

    `nodes` by node GUID; `ports` by (node GUID, port number): every port of a switch with port 0, the reached ports of an HCA.
    `links` are sorted, each with its smaller end first. `home` is the end from which it was asked. `problems` says in one line
    each what did not answer or answered nonsense: a sweep with problems is not the whole subnet. `port_guids`: HCA end -> the GUID
    that the port gave of itself.
    """

    home: End
    nodes: Mapping[int, Node]
    ports: Mapping[End, PortInfo]
    links: tuple[Link, ...]
    problems: tuple[str, ...]
    port_guids: Mapping[End, int] = field(default_factory=dict)

    @cached_property
    def far(self) -> dict[End, End]:
        """End of a link -> its other end."""
        found = dict(self.links)
        found.update({b: a for a, b in self.links})
        return found

    @cached_property
    def switches(self) -> tuple[Node, ...]:
        """Switches by GUID."""
        return tuple(self.nodes[guid] for guid in sorted(self.nodes) if self.nodes[guid].is_switch)

    @cached_property
    def hca_ports(self) -> tuple[End, ...]:
        """The reached ports of nodes that do not forward, sorted."""
        return tuple(sorted(end for end in self.ports if not self.nodes[end[0]].is_switch))

    @cached_property
    def port_guid(self) -> dict[End, int]:
        """HCA end -> port GUID: as the port itself said (`port_guids`), else that of the node's own NodeInfo."""
        return {end: self.port_guids.get(end, self.nodes[end[0]].info.port_guid) for end in self.hca_ports}
