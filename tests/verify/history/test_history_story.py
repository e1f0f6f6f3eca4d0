"""What the history tells: episodes, repeat offenders, the story of one part, what changed since the last good run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fabric.design.seats import Seating, load_seating
from fabric.verify.collectives.model import Measurement
from fabric.verify.finding import Finding
from fabric.verify.history import History, Since, Story, offenders, since_good, story, what_of
from fabric.verify.outcome import Outcome
from tests.verify.history.kept import finding, keep, outcome

LAB = Path(__file__).resolve().parents[3] / "inventories" / "lab" / "cluster.yaml"
ECC = finding("gpu.ecc", "h1: GPU 3")
CABLE = "r1:eth2 <-> h2:eth0"


@pytest.fixture(scope="module")
def seating() -> Seating:
    return load_seating(LAB)


def kept(path: Path, *days: Outcome) -> Path:
    for day, one in enumerate(days, start=1):
        keep(path, day, one)
    return path


def times(path: Path, at_least: int = 1) -> dict[str, tuple[int, bool]]:
    with History.read(path) as history:
        return {one.name: (one.episodes, one.still) for one in offenders(history, history.runs(), at_least=at_least)}


def test_a_fault_of_ten_runs_is_one_and_one_that_came_back_is_two(tmp_path: Path) -> None:
    bad, well = outcome(ECC), outcome()
    assert times(kept(tmp_path / "a", bad, bad, bad)) == {"h1": (1, True)}
    assert times(kept(tmp_path / "b", bad, well, well, bad, bad, well)) == {"h1": (2, False)}
    assert times(tmp_path / "a", 2) == {}


def test_two_faults_of_one_run_are_no_repeat(tmp_path: Path) -> None:
    two = outcome(finding("cabling.missing", CABLE), finding("cabling.missing", "r1:eth3 <-> h3:eth0"))
    assert times(kept(tmp_path / "h", two), 2) == {}
    assert times(kept(tmp_path / "i", two, outcome(), outcome(finding("cabling.missing", CABLE))), 2)["r1"] == (3, True)


@pytest.mark.parametrize(
    "between",
    [
        outcome(checks=("cabling",)),
        outcome(of=("--zone 2",)),
        outcome(finding("read.host", "h1", "unknown")),
        outcome(finding("read.host", "h7, h8 and 2 more", "unknown", ("h7", "h8", "h1", "h2"))),
    ],
)
def test_a_run_that_did_not_look_says_nothing(between: Outcome, tmp_path: Path) -> None:
    assert times(kept(tmp_path / "h", outcome(ECC), between, outcome(ECC))) == {"h1": (1, True)}


def test_hosts_that_a_report_folded_are_counted_each(tmp_path: Path) -> None:
    both = finding("gpu.ecc", "h1, h2: GPU 3, GPU 4", devices=("h1", "h2"))
    assert times(kept(tmp_path / "h", outcome(both), outcome(ECC), outcome(), outcome(both))) == {
        "h1": (2, True),
        "h2": (2, True),
    }


@pytest.mark.parametrize(
    ("found", "named"),
    [
        ([finding("cabling.missing", CABLE)] * 2, {CABLE: 2}),
        ([finding("cabling.missing", CABLE), finding("cabling.missing", "r1:eth3 <-> h2:eth1")], {"r1": 2, "h2": 2}),
        ([finding("collectives.nic", "h2:eth0"), finding("gpu.ecc", "h2")], {"h2": 2}),
        ([finding("collectives.gpu", "h2:gpu1")] * 2, {"h2:gpu1": 2}),
        ([finding("collectives.path", "a:1 <-> b:1")] * 2, {}),
        ([finding("collectives.undecided", "h2")] * 2, {}),
        ([finding("cabling.device", "r1", devices=("r1", "h1", "h2"))] * 2, {"r1": 2}),
        (
            [finding("qos.tables", "496 ports: leaf1:1, leaf1:2, ...", devices=("leaf1",))] * 2,
            {"leaf1:1": 2, "leaf1:2": 2},
        ),
        ([finding("collectives.zone-uplinks", "zone 2", devices=("h1", "h2"))] * 2, {"zone 2": 2}),
    ],
)
def test_who_is_blamed(found: Sequence[Finding], named: dict[str, int], tmp_path: Path) -> None:
    checks = ("hosts", "cabling", "collectives")
    days = [day for one in found for day in (outcome(one, checks=checks), outcome(checks=checks))]
    assert times(kept(tmp_path / "h", *days), 2) == {name: (number, False) for name, number in named.items()}


def since(path: Path) -> list[Since]:
    with History.read(path) as history:
        return since_good(history)


def test_since_good(tmp_path: Path) -> None:
    path = tmp_path / "h"
    keep(path, 1, outcome(finding("read.host", "h5", "unknown")))
    keep(path, 2, outcome(ECC, finding("gpu.temperature", "h3")), sha="1" * 64)
    keep(
        path,
        3,
        outcome(ECC, finding("read.host", "h5", "unknown"), finding("read.host", "h6", "unknown")),
        sha="1" * 64,
    )
    keep(path, 4, outcome(checks=("cabling",)))
    cabling, hosts = since(path)
    assert (cabling.last.good, cabling.good, cabling.faults) == (True, cabling.last, ())
    assert hosts.good is not None
    assert (hosts.good.run, hosts.between, hosts.spec_changed, hosts.tool_changed) == (
        "20260101-120000",
        2,
        True,
        False,
    )
    assert [(one.last.check, one.last.subject, one.told[0].run.run) for one in hosts.faults] == [
        ("gpu.ecc", "h1", "20260102-120000")
    ]
    assert [one.last.subject for one in hosts.unknown] == ["h6"]  # h5 was silent then too


def test_the_change_of_the_spec(tmp_path: Path) -> None:
    path, before = tmp_path / "h", "a: 1\nb: 2\nc: 3\n"
    keep(path, 1, outcome(), sha="0" * 64, spec=before)
    keep(path, 2, outcome(ECC), sha="1" * 64, spec=before.replace("b: 2", "b: 9") + "d: 4\n")
    assert since(path)[0].spec_diff == ("-b: 2", "+b: 9", "+d: 4")
    keep(path, 3, outcome(ECC), sha="2" * 64, spec=before + "x: 1\n" * 70)
    assert since(path)[0].spec_diff[-1] == "and 10 lines more"
    keep(path, 4, outcome(ECC), sha="3" * 64)  # it was not kept
    assert since(path)[0].spec_diff == ()


def test_since_good_compares_with_a_run_that_looked_at_as_much(tmp_path: Path) -> None:
    narrow, whole = outcome(of=("--zone 1",)), outcome(ECC)
    assert [one.good for one in since(kept(tmp_path / "a", narrow, whole)) if not one.last.good] == [None]
    all_of_it = outcome(checks=("hosts", "cabling"))
    (now, _) = since(kept(tmp_path / "b", all_of_it, outcome(ECC, of=("--zone 1",))))
    assert now.good is not None
    assert now.good.checks == ("hosts", "cabling")


def pair(host: str, value: float, rails: tuple[int, ...] = ()) -> Measurement:
    return Measurement("pairs", "all_gather", (host, "x"), rails, 8, (value, value))


def test_speeds_since_good(tmp_path: Path) -> None:
    good = outcome(measured=[pair("a", 40), pair("b", 42), pair("c", 44)])
    (now,) = since(kept(tmp_path / "h", good, outcome(ECC, measured=[pair("a", 20), pair("b", 21)])))
    assert [(one.stage, one.test, one.before, one.now) for one in now.speeds] == [("pairs", "all_gather", 42, 20.5)]


def told(path: Path, seating: Seating, name: str) -> Story:
    what = what_of(seating, name)
    assert what is not None
    with History.read(path) as history:
        return story(history, what)


def test_the_story_of_a_host_its_nic_and_its_cable(tmp_path: Path, seating: Seating) -> None:
    host, seats = next(iter(seating.by_host.items()))
    seat, other = seats[0], seats[1]
    path = tmp_path / "h"
    keep(
        path,
        1,
        outcome(
            finding("cabling.missing", seat.cable),
            finding("collectives.nic", other.name),
            finding("host.all", host, "pass"),
            measured=[pair(host, 40), pair("y", 44), pair("z", 44), pair(host, 3, (0,)), pair("y", 5, (1,))],
        ),
    )
    of_host = told(path, seating, host)
    assert {one.last.subject for one in of_host.episodes} == {seat.cable, other.name}
    assert [run.run for run in of_host.passes] == ["20260101-120000"]
    assert [(one.value, one.peers) for one in of_host.speeds] == [(40, 44), (3, 4)]
    for name in (
        seat.name,
        seat.cable,
        f"{seat.switch}:{seat.port}",
        " <-> ".join(reversed(seat.cable.split(" <-> "))),
    ):
        of_cable = told(path, seating, name)
        assert [one.last.subject for one in of_cable.episodes] == [seat.cable]
        assert [one.value for one in of_cable.speeds] == [3]
    assert [one.last.subject for one in told(path, seating, seat.switch).episodes] == [seat.cable]
    assert told(path, seating, seats[2].name).episodes == ()


def test_an_hca_is_known_by_its_node_description(tmp_path: Path) -> None:
    """Findings of InfiniBand name it `gt0001 mlx5_0:1`, results `gt0001:mlx5_0`: one HCA, one host."""
    subnet = load_seating(LAB.parents[1] / "ib-lab" / "cluster.yaml")
    seat = subnet.by_host["gt0002"][0]
    cable = f"{seat.switch}:{seat.port} <-> gt0002 {seat.hca}:1"
    path = kept(
        tmp_path / "h",
        outcome(finding("cabling.missing", cable, devices=(seat.switch, f"gt0002 {seat.hca}")), checks=("cabling",)),
        outcome(checks=("cabling",)),
        outcome(finding("cabling.speed", cable, devices=(seat.switch, f"gt0002 {seat.hca}")), checks=("cabling",)),
    )
    for name in ("gt0002", f"gt0002 {seat.hca}", f"gt0002:{seat.hca}", cable, seat.cable, f"{seat.switch}:{seat.port}"):
        assert len(told(path, subnet, name).episodes) == 2, name
    assert told(path, subnet, "gt0003").episodes == ()
    assert times(path, 2) == {seat.cable: (2, True)}


def test_every_name_of_the_design_is_known(seating: Seating) -> None:
    for seats in seating.by_host.values():
        for seat in seats:
            assert what_of(seating, f"{seat.host}:gpu{seat.gpu}") is not None
    for trunk in seating.trunks:
        for name in (trunk.name, f"{trunk.a}:{trunk.a_port}", trunk.b):
            found = what_of(seating, name)
            assert found is not None
            assert name == trunk.b or trunk.name in found.names
    for name in (
        "nobody",
        "z01-r001-h1:eth99",
        "z01-r001-h1:gpu8",
        "z01-rtsw001:eth99",
        "a <-> b",
        "z01-rtsw001:eth8/1/1 <-> b",
        "",
    ):
        assert what_of(seating, name) is None


def test_a_name_within_a_longer_name_is_not_it(tmp_path: Path, seating: Seating) -> None:
    host = next(iter(seating.by_host))
    path = kept(tmp_path / "h", outcome(finding("gpu.ecc", f"{host}0"), finding("gpu.ecc", f"x{host}")))
    assert told(path, seating, host).episodes == ()
