"""Facts that the rest of the tool stands on, from the public sources that the catalog names."""

from __future__ import annotations

import time

import pytest

from fabric.catalog import KINDS, Catalog, PortMap, catalog
from fabric.errors import FabricError

QSFP_DD = [f"eth1/{cage}/1" for cage in range(1, 17)]
QSFP56 = [f"eth1/{cage}/1" for cage in range(17, 49)]
PIM = {pim: [f"eth{pim}/{cage}/1" for cage in range(1, 16, 2)] for pim in range(2, 10)}


@pytest.mark.parametrize("box", ["minipack2", "arista-7388x5"])
def test_grand_teton_map(box: str) -> None:
    port_map = catalog().switch(box).port_map("grand-teton")
    assert list(port_map.downlinks) == PIM[2] + PIM[3]
    assert list(port_map.uplinks) == [*PIM[8], *PIM[9], "eth7/1/1", "eth7/9/1"]
    assert port_map.reserved == {"front_end": "eth7/3/1"}
    assert (port_map.max_downlinks, port_map.max_uplinks) == (16, 18)


@pytest.mark.parametrize(
    ("box", "name", "down", "up", "host", "uplink"),
    [
        ("wedge400", "400g", QSFP_DD[:8], QSFP_DD[8:], (400, 35), (400, 26)),
        ("wedge400", "200g", QSFP56, QSFP_DD, (200, 24), (400, 26)),
        ("wedge400", "200g-200g-up", QSFP56, QSFP_DD, (200, 24), (200, 25)),
        ("wedge400-grandteton", "grand-teton", QSFP_DD[1::2], QSFP_DD[::2], (400, 35), (200, 25)),
        ("minipack2", "grand-teton", PIM[2] + PIM[3], None, (400, 35), (400, 26)),
        ("arista-7388x5", "grand-teton", PIM[2] + PIM[3], None, (400, 26), (400, 26)),
    ],
)
def test_maps_and_their_profiles(
    box: str, name: str, down: list[str], up: list[str] | None, host: tuple[int, int], uplink: tuple[int, int]
) -> None:
    switch = catalog().switch(box)
    port_map = switch.port_map(name)
    assert list(port_map.downlinks) == down
    assert up is None or list(port_map.uplinks) == up
    assert (port_map.host_speed_gbps, port_map.uplink_speed_gbps) == (host[0], uplink[0])
    assert {switch.profile_for(port, host[0], port_map.host_medium) for port in port_map.downlinks} == {host[1]}
    assert {switch.profile_for(port, uplink[0], port_map.uplink_medium) for port in port_map.uplinks} == {uplink[1]}


@pytest.mark.parametrize(("port", "pipe"), [("eth7/1/1", 14), ("eth7/9/1", 10), ("eth7/3/1", 15)])
def test_pipelines_of_named_ports(port: str, pipe: int) -> None:
    assert catalog().switch("minipack2").port(port).pipeline == pipe


def test_pipelines_of_the_pims_of_a_grand_teton_rack() -> None:
    switch = catalog().switch("minipack2")
    for pim, pipes in {2: range(8), 3: range(8), 8: range(8, 16), 9: range(8, 16)}.items():
        assert {switch.port(port).pipeline for port in PIM[pim]} == set(pipes)
    assert catalog().switch("wedge400").port("eth1/1/1").pipeline is None


def test_7388x5_names_of_the_halves_of_a_cage() -> None:
    switch = catalog().switch("arista-7388x5")
    assert switch.port("eth2/9/1").names == {"fboss": "eth2/9/1", "eos": "Ethernet2/5/1"}
    assert switch.port("eth2/10/1").names["eos"] == "Ethernet2/5/5"
    assert len({port.names["eos"] for port in switch.ports}) == 128


def test_what_a_wide_profile_takes_away() -> None:
    known = catalog()
    assert known.switch("minipack2").port("eth2/1/1").profiles[35].subsumes == ("eth2/2/1",)
    undeclared = known.switch("wedge400-grandteton").port("eth1/2/1").profiles[35]
    assert (undeclared.subsumes, undeclared.overlap) == ((), ("eth1/2/3",))


