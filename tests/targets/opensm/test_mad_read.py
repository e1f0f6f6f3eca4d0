from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from fabric.errors import FabricError
from fabric.targets.opensm import mad_lib
from fabric.targets.opensm import mad_packet as packet
from fabric.targets.opensm.mad import SubnetReader, open_subnet
from fabric.targets.opensm.mad_exchange import Exchange
from fabric.targets.opensm.mad_packet import Request
from tests.targets.opensm.mad_fake import HCA, LEAF, SPINE, Change, FakeFabric, node_info

LINKS = (((LEAF, 1), (HCA, 1)), ((LEAF, 2), (HCA + 16, 1)), ((LEAF, 3), (SPINE, 1)), ((LEAF, 4), (SPINE, 2)))


def reader(fake: FakeFabric, window: int = 4) -> SubnetReader:
    return SubnetReader(Exchange(fake, window=window, timeout_ms=300, tries=2, clock=fake.clock))


@pytest.mark.parametrize("window", [1, 2, 64])
def test_the_sweep(window: int) -> None:
    fake = FakeFabric()
    topology = reader(fake, window).discover()
    assert topology.links == LINKS
    assert topology.home == (HCA, 1)
    assert topology.problems == ()
    assert [node.description for node in topology.nodes.values()] == [
        "leaf0001",
        "spine?[2J01",
        "gt0001 mlx5_0",
        "gt0002 mlx5_0",
    ]
    assert [node.path for node in topology.switches] == [(1,), (1, 3)] or [node.path for node in topology.switches] == [
        (1,),
        (1, 4),
    ]
    assert {guid: topology.ports[end].lid for end, guid in topology.port_guid.items()} == {HCA + 1: 1, HCA + 17: 2}
    assert topology.ports[SPINE, 3].state == "down"
    assert topology.far[SPINE, 1] == (LEAF, 3)
    assert len(topology.ports) == 2 + 5 + 5
    assert fake.most <= window


def test_every_read() -> None:
    fake = FakeFabric()
    fake.boxes[LEAF].table = bytes([255, 1, 2, 0, 3] + [255] * 59)
    subnet = reader(fake)
    topology = subnet.discover()
    lfts = subnet.lfts(topology)
    assert lfts.guids == (LEAF, SPINE)
    assert lfts.table[0, :6].tolist() == [255, 1, 2, 0, 3, 255]
    assert lfts.unread == ()
    assert subnet.pkeys(topology, topology.hca_ports) == {(HCA, 1): (0x7FFF, 0x9001), (HCA + 16, 1): (0x7FFF, 0x9001)}
    switch_port = subnet.pkeys(topology, [(LEAF, 3)])[LEAF, 3]
    assert switch_port == (0x7FFF, 0x9001, 0x7FFF, 0x9001)  # two blocks of 32: PartitionEnforcementCap is 64
    assert subnet.sl2vl(topology, [(LEAF, 1, 3)]) == {(LEAF, 1, 3): (0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7)}
    arbitration = subnet.vlarb(topology, [(HCA, 1)])[HCA, 1]
    assert arbitration == {"low": ((0, 1),) * 32 + ((0, 2),) * 8, "high": ((0, 3),) * 8}
    counters = subnet.counters(topology, [(LEAF, 3)])[LEAF, 3]
    assert counters is not None
    assert (counters.symbol_errors, counters.link_error_recovery, counters.link_downed) == (77, 1, 2)
    managers = subnet.managers(topology)
    assert {end: info and (info.guid, info.priority, info.state) for end, info in managers.items()} == {
        (HCA, 1): (HCA + 1, 14, "master")
    }
    assert list(subnet.managers(topology, [(HCA + 16, 1), (HCA, 1)])) == [(HCA, 1), (HCA + 16, 1)]


def deaf(attribute: int, *, times: int = 10**6, lid_only: bool = False) -> Change:
    """Drops the first `times` answers to an attribute, all or those asked by LID."""
    left = [times]

    def change(request: Request, data: bytes) -> bytes | None:
        if request.attribute == attribute and not request.performance and (request.lid or not lid_only) and left[0]:
            left[0] -= 1
            return None
        return data

    return change


def test_a_lost_answer_is_asked_for_again() -> None:
    assert reader(FakeFabric(change=deaf(packet.NODE_INFO, times=1))).discover().problems == ()


def test_what_stays_silent_is_told_and_the_rest_is_there() -> None:
    topology = reader(FakeFabric(change=deaf(packet.SWITCH_INFO))).discover()
    assert topology.links == LINKS
    assert sorted(topology.problems) == ["leaf0001: no answer", "spine?[2J01: no answer"]
    assert reader(FakeFabric()).lfts(topology).unread == ((LEAF, 0), (SPINE, 0))


def test_nobody_answers() -> None:
    with pytest.raises(FabricError) as caught:
        reader(FakeFabric(change=deaf(packet.NODE_INFO))).discover()
    assert (
        str(caught.value)
        == "the InfiniBand port does not answer questions about itself (hint: is its link up? see ibstat)"
    )


def test_broken_routes_do_not_hide_tables() -> None:
    fake = FakeFabric(change=deaf(packet.LINEAR_FORWARDING, lid_only=True))
    subnet = reader(fake)
    topology = subnet.discover()
    assert subnet.lfts(topology).unread == ()
    silent = reader(FakeFabric(change=deaf(packet.PKEY_TABLE)))
    assert silent.pkeys(topology, [(HCA, 1)]) == {(HCA, 1): None}


