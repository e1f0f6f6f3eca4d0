"""What is located in hand-made results: the part by name, or nobody."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from fabric.verify.collectives.model import Clue, Measurement, Part, Stage
from fabric.verify.locate import locate
from tests.verify.locate.simulate import places_of

A, B, C, D, E, F = (f"gt000{number}" for number in range(1, 7))
UNIT = [f"gt{number:04}" for number in range(1, 49)]


def m(
    stage: Stage, hosts: str | Sequence[str], speed: float, rails: tuple[int, ...] = (), test: str = "all_gather"
) -> Measurement:
    who = tuple(hosts.split()) if isinstance(hosts, str) else tuple(hosts)
    return Measurement(stage, test, who, rails, 1 << 33, (speed, speed * 1.01, speed * 0.99))


def pairs(*slow: str, speed: float = 180.0, full: float = 370.0) -> list[Measurement]:
    """Every two neighbours of 48 hosts; those with a name in `slow` at `speed`."""
    return [m("pairs", two, speed if set(two) & set(slow) else full) for two in zip(UNIT[::2], UNIT[1::2], strict=True)]


def rails(hosts: str, *slow: int, speed: float = 20.0) -> list[Measurement]:
    return [m("rails", hosts, speed if rail in slow else 46.0, (rail,)) for rail in range(8)]


NODES = [m("node", host, 450.0) for host in UNIT]
TWICE = [*pairs(A), m("retest", f"{A} {C}", 180.0), m("retest", f"{B} {D}", 371.0)]
CABLE = [*TWICE, *rails(f"{A} {E}", 3), *rails(f"{C} {F}")]
ONE_BAD = [m("node", host, 450.0 if host != A else 200.0) for host in UNIT]
HALVES = [
    m("node", host, 450.0 if (host, two) != (A, (2, 3)) else 200.0, two)
    for host in (A, B)
    for two in ((0, 1), (2, 3), (4, 5), (6, 7))
]
ENDS = [
    m("node", host, 450.0 if (host, two) != (A, (3, 4)) else 200.0, two) for host in (A, B) for two in ((2, 0), (3, 4))
]
LEAF = [x for one, other in zip(UNIT[0:8:2], UNIT[1:8:2], strict=True) for x in rails(f"{one} {other}", 3)]
ACROSS = [
    m("zones", two, 180.0 if set(UNIT[:8]) & set(two) else 370.0) for two in zip(UNIT[:24], UNIT[24:], strict=True)
]
WIRE = "leaf0004:1 <-> gt0001:mlx5_3"
CASES: dict[str, tuple[list[Measurement], list[Clue], list[tuple[str, str]]]] = {
    "healthy": ([*NODES, *pairs()], [], []),
    "nobody proven": (pairs(A), [], [("undecided", f"{A} or {B}")]),
    "report 11: a pair, both good with others": (
        [*pairs(A), m("retest", f"{A} {C}", 372.0), m("retest", f"{B} {D}", 371.0)], [], [("path", f"{A} <-> {B}")],
    ),
    "report 11, again": (
        [*pairs(A), m("retest", f"{A} {C}", 372.0), m("retest", f"{B} {D}", 371.0), m("retest", f"{A} {B}", 181.0)], [],
        [("path", f"{A} <-> {B}")],
    ),
    "slow once, good when repeated": (
        [*pairs(A, speed=290.0), m("retest", f"{A} {C}", 372.0), m("retest", f"{B} {D}", 371.0), m("retest", f"{A} {B}", 370.0)], [], [],
    ),
    "report 10: slow with every partner": (TWICE, [], [("host", A)]),
    "one rail": (CABLE, [], [("cable", WIRE)]),
    "one rail, a NIC's PCIe": (CABLE, [Clue("pcie", f"{A}:ib3", "2.5 GT/s x1")], [("nic", f"{A}:ib3")]),
    "one rail, a port's counter": (CABLE, [Clue("counter", "leaf0004:1", "symbol errors")], [("cable", WIRE)]),
    "all rails": ([*TWICE, *rails(f"{A} {E}", *range(8)), *rails(f"{C} {F}"), *rails(f"{B} {D}")], [], [("host", A)]),
    "NVLink": ([*ONE_BAD, *pairs()], [], [("gpu", f"{A}:gpu0-7")]),
    "NVLink, two GPUs": ([*ONE_BAD, *HALVES, *pairs()], [], [("gpu", f"{A}:gpu2-3")]),
    "NVLink, one GPU": ([*ONE_BAD, *HALVES, *ENDS, *pairs()], [], [("gpu", f"{A}:gpu3")]),
    "a leaf": ([*pairs(*UNIT[:8]), *LEAF, *rails(f"{UNIT[8]} {UNIT[9]}"), *rails(f"{UNIT[10]} {UNIT[11]}")], [], [("switch", "leaf0004")]),
    "a unit's uplinks": ([*pairs(), *ACROSS], [], [("zone-uplinks", "zone 1 uplinks")]),
    "could not be made": ([*pairs(), Measurement("node", "all_reduce", (A,), state="unmade", reason="no such program")], [], []),
    "of a host that nobody knows": ([*pairs(), m("pairs", "x y", 1.0)], [], []),
    "Xid": (pairs(), [Clue("xid", f"{A}:gpu5", "Xid 79")], [("gpu", f"{A}:gpu5")]),
    "flushed is never the cause": (pairs(), [Clue("flushed", A, "status 5"), Clue("flushed", B, "status 5")], []),
    "a port error": (pairs(), [Clue("port-error", f"{A}:mlx5_3", "port error", count=3)], [("cable", WIRE)]),
    "two ports' counters are two cables": (
        [], [Clue("counter", f"leaf0004:{port}", "symbol errors") for port in (1, 2)],
        [("cable", WIRE.replace("leaf0004:1", "leaf0004:2").replace(A, B)), ("cable", WIRE)],
    ),
    "a slow rail and another port's counter": (
        [m("rails", f"{C} {D}", 20.0, (3,)), *rails(f"{E} {F}")], [Clue("counter", "leaf0004:1", "symbol errors")],
        [("cable", WIRE), ("undecided", f"{C} or {D}")],
    ),
    "counters at many ports are the switch": (
        [], [Clue("counter", f"leaf0004:{port}", "symbol errors") for port in range(1, 8)], [("switch", "leaf0004")],
    ),
    "who retries with everybody": (
        pairs(), [Clue("retry-exceeded", f"{A}:ib3", "status 12", f"{other}:ib3") for other in (B, C, D)], [("cable", WIRE)],
    ),
    "retries of two": (pairs(), [Clue("retry-exceeded", f"{A}:ib3", "status 12", f"{B}:ib3")], []),
    "a setting": (pairs(), [Clue("gdr-disabled", A, "GPU Direct RDMA Disabled")], [("setting", A)]),
    "a setting of the fleet": (pairs(), [Clue("gdr-disabled", host, "x") for host in UNIT], [("setting", "gdr-disabled on 48 hosts")]),
}  # fmt: skip


def located(parts: Sequence[Part]) -> list[tuple[str, str]]:
    return [(part.kind, part.name) for part in parts]


@pytest.mark.parametrize("name", CASES)
def test_the_smallest_explanation(name: str) -> None:
    measurements, clues, expected = CASES[name]
    parts = locate(places_of("ib-lab"), measurements, clues)
    assert located(parts) == expected
    assert all(part.evidence and part.next and 0 < part.confidence < 1 for part in parts)
    assert locate(places_of("ib-lab"), list(reversed(measurements)), clues) is not None


def test_cable_nic_and_port_are_one_place_until_a_clue_decides() -> None:
    (open_,) = locate(places_of("ib-lab"), CABLE)
    assert open_.others == ("gt0001:ib3", "leaf0004:1") and "counters" in open_.next and "swap" in open_.next
    assert "zone 1, rack 1, unit 1" in open_.place and open_.hosts == (A,)
    (decided,) = locate(places_of("ib-lab"), CABLE, [Clue("counter", "leaf0004:1", "symbol errors")])
    assert "swap" not in decided.next


def test_wrong_data_is_fatal_at_full_speed() -> None:
    found = [replace(one, wrong=7, values=(370.0,)) if A in one.hosts else one for one in TWICE]
    assert located(locate(places_of("ib-lab"), found)) == [("host", A)]


def test_below_what_is_expected() -> None:
    least = {("pairs", "all_gather"): 300.0}
    everywhere = locate(places_of("ib-lab"), pairs(full=200.0), expected=least)
    assert located(everywhere) == [("setting", "all_gather (pairs)")]
    assert located(locate(places_of("ib-lab"), pairs(full=320.0), expected=least)) == []
    one = [*pairs(A, speed=299.0, full=320.0), m("retest", f"{A} {C}", 200.0), m("retest", f"{B} {D}", 320.0)]
    assert (
        located(locate(places_of("ib-lab"), one))
        != located(locate(places_of("ib-lab"), one, expected=least))
        == [("host", A)]
    )


def test_noise_of_five_percent_blames_nobody() -> None:
    rng = random.Random(1)  # noqa: S311 a simulation
    for _ in range(40):
        noisy = [replace(one, values=tuple(370 * rng.gauss(1, 0.05) for _ in range(3))) for one in pairs()]
        assert locate(places_of("ib-lab"), noisy) == ()


def flows(slow: str, full: float = 45.0) -> list[Measurement]:
    """Flows between two racks of the lab over each of the two ways."""
    ups = {t.a: t for t in places_of("lab").uplinks("z01-rtsw001")}
    downs = {t.a: t for t in places_of("lab").uplinks("z01-rtsw002")}
    made = []
    for port in range(12):
        above = sorted(ups)[port % 2]
        trunks = (ups[above].name, downs[above].name)
        one = m(
            "paths",
            ("z01-r001-h1", "z01-r002-h1")[:: 1 if port < 6 else -1],
            9.0 if slow in trunks else full,
            (0,),
            "path",
        )
        made.append(replace(one, trunks=trunks))
    sure = {t.name for t in downs.values()} - {slow}  # in use by others as well
    return [
        *made,
        *(
            replace(m("paths", ("z01-r001-h2", "z01-r002-h2"), full, (0,), "path"), trunks=(name,))
            for name in sure
            for _ in range(2)
        ),
    ]


def test_every_slow_flow_crosses_the_trunk_and_no_fast_one_does() -> None:
    trunk = places_of("lab").uplinks("z01-rtsw001")[0]
    (part,) = locate(places_of("lab"), flows(trunk.name))
    assert (part.kind, part.name) == ("trunk", trunk.name)
    assert trunk.a_port in part.place and trunk.b_port in part.place
    assert locate(places_of("lab"), flows("")) == ()


def test_what_few_uplinks_cannot_show_acquits_nobody() -> None:
    """The lab's racks have uplinks for two rails of eight: all rails across say nothing of a slow NIC, one rail does."""
    names = list(places_of("lab").seats)
    found = [
        m("pairs", two, 100.0 if "z01-r001-h1" in two else 370.0) for two in zip(names[::2], names[1::2], strict=True)
    ]
    across = [m("retest", f"z01-r001-h{unit} z01-r002-h{unit}", 92.0) for unit in (1, 2)]
    assert located(locate(places_of("lab"), [*found, *across])) == [("undecided", "z01-r001-h1 or z01-r001-h2")]
    one_rail = [m("rails", "z01-r001-h1 z01-r002-h1", 46.0, (0,)), m("rails", "z01-r001-h2 z01-r002-h2", 46.0, (0,))]
    (part,) = locate(places_of("lab"), [*found, *one_rail])
    assert part.kind in ("path", "undecided")


