"""The attributes of subnet management and PerfMgt as bytes -> values. Pure; what a device says is not trusted: codes are checked.

Offsets: InfiniBand Architecture Specification, volume 1, chapter 14 (SMPs) and 16.1 (PerfMgt), as in libibmad's field table.
"""

from __future__ import annotations

import struct
from typing import Final

from fabric.errors import FabricError
from fabric.targets.opensm.mad_model import (
    NodeInfo,
    NodeKind,
    PortCounters,
    PortInfo,
    PortState,
    SmInfo,
    SmState,
    SwitchInfo,
)

KINDS: Final[dict[int, NodeKind]] = {1: "hca", 2: "switch", 3: "router"}
STATES: Final[dict[int, PortState]] = {1: "down", 2: "initialize", 3: "armed", 4: "active"}
SM_STATES: Final[tuple[SmState, ...]] = ("not active", "discovering", "standby", "master")
LINK_UP: Final = 5  # PortPhysicalState
WIDTHS: Final = {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}
SPEEDS: Final = {1: 2.5, 2: 5.0, 4: 10.0}  # LinkSpeedActive: SDR, DDR, QDR
EXTENDED_SPEEDS: Final = {1: 14.0625, 2: 25.78125, 4: 53.125, 8: 106.25}  # LinkSpeedExtActive: FDR, EDR, HDR, NDR
IS_SM: Final = 1 << 1  # bit of CapabilityMask
MOST_PORTS: Final = 254  # 255 in a forwarding table says "no route"
_COUNTERS: Final = struct.Struct(">4xHBBHHHHBBxBHHIIIII")


class GarbledError(FabricError):
    """An answer that no device of sound mind gives; the message names the attribute and the value."""


def node_info(data: bytes) -> NodeInfo:
    """NodeInfo; GarbledError for an unknown kind, no GUID, or a port count or number that cannot be."""
    code, ports, system, guid, port_guid, cap, device, _revision, tail = struct.unpack(">xxBBQQQHHII", _first(data, 40))
    kind = KINDS.get(code)
    local = tail >> 24
    if kind is None or guid == 0:
        raise GarbledError(f"NodeInfo has node type {code} and GUID 0x{guid:016x}")
    if not 1 <= ports <= MOST_PORTS or local > ports:
        raise GarbledError(f"NodeInfo of GUID 0x{guid:016x} says port {local} of {ports}")
    return NodeInfo(kind, ports, system, guid, port_guid, cap, tail & 0xFFFFFF, device, local)


def node_description(data: bytes) -> str:
    """NodeDescription: the text up to the first zero byte, with a question mark for each character that cannot be printed."""
    text = data[:64].split(b"\0", 1)[0].decode(errors="replace")
    return "".join(letter if letter.isprintable() else "?" for letter in text).strip()


def port_info(data: bytes) -> PortInfo:
    """PortInfo; GarbledError for an unknown port state."""
    data = _first(data, 64)
    lid, sm_lid, capabilities = struct.unpack_from(">HHI", data, 16)
    state = STATES.get(data[32] & 0xF)
    if state is None:
        raise GarbledError(f"PortInfo of LID {lid} has port state {data[32] & 0xF}")
    link_up = data[33] >> 4 == LINK_UP
    # Old devices leave the extended speed 0 and mean the old field; on a link that is down both are what was last.
    speed = EXTENDED_SPEEDS.get(data[62] >> 4, 0.0) or SPEEDS.get(data[35] >> 4, 0.0)
    return PortInfo(
        lid=lid, lmc=data[34] & 7, sm_lid=sm_lid, sm_sl=data[36] & 0xF, is_sm=bool(capabilities & IS_SM),
        state=state, link_up=link_up, width=WIDTHS.get(data[31], 0) if link_up else 0, speed=speed if link_up else 0.0,
        mtu=_mtu(data[36] >> 4), mtu_cap=_mtu(data[41] & 0xF), vl_cap=_vls(data[37] >> 4), data_vls=_vls(data[43] >> 4),
        high_limit=data[38], arb_high_cap=data[39], arb_low_cap=data[40],
    )  # fmt: skip


def switch_info(data: bytes) -> SwitchInfo:
    """SwitchInfo; GarbledError when the highest LID lies beyond the table or beyond unicast LIDs (0xBFFF)."""
    cap, top, partitions = struct.unpack(">H4xH6xH", _first(data, 16))
    if top > 0xBFFF or (cap and top >= cap):
        raise GarbledError(f"SwitchInfo says LinearFDBTop {top} of {cap} entries")
    return SwitchInfo(cap, top, partitions, enhanced_port0=bool(data[16] & 0x08))


def sm_info(data: bytes) -> SmInfo:
    """SMInfo; GarbledError for an unknown state."""
    guid, _key, activity, last = struct.unpack(">QQIB", _first(data, 21))
    if last & 0xF >= len(SM_STATES):
        raise GarbledError(f"SMInfo of GUID 0x{guid:016x} has state {last & 0xF}")
    return SmInfo(guid, activity, last >> 4, SM_STATES[last & 0xF])


def pkey_block(data: bytes) -> tuple[int, ...]:
    """One block of a P_Key table: 32 entries with the membership bit (0x8000 = full), 0 for a free one."""
    return struct.unpack(">32H", _first(data, 64))


def sl_to_vl(data: bytes) -> tuple[int, ...]:
    """SLtoVLMappingTable: the VL of each of 16 SLs; 15 drops."""
    return tuple(vl for byte in _first(data, 8) for vl in (byte >> 4, byte & 0xF))


def vl_arbitration(data: bytes) -> tuple[tuple[int, int], ...]:
    """One block of a VL arbitration table: 32 x (VL, weight in units of 64 bytes); weight 0 skips the entry."""
    data = _first(data, 64)
    return tuple((data[place] & 0xF, data[place + 1]) for place in range(0, 64, 2))


def port_counters(data: bytes) -> PortCounters:
    """PortCounters of PerfMgt."""
    fields = _COUNTERS.unpack(_first(data, 44))
    nibbles, _qp1_dropped, vl15 = fields[9:12]
    values: tuple[int, ...] = (*fields[:9], nibbles >> 4, nibbles & 0xF, vl15, *fields[12:])
    return PortCounters(*values)


def _mtu(code: int) -> int:
    """Bytes of an MTU code (1 = 256 ... 5 = 4,096); 0 for none."""
    return 128 << code if 1 <= code <= 5 else 0


def _vls(code: int) -> int:
    """Data VLs of a VL code (1 = VL0, 2 = VL0-1, 3 = VL0-3, 4 = VL0-7, 5 = VL0-14); 0 for none."""
    return {1: 1, 2: 2, 3: 4, 4: 8, 5: 15}.get(code, 0)


def _first(data: bytes, size: int) -> bytes:
    """The first `size` bytes; GarbledError when there are fewer."""
    if len(data) < size:
        raise GarbledError(f"an answer has {len(data)} bytes of data, {size} are needed")
    return data[:size]
