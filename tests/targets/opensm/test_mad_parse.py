from __future__ import annotations

from dataclasses import replace

import pytest

from fabric.targets.opensm import mad_packet as packet
from fabric.targets.opensm import mad_parse as parse
from fabric.targets.opensm.mad_model import NodeInfo, PortCounters, SmInfo, SwitchInfo
from fabric.targets.opensm.mad_packet import Request
from tests.targets.opensm.mad_fake import node_info, port_info, switch_info

# Written by hand from the architecture's tables, one field after the other.
COUNTERS = bytes.fromhex(
    "0001 0000 004d 02 03 0004 0005 0006 0007 08 09 00 ab 000c 000d 0000000e 0000000f 00000010 00000011 00000012"
)


def test_node_info() -> None:
    found = parse.node_info(node_info(1, 2, 0xA000, 0xA002, 2))
    assert found == NodeInfo("hca", 2, 0xA000, 0xA000, 0xA002, 32, 0x2C9, 0x1021, 2)


def test_port_info() -> None:
    found = parse.port_info(port_info(77, is_sm=True))
    assert (found.lid, found.sm_lid, found.sm_sl, found.is_sm, found.state) == (77, 1, 3, True, "active")
    assert (found.link_up, found.width, found.speed, found.mtu, found.mtu_cap) == (True, 4, 53.125, 4096, 4096)
    assert (found.vl_cap, found.data_vls, found.high_limit, found.arb_high_cap, found.arb_low_cap) == (8, 8, 7, 8, 40)


@pytest.mark.parametrize(
    ("width", "old", "extended", "lanes", "speed"),
    [
        (2, 4, 8, 4, 106.25),
        (2, 4, 2, 4, 25.78125),
        (1, 1, 0, 1, 2.5),
        (16, 4, 0, 2, 10.0),
        (8, 2, 1, 12, 14.0625),
        (3, 3, 3, 0, 0.0),
    ],
)
def test_width_and_speed(width: int, old: int, extended: int, lanes: int, speed: float) -> None:
    found = parse.port_info(port_info(width=width, old=old, extended=extended))
    assert (found.width, found.speed) == (lanes, speed)
    down = parse.port_info(port_info(width=width, old=old, extended=extended, state=1, physical=2))
    assert (down.width, down.speed, down.link_up, down.state) == (0, 0.0, False, "down")


def test_other_attributes() -> None:
    assert parse.switch_info(switch_info(76)) == SwitchInfo(49152, 76, 64, enhanced_port0=True)
    assert parse.sm_info(bytes.fromhex("000000000000a001 0000000000000000 000007ee e2")) == SmInfo(
        0xA001, 2030, 14, "standby"
    )
    assert parse.pkey_block(bytes.fromhex("ffff7fff9001") + bytes(58))[:4] == (0xFFFF, 0x7FFF, 0x9001, 0)
    assert parse.sl_to_vl(bytes.fromhex("0123456789abcdef")) == tuple(range(16))
    assert parse.vl_arbitration(bytes([0x10, 64, 0xF1, 128]) + bytes(60))[:3] == ((0, 64), (1, 128), (0, 0))
    assert parse.port_counters(COUNTERS) == PortCounters(77, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"leaf0001\0rubbish", "leaf0001"),
        (b"a\x1b[2Jb\nc", "a?[2Jb?c"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b" x " + bytes(61), "x"),
        (b"", ""),
    ],
)
def test_node_description(data: bytes, text: str) -> None:
    assert parse.node_description(data) == text


GARBAGE = [
    (parse.node_info, node_info(9, 1, 5, 5, 1), "NodeInfo has node type 9 and GUID 0x0000000000000005"),
    (parse.node_info, node_info(2, 1, 0, 5, 1), "NodeInfo has node type 2 and GUID 0x0000000000000000"),
    (parse.node_info, node_info(2, 255, 5, 5, 1), "NodeInfo of GUID 0x0000000000000005 says port 1 of 255"),
    (parse.node_info, node_info(1, 2, 5, 5, 3), "NodeInfo of GUID 0x0000000000000005 says port 3 of 2"),
    (parse.port_info, port_info(7, state=5), "PortInfo of LID 7 has port state 5"),
    (parse.switch_info, switch_info(0xC000), "SwitchInfo says LinearFDBTop 49152 of 49152 entries"),
    (parse.switch_info, switch_info(100, cap=100), "SwitchInfo says LinearFDBTop 100 of 100 entries"),
    (parse.sm_info, bytes(20) + b"\x04", "SMInfo of GUID 0x0000000000000000 has state 4"),
    (parse.pkey_block, b"\xff\xff", "an answer has 2 bytes of data, 64 are needed"),
    (parse.port_counters, bytes(43), "an answer has 43 bytes of data, 44 are needed"),
]  # fmt: skip


@pytest.mark.parametrize(("read", "data", "message"), GARBAGE)
def test_garbage_is_refused(read: object, data: bytes, message: str) -> None:
    assert callable(read)
    with pytest.raises(parse.GarbledError) as caught:
        read(data)
    assert str(caught.value) == message


def test_a_directed_request_in_bytes() -> None:
    data = packet.encode(packet.Request(packet.PORT_INFO, 9, 0, (1, 17)), 0x1234)
    assert data[:24].hex(" ", 4) == "01810101 00000002 00000000 00001234 00150000 00000009"
    assert data[32:36] == b"\xff\xff\xff\xff"
    assert data[128:132].hex() == "00011100"
    assert data[24:32] == bytes(8)
    assert len(data) == 256


def test_an_m_key_goes_with_smps_only() -> None:
    asked = Request(packet.PORT_INFO, 1, 5, ())
    assert packet.encode(asked, 1, 0x1122334455667788)[24:32].hex() == "1122334455667788"
    counters = packet.encode(replace(asked, performance=True, select=9), 1, 0x1122334455667788)
    assert counters[24:32] == bytes(8)
    assert (counters[1], counters[65]) == (4, 9)


def test_answers_and_what_is_none() -> None:
    data = bytearray(packet.encode(packet.Request(packet.PORT_INFO, 9, 0, (1,)), 7))
    assert packet.decode(bytes(data)) is None  # a question
    data[3], data[4], data[8] = 0x81, 0x80, 0xAB
    data[64:66] = b"hi"
    found = packet.decode(bytes(data))
    assert found is not None
    assert replace(found, data=found.data[:2]) == packet.Answer(7, packet.PORT_INFO, 9, 0, b"hi")
    assert len(found.data) == 64
    assert packet.decode(bytes(data[:255])) is None
    data[5] = 0x1C
    refused = packet.decode(bytes(data))
    assert refused is not None
    assert refused.status == 0x1C
