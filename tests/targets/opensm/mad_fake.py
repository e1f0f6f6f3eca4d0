"""A tiny InfiniBand subnet that answers datagrams as devices do, with faults: what it never answers, what it answers wrongly."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from fabric.targets.opensm import mad_packet as packet

LEAF, SPINE, HCA = 0x9000, 0x9100, 0xA000


def node_info(kind: int, ports: int, guid: int, port_guid: int, local: int, cap: int = 32) -> bytes:
    return struct.pack(
        ">BBBBQQQHHIB3s", 1, 1, kind, ports, guid, guid, port_guid, cap, 0x1021, 0xA1, local, b"\x00\x02\xc9"
    ).ljust(64, b"\0")


def port_info(
    lid: int = 0,
    *,
    state: int = 4,
    physical: int = 5,
    width: int = 2,
    old: int = 4,
    extended: int = 4,
    is_sm: bool = False,
) -> bytes:
    data = bytearray(64)
    struct.pack_into(">HHI", data, 16, lid, 1, 2 if is_sm else 0)
    data[31], data[32], data[33], data[35], data[62] = width, state, physical << 4 | 2, old << 4, extended << 4
    data[34], data[36], data[37], data[38], data[39], data[40], data[41], data[43] = (
        0,
        5 << 4 | 3,
        4 << 4,
        7,
        8,
        40,
        5,
        4 << 4,
    )
    return bytes(data)


def switch_info(top: int, cap: int = 49152) -> bytes:
    data = bytearray(64)
    struct.pack_into(">HHHH", data, 0, cap, 0, 1024, top)
    struct.pack_into(">H", data, 14, 64)
    data[16] = 0x08
    return bytes(data)


@dataclass
class Box:
    """One node: kind (1 HCA, 2 switch), ports, LID."""

    kind: int
    ports: int
    guid: int
    lid: int
    name: bytes = b""
    table: bytes = bytes([255] * 64)


Change = Callable[[packet.Request, bytes], "bytes | None"]


@dataclass
class FakeFabric:
    """A leaf with two HCAs (ports 1, 2) and two cables (3, 4) to a spine (1, 2). It is a `Wire`: the first HCA is asked through.

    `change(request, data)` may alter an answer's data, or drop it (None). `clock` moves on by a tenth of a second when nothing comes.
    """

    change: Change = lambda _request, data: data
    boxes: dict[int, Box] = field(default_factory=dict)
    cables: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    now: float = 0.0
    sent: int = 0
    most: int = 0
    stray: deque[tuple[bytes, bool]] = field(default_factory=deque)
    _answers: deque[tuple[bytes, bool]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        for box in (
            Box(1, 1, HCA, 1, b"gt0001 mlx5_0"), Box(1, 1, HCA + 16, 2, b"gt0002 mlx5_0"), Box(2, 4, LEAF, 3, b"leaf0001"),
            Box(2, 4, SPINE, 4, b"spine\x1b[2J01\0rubbish"),
        ):  # fmt: skip
            self.boxes[box.guid] = box
        pairs = [((LEAF, 1), (HCA, 1)), ((LEAF, 2), (HCA + 16, 1)), ((LEAF, 3), (SPINE, 1)), ((LEAF, 4), (SPINE, 2))]
        for a, b in pairs:
            self.cables[a], self.cables[b] = b, a

    def clock(self) -> float:
        return self.now

    def send(self, data: bytes, kind: int, lid: int, timeout_ms: int) -> None:
        assert timeout_ms > 0
        self.sent += 1
        request, transaction = _decode(data, lid)
        assert request.management_class == kind
        reached = self._reach(request)
        answer = self.change(request, self._attribute(request, *reached)) if reached else None
        if answer is not None:
            self._answers.append((_respond(data, transaction, answer), False))
        self.most = max(self.most, len(self._answers))

    def receive(self, timeout_ms: int) -> tuple[bytes, bool] | None:
        if self.stray:
            return self.stray.popleft()
        if self._answers:
            return self._answers.popleft()
        self.now += timeout_ms / 1000
        return None

    def _reach(self, request: packet.Request) -> tuple[Box, int] | None:
        """The node that a request gets to, and the port by which it comes in."""
        if request.lid:
            return next(((box, 1) for box in self.boxes.values() if box.lid == request.lid), None)
        guid, port = HCA, 1
        for out in request.path:
            if (guid, out) not in self.cables:
                return None
            guid, port = self.cables[guid, out]
        return self.boxes[guid], port

    def _attribute(self, request: packet.Request, box: Box, port: int) -> bytes:
        number, modifier = request.attribute, request.modifier
        if request.performance:
            return struct.pack(">xBHHBB", request.select, 0, 77, 1, 2).ljust(192, b"\0")
        if number == packet.NODE_INFO:
            return node_info(box.kind, box.ports, box.guid, box.guid + (1 if box.kind == 1 else 0), port)
        if number == packet.PORT_INFO:
            up = (box.guid, modifier) in self.cables or (box.kind == 2 and modifier == 0)
            lid = box.lid if box.kind == 1 or modifier == 0 else 0
            return port_info(lid, state=4 if up else 1, physical=5 if up else 2, is_sm=box.guid == HCA)
        made: dict[int, bytes] = {
            packet.NODE_DESCRIPTION: box.name.ljust(64, b"\0"),
            packet.SWITCH_INFO: switch_info(4),
            packet.LINEAR_FORWARDING: box.table,
            packet.PKEY_TABLE: struct.pack(">32H", 0x7FFF, 0x9001, *[0] * 30),
            packet.SL_TO_VL: bytes(range(8)),
            packet.VL_ARBITRATION: bytes([0, modifier >> 16] * 32),
            packet.SM_INFO: struct.pack(">QQIB", HCA + 1, 0, 42, 14 << 4 | 3).ljust(64, b"\0"),
        }
        return made[number]


def _decode(data: bytes, lid: int) -> tuple[packet.Request, int]:
    """A datagram back to the request, by the architecture's own offsets."""
    assert len(data) == 256
    kind, method, hops = data[1], data[3], data[7]
    assert (data[0], data[2], method) == (1, 1, 1)
    transaction, attribute, modifier = struct.unpack_from(">QHxxI", data, 8)
    path = tuple(data[129 : 129 + hops]) if kind == 0x81 else ()
    return packet.Request(attribute, modifier, lid, path, (), kind == 4, data[65] if kind == 4 else 0), transaction


def _respond(data: bytes, transaction: int, answer: bytes) -> bytes:
    """The GetResp: the upper half of the transaction is the kernel's."""
    out = bytearray(data)
    out[3] = 0x81
    struct.pack_into(">Q", out, 8, 0xABCD << 32 | transaction)
    if out[1] == 0x81:
        out[4] |= 0x80  # the direction bit of a returning directed route
    out[64 : 64 + len(answer)] = answer
    return bytes(out[:256])