@pytest.mark.parametrize(
    ("chassis", "slots", "last"),
    [
        ("arista-7804r3", range(3, 7), "Ethernet6/36/1"),
        ("arista-7808r3", range(3, 11), "Ethernet10/36/1"),
        ("arista-7812r3", range(3, 15), "Ethernet14/36/1"),
        ("arista-7816r3", range(3, 19), "Ethernet18/36/1"),
    ],
)
def test_chassis(chassis: str, slots: range, last: str) -> None:
    switch = catalog().switch(chassis)
    ports = switch.chassis_ports("7800r3a-36d")
    assert switch.slots == tuple(slots)
    assert [(port.slot, port.port) for port in ports] == [(slot, port) for slot in slots for port in range(1, 37)]
    assert len(ports) == switch.limits["ports_400g"].value
    assert (ports[0].name, ports[-1].name) == ("Ethernet3/1/1", last)
    assert {port.port for port in ports if port.asic == 0} == set(range(1, 19))
    assert {port.port for port in ports if port.asic == 1} == set(range(19, 37))
    assert len(switch.chassis_ports("7800r3a-36p", cards=2)) == 72


def test_only_the_smallest_chassis_has_evidenced_slot_numbers() -> None:
    status = {n: catalog().switch(f"arista-78{n}r3").chassis for n in ("04", "08", "12", "16")}
    assert [one.first_slot.status for one in status.values() if one] == ["secondary"] + ["unverified"] * 3


def test_breakouts_of_a_line_card() -> None:
    card = catalog().line_card("7800r3a-36d")
    spelt = {entry.speed_gbps: (entry.eos_speed, entry.lanes_used) for entry in card.speeds}
    assert spelt == {400: ("400g-8", (1,)), 200: ("200g-4", (1, 5)), 100: ("100g-2", (1, 3, 5, 7))}
    assert card.speed(50) is None
    port = catalog().switch("arista-7808r3").chassis_ports(card)[0]
    assert port.lane_name(5) == "Ethernet3/1/5"


@pytest.mark.parametrize(
    ("box", "cells"),
    [
        ("wedge400", (117436, 12432, 19, 19, 1156, 1668)),
        ("wedge400-grandteton", (117436, 12432, 19, 19, 1156, 1668)),
        ("minipack2", (198279, 25383, 19, 19, 2160, 3184)),
    ],
)
def test_buffers(box: str, cells: tuple[int, ...]) -> None:
    known = catalog()
    buffers, asic = known.buffers(box), known.asic(known.switch(box).asic or "")
    names = ("shared_pool", "headroom_pool", "pg_min", "resume_offset", "headroom_downlink", "headroom_uplink")
    assert tuple(getattr(buffers, name).value for name in names) == cells
    assert asic.memory is not None
    assert cells[0] + cells[1] <= asic.memory.usable_cells_per_itm.value
    assert buffers.uplink_reach is not None
    extra_bits = (cells[5] - cells[4]) * asic.memory.cell_bytes.value * 8
    reach = buffers.uplink_reach
    assert extra_bits // (2 * 5 * reach.speed_gbps) == reach.length_m.value  # out and back at 5 ns/m


@pytest.mark.parametrize(("length", "xoff"), [(3, 315392), (300, 315392), (301, 778240), (2000, 1445888), (2001, None)])
def test_headroom_by_length(length: int, xoff: int | None) -> None:
    table = catalog().asic("jericho2c-plus").headroom_by_length
    assert table is not None
    assert table.xoff_bytes(length) == xoff


@pytest.mark.parametrize(
    ("asic", "limit", "value"),
    [
        ("tomahawk4", "ecmp_groups", 2048),
        ("tomahawk4", "ecmp_members", 56000),
        ("tomahawk4", "wide_ecmp_width", 128),
        ("tomahawk4", "logical_ports", 272),
        ("tomahawk4", "ars_groups", 127),
        ("tomahawk3", "wide_ecmp_width", 512),
        ("tomahawk3", "logical_ports", 160),
        ("tomahawk3", "ars_groups", 64),
        ("tomahawk3", "mirrors", 4),
        ("jericho2c-plus", "voqs_per_port", 8),
    ],
)
def test_asic_limits(asic: str, limit: str, value: int) -> None:
    assert catalog().asic(asic).limits[limit].value == value


@pytest.mark.parametrize(
    ("port", "label", "nvos"),
    [("1", "IB1/1/1", "sw1p1"), ("35", "IB1/18/1", "sw18p1"), ("64", "IB1/32/2", "sw32p2")],
)
def test_qm9700_labels(port: str, label: str, nvos: str) -> None:
    found = catalog().switch("qm9700").port(port)
    assert (found.label, found.names["nvos"], found.names["infiniband"]) == (label, nvos, port)


def test_infiniband_port_counts() -> None:
    assert {name: len(catalog().switch(name).ports) for name in ("qm8700", "qm9700")} == {"qm8700": 40, "qm9700": 64}


def test_grand_teton_host() -> None:
    host = catalog().host("grand-teton-h100")
    assert host.gpu_tdp_w is not None and host.gpu_tdp_w.value == 700
    assert host.backend_ifnames is not None and host.backend_ifnames.value[-1] == "beth7"
    assert host.pcie is not None
    assert [nic for group in host.pcie.groups for nic in group.nics] == list(range(8))


