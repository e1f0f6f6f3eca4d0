"""Reads a live InfiniBand subnet by management datagrams: topology, forwarding tables, partitions, QoS, counters, subnet managers.

    with open_subnet() as subnet:
        topology = subnet.discover()
        lfts = subnet.lfts(topology)

It only ever asks (Get), never sets. A table is asked for by LID, and once more by directed route where that brought no answer, so
that broken routes do not hide what is behind them. What did not answer is None: unknown, not wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, TypeVar

from fabric.errors import FabricError
from fabric.forwarding.tables import BLOCK, Builder, Lfts
from fabric.targets.opensm import mad_discover, mad_lib
from fabric.targets.opensm import mad_packet as packet
from fabric.targets.opensm import mad_parse as parse
from fabric.targets.opensm.mad_exchange import TIMEOUT_MS, TRIES, WINDOW, Exchange
from fabric.targets.opensm.mad_model import End, Node, PortCounters, SmInfo, Topology
from fabric.targets.opensm.mad_packet import Request

T = TypeVar("T")
Key = tuple[int, ...]
PKEYS_A_BLOCK: Final = 32
MOST_PKEYS: Final = 1024  # what a port is asked for at most, whatever its PartitionCap says
ARBITRATION_BLOCKS: Final = {"low": (1, 2), "high": (3, 4)}  # lower and upper 32 entries of each table
Arbitration = tuple[tuple[int, int], ...]


class SubnetReader:
    """Reads of one subnet through one port. Made by `open_subnet`; or over any `Exchange` (tests)."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def discover(self) -> Topology:
        """One sweep by directed routes: nodes, ports and links as they are now, with or without a subnet manager."""
        return mad_discover.discover(self._exchange)

    def lfts(self, topology: Topology) -> Lfts:
        """The linear forwarding tables of all switches, in binary blocks up to each switch's own highest LID."""
        tops = {node.guid: node.switch.lft_top for node in topology.switches if node.switch is not None}
        requests = (
            _request(packet.LINEAR_FORWARDING, number, topology.nodes[guid], (guid, number))
            for number in range(
                max(tops.values(), default=0) // BLOCK + 1
            )  # switch after switch, so that none gets many at once
            for guid, top in tops.items()
            if number <= top // BLOCK
        )
        builder = Builder([node.guid for node in topology.switches], max(tops.values(), default=0))
        self._each(requests, lambda key, data: builder.put(key[0], key[1], data[:BLOCK] if data is not None else None))
        for node in topology.switches:
            if node.switch is None:
                builder.put(node.guid, 0, None)
        return builder.done()

    def pkeys(self, topology: Topology, ends: Iterable[End]) -> dict[End, tuple[int, ...] | None]:
        """P_Keys of each end with the membership bit (0x8000 = full), free entries left out; None where a block did not come."""
        ends = list(ends)
        requests = [
            _request(
                packet.PKEY_TABLE,
                (end[1] << 16 if topology.nodes[end[0]].is_switch else 0) | block,
                topology.nodes[end[0]],
                (*end, block),
            )
            for end in ends
            for block in range(_pkey_blocks(topology.nodes[end[0]], end[1]))
        ]
        blocks = self._read(requests, parse.pkey_block)
        parts: dict[End, list[tuple[int, ...] | None]] = {end: [] for end in ends}
        for request in requests:
            parts[request.key[0], request.key[1]].append(blocks[request.key])
        return {end: _joined(found) for end, found in parts.items()}

    def sl2vl(
        self, topology: Topology, places: Iterable[tuple[int, int, int]]
    ) -> dict[tuple[int, int, int], tuple[int, ...] | None]:
        """The VL of each of 16 SLs by (node GUID, in port, out port); the in port of an HCA is 0."""
        requests = (
            _request(packet.SL_TO_VL, inward << 8 | out, topology.nodes[guid], (guid, inward, out))
            for guid, inward, out in places
        )
        return {(key[0], key[1], key[2]): found for key, found in self._read(requests, parse.sl_to_vl).items()}

    def vlarb(self, topology: Topology, ends: Iterable[End]) -> dict[End, dict[str, Arbitration | None]]:
        """VL arbitration of each end: "low" and "high", as many (VL, weight) entries as the port has; None for what did not come."""
        ends = list(ends)
        requests = [
            _request(packet.VL_ARBITRATION, block << 16 | end[1], topology.nodes[end[0]], (*end, block))
            for end in ends
            for table, blocks in ARBITRATION_BLOCKS.items()
            for block in blocks[: -(-_arbitration_cap(topology, end, table) // PKEYS_A_BLOCK)]
        ]
        found = self._read(requests, parse.vl_arbitration)
        return {end: {table: _arbitration(topology, end, table, found) for table in ARBITRATION_BLOCKS} for end in ends}

    def counters(self, topology: Topology, ends: Iterable[End]) -> dict[End, PortCounters | None]:
        """Error and traffic counters of each end. They travel by LID only: None for a node without one."""
        known = {end: topology.nodes[end[0]].lid for end in ends}
        requests = (
            Request(packet.PORT_COUNTERS, 0, lid, (), end, performance=True, select=end[1])
            for end, lid in known.items()
            if lid
        )
        found = self._read(requests, parse.port_counters)
        return {end: found.get(end) for end in known}

    def sm_info(self, topology: Topology, ends: Iterable[End]) -> dict[End, SmInfo | None]:
        """What the subnet manager on each end says of itself; None where none answers. `managers` names the ends to ask."""
        requests = (_request(packet.SM_INFO, 0, topology.nodes[end[0]], end) for end in ends)
        found = self._read(requests, parse.sm_info)
        return {(key[0], key[1]): info for key, info in found.items()}

    def managers(self, topology: Topology, declared: Iterable[End] = ()) -> dict[End, SmInfo | None]:
        """SMInfo of every port that says it holds a subnet manager (IsSM), standbys too, and of the `declared` ports.

        A port may lose the bit while its SM answers: in the simulator a cable that is pulled and put back clears it.
        """
        ends = dict.fromkeys(end for end, info in topology.ports.items() if info.is_sm)
        return self.sm_info(topology, [*ends, *(end for end in declared if end not in ends)])

    def _read(self, requests: Iterable[Request], read: Callable[[bytes], T]) -> dict[Key, T | None]:
        """Answers by the requests' keys; None for none, or for garbage."""
        found: dict[Key, T | None] = {}

        def keep(key: Key, data: bytes | None) -> None:
            try:
                found[key] = read(data) if data is not None else None
            except parse.GarbledError:
                found[key] = None

        self._each(requests, keep)
        return found

    def _each(self, requests: Iterable[Request], keep: Callable[[Key, bytes | None], None]) -> None:
        """Gives every answer to `keep`; what did not come by LID is asked again by directed route."""
        again: list[Request] = []

        def take(request: Request, data: bytes | None) -> Iterable[Request]:
            if data is None and request.lid and not request.performance:
                again.append(replace(request, lid=0))
            else:
                keep(request.key, data)
            return ()

        self._exchange.run(requests, take)
        self._exchange.run(again, take)


@contextmanager
def open_subnet(
    ca: str = "",
    port: int = 0,
    *,
    timeout_ms: int = TIMEOUT_MS,
    tries: int = TRIES,
    window: int = WINDOW,
    m_key: int = 0,
) -> Iterator[SubnetReader]:
    """A reader through `port` of the HCA `ca` ("" and 0 = the first active port, as infiniband-diags choose).

    FabricError in one line: no library, no device, no permission. With a window of 1 every question waits for its answer.
    `m_key` is needed where the subnet manager protects ports against reading (M_Key protection level 2 and above).
    """
    if window < 1 or tries < 1 or timeout_ms < 1:
        raise FabricError(f"a window of {window}, {tries} tries, {timeout_ms} ms: all must be at least 1")
    if not 0 <= m_key < 1 << 64:
        raise FabricError("an M_Key has 64 bits")
    with mad_lib.open_port(ca, port) as wire:
        yield SubnetReader(Exchange(wire, window=window, timeout_ms=timeout_ms, tries=tries, m_key=m_key))


def _request(attribute: int, modifier: int, node: Node, key: Key) -> Request:
    return Request(attribute, modifier, node.lid, node.path, key)


def _pkey_blocks(node: Node, port: int) -> int:
    """Blocks in the P_Key table of a port; a switch's outer ports have their own size in SwitchInfo."""
    cap = node.switch.partition_cap if node.switch is not None and port else node.info.partition_cap
    return max(1, -(-min(cap, MOST_PKEYS) // PKEYS_A_BLOCK))


def _joined(blocks: Sequence[tuple[int, ...] | None]) -> tuple[int, ...] | None:
    """P_Keys of all blocks in order; None when one is missing. 0x7fff and 0x8000 aside, a key with no number is a free entry."""
    found: list[int] = []
    for block in blocks:
        if block is None:
            return None
        found += [key for key in block if key & 0x7FFF]
    return tuple(found)


def _arbitration_cap(topology: Topology, end: End, table: str) -> int:
    """Entries that the port says it has; 64 at most, by the architecture."""
    info = topology.ports[end]
    return min(64, info.arb_low_cap if table == "low" else info.arb_high_cap)


def _arbitration(
    topology: Topology, end: End, table: str, found: Mapping[Key, Arbitration | None]
) -> Arbitration | None:
    cap = _arbitration_cap(topology, end, table)
    entries: list[tuple[int, int]] = []
    for block in ARBITRATION_BLOCKS[table][: -(-cap // PKEYS_A_BLOCK)]:
        part = found[(*end, block)]
        if part is None:
            return None
        entries += part
    return tuple(entries[:cap])