def test_equal_guids_and_garbage_are_told() -> None:
    def twin(request: Request, data: bytes) -> bytes:
        if request.attribute == packet.NODE_INFO and request.path and request.path[-1] == 2:
            return node_info(1, 1, HCA, HCA + 1, 1)
        return data

    problems = reader(FakeFabric(change=twin)).discover().problems
    assert problems == (
        "the node behind port 2 of leaf0001: port 1 of GUID 0x000000000000a000 stands at the end of two links: are there equal GUIDs?",
    )

    def garbled(request: Request, data: bytes) -> bytes:
        return bytes(64) if request.attribute == packet.NODE_INFO and len(request.path) > 1 else data

    topology = reader(FakeFabric(change=garbled)).discover()
    assert set(topology.nodes) == {HCA, LEAF}
    assert (
        topology.problems[0]
        == "the node behind port 2 of leaf0001: NodeInfo has node type 0 and GUID 0x0000000000000000"
    )


def test_strays_and_forgeries_are_not_taken() -> None:
    fake = FakeFabric()
    forged = bytearray(packet.encode(Request(packet.PORT_INFO, 5, 0, ()), 1))
    forged[3] = 0x81
    fake.stray.extend([(b"short", False), (bytes(forged), False), (bytes(256), False)])
    assert reader(fake).discover().problems == ()


class FakeLibrary:
    """libibumad with one answer of each call."""

    def __init__(self, opened: int, registered: int = 3) -> None:
        self.opened, self.registered, self.closed = opened, registered, 0

    def umad_init(self) -> int:
        return 0

    def umad_size(self) -> int:
        return 64

    def umad_open_port(self, _ca: bytes | None, _port: int) -> int:
        return self.opened

    def umad_register(self, *_arguments: Any) -> int:
        return self.registered

    def umad_close_port(self, _handle: int) -> int:
        self.closed += 1
        return 0


WHICH = "InfiniBand device mlx5_9 port 2"
NO_PORT = [
    (
        FakeLibrary(-errno.EACCES),
        f"no permission to open {WHICH} (hint: run as root, or give the group of /dev/infiniband/umad* to this user)",
    ),
    (
        FakeLibrary(-errno.ENODEV),
        f"cannot open {WHICH}: No such device"
        " (hint: ibstat lists devices and ports; in a virtual lab run this under `fabric lab exec`)",
    ),
    (
        FakeLibrary(5, -errno.EPERM),
        "the InfiniBand port does not take management class 0x01: Operation not permitted"
        " (hint: another program may hold it; run as root)",
    ),
]


@pytest.mark.parametrize(("library", "message"), NO_PORT)
def test_why_a_port_does_not_open(monkeypatch: pytest.MonkeyPatch, library: FakeLibrary, message: str) -> None:
    monkeypatch.setattr(mad_lib, "load_library", lambda: library)
    with pytest.raises(FabricError) as caught, open_subnet("mlx5_9", 2):
        pytest.fail("it opened")
    assert str(caught.value) == message
    assert library.closed == (1 if library.opened >= 0 else 0)


def test_no_library() -> None:
    def absent(name: str, **_options: Any) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    with pytest.raises(
        FabricError, match=r"^cannot load libibumad\.so\.3: libibumad\.so\.3: cannot open shared object file"
    ):
        mad_lib.load_library(absent)


def test_a_simulator_that_is_not_there_is_not_waited_for(tmp_path: Path) -> None:
    sockets = tmp_path / "unix"
    sockets.write_text("0: 00000003 0 0 0002 03 1 @lab1:ctl@\n", encoding="utf-8")
    lab = {"LD_PRELOAD": "/usr/lib/umad2sim/libumad2sim.so", "IBSIM_SOCKNAME": "lab1"}
    mad_lib.look_for_simulator(lab, sockets)
    mad_lib.look_for_simulator({**lab, "IBSIM_SOCKNAME": "lab2", "IBSIM_SERVER_NAME": "far"}, sockets)
    mad_lib.look_for_simulator({"IBSIM_SOCKNAME": "lab2"}, sockets)
    mad_lib.look_for_simulator({**lab, "IBSIM_SOCKNAME": "lab2"}, tmp_path / "absent")
    with pytest.raises(FabricError) as caught:
        mad_lib.look_for_simulator({**lab, "IBSIM_SOCKNAME": "lab2"}, sockets)
    assert (
        str(caught.value) == "no ibsim answers at the socket 'lab2' (hint: is the lab up? see fabric lab status SPEC)"
    )


def test_senseless_settings() -> None:
    with (
        pytest.raises(FabricError, match="a window of 0, 3 tries, 1000 ms: all must be at least 1"),
        open_subnet(window=0),
    ):
        pytest.fail("it opened")


@pytest.mark.skipif("LD_PRELOAD" in os.environ or os.path.exists("/dev/infiniband"), reason="there is a device")  # noqa: PTH110
def test_this_machine_has_no_device() -> None:
    with (
        pytest.raises(FabricError, match=r"^(cannot open InfiniBand device of this machine|cannot load libibumad)"),
        open_subnet(),
    ):
        pytest.fail("it opened")