def broken(stage: Stage, who: Sequence[Sequence[str]]) -> list[Measurement]:
    return [
        Measurement(stage, "all_gather", tuple(hosts), state="broken", reason="unhandled cuda error") for hosts in who
    ]


@pytest.mark.parametrize("stage", ["node", "pairs"])
@pytest.mark.parametrize("wrong", [False, True])
def test_what_breaks_nearly_everywhere_blames_no_part(stage: Stage, wrong: bool) -> None:
    who = [(host,) for host in UNIT] if stage == "node" else list(zip(UNIT[::2], UNIT[1::2], strict=True))
    bad = broken(stage, who[: len(who) * 3 // 4])
    if wrong:
        bad = [replace(one, state="ok", values=(370.0,), wrong=4) for one in bad]
    parts = locate(places_of("ib-lab"), [*bad, *(m(stage, hosts, 370.0) for hosts in who[len(bad) :])])
    assert [(part.kind, part.name) for part in parts] == [("setting", f"all_gather ({stage})")]


def test_two_hosts_that_break_are_still_named() -> None:
    bad = [replace(one, test=test) for one in broken("node", [(A,), (C,)]) for test in ("all_gather", "all_reduce")]
    good = [one for one in NODES if one.hosts not in ((A,), (C,))]
    assert {part.name for part in locate(places_of("ib-lab"), [*good, *bad])} == {f"{A}:gpu0-7", f"{C}:gpu0-7"}


def test_results_by_mpi_are_not_held_against_those_of_gpus() -> None:
    slow = [replace(one, by="mpi") for one in pairs(*UNIT[:4], speed=5.0)[:2]]
    retests = [replace(m("retest", two, 5.0), by="mpi") for two in ((A, C), (B, D))]
    assert locate(places_of("ib-lab"), [*pairs()[2:], *slow, *retests]) == ()


@pytest.mark.parametrize("rails", [(99,), (-1,), (0, 8)])
def test_rails_that_no_host_has_and_a_host_with_itself_say_nothing(rails: tuple[int, ...]) -> None:
    odd = broken("rails", [(A, B), (A, C)])
    same = broken("pairs", [(A, A)]) * 3
    assert locate(places_of("ib-lab"), [*pairs(), *(replace(one, rails=rails) for one in odd), *same]) == ()


def test_many_tests_of_one_pair_blame_no_host_that_met_nobody_else() -> None:
    tests = ("all_gather", "all_reduce", "reduce_scatter", "alltoall", "sendrecv")
    results = [replace(one, test=test) for test in tests for one in pairs(A)]
    parts = locate(places_of("ib-lab"), [*results, m("retest", f"{A} {C}", 371.0)])
    assert [part.kind for part in parts] == ["undecided"]
    assert {B, f"{A} <-> {B}"} <= set(parts[0].others)
    (part,) = locate(places_of("ib-lab"), [*results, m("retest", f"{A} {C}", 371.0), m("retest", f"{B} {D}", 180.0)])
    assert (part.kind, part.name) == ("host", B)


def test_what_breaks_off_over_a_smaller_mtu_is_explained_by_it() -> None:
    places = places_of("lab")
    a, b, c, d = list(places.seats)[:4]
    seat = places.seats[b][1]
    port = f"{seat.switch}:{seat.port}"
    broken = [
        Measurement("pairs", "all_gather", (a, b), state="broken", reason="it hung"),
        *(Measurement("paths", "path", (a, b), (1,), state="broken", source=f"flow {n}") for n in range(8)),
    ]
    clue = Clue("mtu", port, "packets of full size are refused here", seat.name)
    (part,) = locate(places, [*broken, m("pairs", f"{c} {d}", 1.0)], [clue])
    assert (part.kind, part.name) == ("setting", b)
    slow = [replace(m("rails", (a, b), 0.1 if rail else 1.0, (rail,)), round=2) for rail in (0, 1)]
    peers = [m("rails", (c, d), 1.0, (rail,)) for rail in (0, 1)]
    assert len(locate(places, [*broken, *slow, *peers], [clue])) > 1  # slowness is not explained by it


def test_crossed_cables_are_named_and_not_their_host_when_it_has_no_others() -> None:
    places = places_of("lab")
    a, b, c, d = list(places.seats)[:4]
    one, other = places.seats[a][:2]
    clues = [Clue("crossed", s.name, "by LLDP", f"{t.switch}:{t.port}") for s, t in ((one, other), (other, one))]
    whole = [Measurement("pairs", "all_gather", (a, x), (0, 1), state="broken", reason="it hung") for x in (b, c)]
    single = [Measurement("rails", "all_gather", (a, b), (rail,), state="broken") for rail in (0, 1)]
    found = locate(places, [*whole, *single, m("pairs", f"{c} {d}", 1.0)], clues)
    assert {(part.kind, part.name) for part in found} == {("cable", one.cable), ("cable", other.cable)}