def test_host_counts_agree_and_their_nic_is_fast_enough() -> None:
    known = catalog()
    for name in known.names("host"):
        host = known.host(name)
        assert host.gpus.value == host.backend_nics.value == host.rails.value == len(host.hcas.value)
        assert known.nic(host.nic.value).speed_gbps.value == host.backend_speed_gbps.value


@pytest.mark.parametrize(("rack", "power"), [("orv3", 15), ("orv3-600a", 29), ("orv3n", 28), ("hpr-v1", 92)])
def test_rack_power(rack: str, power: float) -> None:
    assert catalog().rack(rack).power_kw.value == power


@pytest.mark.parametrize(
    ("cable", "medium", "length", "status"),
    [
        ("400g-cr8", "copper", 3, "unverified"),
        ("400g-fr4", "optical", 500, "primary"),
        ("400g-lr4-10km", "optical", 10000, "code"),
        ("ndr-2xdr4", "optical", 100, "secondary"),
        ("400g-dr4", "optical", None, None),
    ],
)
def test_cables(cable: str, medium: str, length: int | None, status: str | None) -> None:
    found = catalog().cable(cable)
    reach = found.max_length_m
    assert (found.medium, reach and reach.value, reach and reach.status) == (medium, length, status)


def test_references_between_files_lead_somewhere() -> None:
    known = catalog()
    for name in known.names("switch"):
        switch = known.switch(name)
        assert switch.asic is None or known.asic(switch.asic).name == switch.asic
        assert switch.fboss is None or known.buffers(name).pg_min.value > 0
        assert all(known.line_card(card).asic == switch.asic for card in switch.line_cards)


def test_names_are_unique_over_all_kinds() -> None:
    names = [name for kind in KINDS for name in catalog().names(kind)]
    assert len(names) == len(set(names))


def test_only_the_file_asked_for_is_read_and_once() -> None:
    known = Catalog()
    assert known.switch("minipack2") is known.switch("minipack2")
    assert set(known._models) == {("switch", "minipack2")}


def test_a_fixed_box_loads_within_30_ms_of_cpu() -> None:
    Catalog().switch("minipack2")  # builds the validators, once a process

    def cost() -> float:
        start = time.process_time()
        Catalog().switch("wedge400")
        return time.process_time() - start

    assert min(cost() for _ in range(5)) < 0.030


@pytest.mark.parametrize(
    ("ask", "message", "hint"),
    [
        (lambda: catalog().switch("minipak2"), "unknown switch 'minipak2'", "did you mean minipack2?"),
        (lambda: catalog().names("swich"), "unknown catalog kind 'swich'", "did you mean switch?"),
        (lambda: catalog().find("zzz"), "unknown entry 'zzz'", "known: arista-7388x5"),
        (lambda: catalog().switch("wedge400").port("eth1/49/1"), "no port 'eth1/49/1'", "eth1/1/1 to eth1/48/4"),
        (lambda: catalog().switch("wedge400").port_map("800g"), "no port map '800g'", "known: 400g, 200g"),
        (lambda: catalog().switch("wedge400").chassis_ports("7800r3a-36d"), "takes no line cards", None),
        (lambda: catalog().switch("arista-7804r3").chassis_ports("x"), "does not take line card 'x'", "7800r3a-36d"),
        (
            lambda: catalog().switch("arista-7804r3").chassis_ports("7800r3a-36d", cards=5),
            "has 4 line-card slots",
            None,
        ),
        (
            lambda: catalog().switch("minipack2").profile_for("eth2/2/1", 400, "copper"),
            "no 400G copper",
            "200G optical",
        ),
        (lambda: catalog().switch("wedge400").profile_for("eth1/17/1", 50, "copper"), "2 profiles", "NONE, RS528"),
        (lambda: catalog().buffers("qm9700"), "no FBOSS buffer numbers", None),
    ],
)
def test_refusals(ask: object, message: str, hint: str | None) -> None:
    assert callable(ask)
    with pytest.raises(FabricError) as caught:
        ask()
    assert message in caught.value.message
    assert "\n" not in str(caught.value)
    assert hint is None or hint in (caught.value.hint or "")


def test_the_fec_chooses_between_equally_wide_profiles() -> None:
    assert catalog().switch("wedge400").profile_for("eth1/17/1", 50, "copper", fec="RS528") == 21


def test_port_map_is_frozen() -> None:
    port_map: PortMap = catalog().switch("minipack2").port_map("grand-teton")
    with pytest.raises(ValueError, match="frozen"):
        port_map.name = "other"  # type: ignore[misc]
