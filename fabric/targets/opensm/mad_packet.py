"""One question to a node as a 256-byte management datagram (MAD), and the answer's data. Pure.

Layouts: InfiniBand Architecture Specification, volume 1, 13.4.3 (common header), 14.2.1 (SMPs), 16.1 (PerfMgt).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

SIZE: Final = 256
GET: Final = 0x01
GET_RESPONSE: Final = 0x81
SMP: Final = 0x01  # management class: subnet management, LID-routed
SMP_DIRECTED: Final = 0x81  # the same by directed route
PERFORMANCE: Final = 0x04
DATA: Final = 64  # where the attribute stands in all three classes
PERMISSIVE_LID: Final = 0xFFFF
MOST_HOPS: Final = 63

NODE_DESCRIPTION: Final = 0x10
NODE_INFO: Final = 0x11
SWITCH_INFO: Final = 0x12
PORT_INFO: Final = 0x15
PKEY_TABLE: Final = 0x16
SL_TO_VL: Final = 0x17
VL_ARBITRATION: Final = 0x18
LINEAR_FORWARDING: Final = 0x19
SM_INFO: Final = 0x20
PORT_COUNTERS: Final = 0x12  # of PerfMgt

_HEADER: Final = struct.Struct(">BBBBHBBQHHI")


@dataclass(frozen=True, slots=True)
class Request:
    """A Get of one attribute.

    To `lid` when that is not 0, else by the directed route `path` (out ports, empty = the own node). `select` is PerfMgt's
    PortSelect and 0 for an SMP, whose port stands in `modifier`. `key` is the caller's own and comes back with the answer.
    """

    attribute: int
    modifier: int
    lid: int
    path: tuple[int, ...]
    key: tuple[int, ...] = ()
    performance: bool = False
    select: int = 0

    @property
    def management_class(self) -> int:
        """The class that carries it."""
        if self.performance:
            return PERFORMANCE
        return SMP if self.lid else SMP_DIRECTED


def encode(request: Request, transaction: int, m_key: int = 0) -> bytes:
    """The datagram. `transaction` has 32 bits: the kernel keeps the upper half for itself. `m_key` goes with SMPs only."""
    packet = bytearray(SIZE)
    hops = 0 if request.lid else len(request.path)
    kind = request.management_class
    _HEADER.pack_into(packet, 0, 1, kind, 1, GET, 0, 0, hops, transaction, request.attribute, 0, request.modifier)
    if kind != PERFORMANCE:
        struct.pack_into(">Q", packet, 24, m_key)
    if kind == SMP_DIRECTED:
        struct.pack_into(">HH", packet, 32, PERMISSIVE_LID, PERMISSIVE_LID)
        packet[129 : 129 + hops] = bytes(request.path)  # the first byte of the path is not used
    elif kind == PERFORMANCE:
        packet[DATA + 1] = request.select
    return bytes(packet)


@dataclass(frozen=True, slots=True)
class Answer:
    """A GetResp: its transaction (lower 32 bits), attribute, modifier, status (0 = good; bit 15 of a directed answer left out) and data."""

    transaction: int
    attribute: int
    modifier: int
    status: int
    data: bytes


def decode(packet: bytes) -> Answer | None:
    """The answer in a datagram; None for what is too short or is no answer to a Get (a trap, somebody's question)."""
    if len(packet) < SIZE:
        return None
    _base, _kind, _version, method, status, _pointer, _hops, transaction, attribute, _, modifier = _HEADER.unpack_from(
        packet
    )
    if method != GET_RESPONSE:
        return None
    return Answer(
        transaction & 0xFFFFFFFF,
        attribute,
        modifier,
        status & 0x7FFF,
        packet[DATA:256] if _kind == PERFORMANCE else packet[DATA:128],
    )
