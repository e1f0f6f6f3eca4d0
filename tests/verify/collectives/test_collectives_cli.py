"""The command: stages, suspects, findings, files and exit codes, with a launcher that answers from a simulated cluster."""

from __future__ import annotations

import itertools
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import fabric.verify.collectives.job as making
import fabric.verify.collectives.run as running
from fabric.errors import FabricError
from fabric.verify.collectives import results
from fabric.verify.collectives.model import NOT_BEGUN, Clue, Measurement
from fabric.verify.collectives.stages import Group
from tests.verify.locate.simulate import INVENTORIES, Cluster, Fault, places_of

LAB = places_of("lab")
HOST = "z01-r002-h1"
MPI = ("--engine", "mpi", "--launcher", "mpirun", "--no-history")


@dataclass
class Scripted:
    """A launcher of a simulated cluster. `refused`: groups with these hosts cannot be made; `stop`: Ctrl-C after so many results;
    `busy`: results that come out three times too slow, for once; `late`: groups with these hosts do not begin in time, but once more."""

    cluster: Cluster
    refused: frozenset[str] = frozenset()
    late: set[str] = field(default_factory=set)
    stop: int = 1 << 30
    busy: Callable[[Measurement], bool] | None = None
    open: int = 0
    rounds: list[Sequence[Group]] = field(default_factory=list)

    def run(self, groups: Sequence[Group]) -> Iterator[Measurement | Clue]:
        self.rounds.append(groups)
        self.open += 1
        try:
            for one in self.cluster.measure(groups):
                if self.stop == 0:
                    raise KeyboardInterrupt
                self.stop -= 1
                if self.refused.intersection(one.hosts):
                    yield Measurement(one.stage, one.test, one.hosts, one.rails, state="unmade", reason="no login")
                elif self.late.intersection(one.hosts):
                    self.late.difference_update(one.hosts)
                    yield Measurement(
                        one.stage, one.test, one.hosts, one.rails, state="unmade", reason=f"{NOT_BEGUN}: 27 s"
                    )
                elif self.busy is not None and self.busy(one):
                    yield replace(one, by="mpi", values=tuple(value / 3 for value in one.values))
                else:
                    yield replace(one, by="mpi")
        finally:
            self.open -= 1


Play = Callable[..., tuple[Result, Scripted]]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, fabric_cli: Callable[..., Result], spec_file: Callable[..., Path]) -> Play:
    def run(*arguments: object, faults: Sequence[Fault] = (), seed: int = 1, **script: Any) -> tuple[Result, Scripted]:
        launcher = Scripted(Cluster(LAB, faults, seed), **script)
        monkeypatch.setattr(making, "_launcher", lambda *_: launcher)
        return fabric_cli("validate", "collectives", spec_file("lab"), *MPI, *arguments), launcher

    return run


def test_a_healthy_cluster(play: Play) -> None:
    done, launcher = play()
    assert done.exit_code == 0
    assert "collectives: 0 failed, 0 unknown" in done.stdout
    stages = [groups[0].stage for groups in launcher.rounds]
    assert stages[:2] == ["pairs", "rails"]
    assert stages[-5:] == ["zones"] * 5


def test_a_slow_nic_is_named_with_its_cable_and_port(play: Play, tmp_path: Path) -> None:
    junit, kept = tmp_path / "junit.xml", tmp_path / "results.jsonl"
    fault = Fault("cable", HOST, 3)
    done, launcher = play("--json", "--junit", junit, "--results", kept, faults=[fault])
    assert done.exit_code == 2
    document = json.loads(done.stdout)
    (fail,) = (one for one in document["findings"] if one["verdict"] == "fail")
    seat = LAB.seats[HOST][3]
    assert (fail["check"], fail["subject"], fail["links"]) == ("collectives.cable", seat.cable, [seat.cable])
    assert {HOST, seat.switch} <= set(fail["devices"])
    assert fail["action"]
    suites = {suite.get("name"): suite.get("failures") for suite in ET.parse(junit).getroot()}  # noqa: S314 - our own
    assert suites == {"collectives": "1"}
    measurements, _ = results.read(kept)
    assert len(measurements) >= sum(len(groups) for groups in launcher.rounds), "flows of one group are several"
    assert {m.round for m in measurements} == set(range(1, len(launcher.rounds) + 1))
    later = [group for groups in launcher.rounds for group in groups if group.stage in ("zone", "zones")]
    assert later
    assert not any(HOST in group.hosts for group in later if len(group.hosts) > 2), (
        "only proven hosts are in larger groups"
    )


@pytest.mark.parametrize("stage", ["pairs", "rails", "zone", "zones"])
def test_what_was_slow_once_is_measured_again_and_is_no_fault(play: Play, tmp_path: Path, stage: str) -> None:
    """One result of a stage, of a machine that was busy just then, for each result that a healthy run has."""
    kept = tmp_path / "results.jsonl"
    _, whole = play("--results", kept)
    healthy = [m for m in results.read(kept)[0] if m.stage == stage]
    assert healthy
    for place in range(0, len(healthy), 7):
        seen = itertools.count()
        done, launcher = play(busy=lambda m, seen=seen, place=place: m.stage == stage and next(seen) == place)
        assert (done.exit_code, "0 failed, 0 unknown" in done.stdout) == (0, True), (healthy[place], done.stdout)
        assert len(launcher.rounds) >= len(whole.rounds)


def test_what_was_found_is_found_again_offline(play: Play, fabric_cli: Callable[..., Result], tmp_path: Path) -> None:
    kept = tmp_path / "results.jsonl"
    done, _ = play("--results", kept, "--json", faults=[Fault("host", HOST)])
    again = fabric_cli("locate", tmp_path / "cluster.yaml", kept, "--json")
    names = [one["subject"] for one in json.loads(done.stdout)["findings"] if one["verdict"] == "fail"]
    assert names == [part["name"] for part in json.loads(again.stdout)["parts"]] == [HOST]
    assert again.exit_code == 2


def test_what_cannot_be_run_blames_nobody(play: Play) -> None:
    done, _ = play("--stage", "pairs", "--stage", "retest", refused=frozenset([HOST]))
    assert done.exit_code == 0
    assert f"unknown  collectives.pairs: {HOST} and z01-r002-h2: all_gather could not be made: no login" in done.stdout
    done, _ = play("--stage", "pairs", refused=frozenset(LAB.seats))
    assert done.exit_code == 1, "nothing could be measured at all"
    assert "collectives: 0 failed, 4 unknown, 0 passed" in done.stdout


def test_without_peers_only_the_data_is_proven(play: Play) -> None:
    done, _ = play("--json", "--stage", "zone", "--stage", "zones", "--test", "all_gather")
    zone, zones = json.loads(done.stdout)["findings"]
    assert (zone["check"], zone["expected"]) == ("collectives.zone", "as fast as its peers")
    assert (zones["check"], zones["expected"]) == ("collectives.zones", "right data to the end")
    assert zones["measured"].endswith("; there is nothing to compare it with")


@pytest.mark.parametrize(
    ("budget", "made", "left_out"),
    [
        ("0.15", ["pairs"], "rails is left out: it takes about 7 s, 2 s are left of the budget"),
        ("0.7", ["pairs", "rails"], "zone is left out: it takes about"),
    ],
)
def test_a_budget_takes_the_most_telling_stages(play: Play, budget: str, made: list[str], left_out: str) -> None:
    done, launcher = play("--budget", budget)
    assert left_out in done.stderr
    assert list(dict.fromkeys(groups[0].stage for groups in launcher.rounds)) == made


def test_when_the_budget_is_used_up_no_round_begins(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(0, 100_000, 40))
    monkeypatch.setattr("fabric.change.clock.SystemClock.now", lambda _: float(next(times)))
    done, launcher = play("--budget", "5", "--stage", "zone", "--stage", "pairs")
    assert "not measured: the budget was used up" in done.stdout
    assert 0 < len(launcher.rounds) < 6


def test_hosts_are_chosen(play: Play) -> None:
    _, launcher = play("--device", "z01-*", "--stage", "pairs", "--test", "sendrecv", "--test", "alltoall")
    assert [{group.test for group in groups} for groups in launcher.rounds] == [{"sendrecv"}, {"alltoall"}]
    assert {host for groups in launcher.rounds for group in groups for host in group.hosts} == set(list(LAB.seats)[:4])


def test_ctrl_c_ends_what_was_started_and_keeps_what_was_measured(play: Play, tmp_path: Path) -> None:
    kept = tmp_path / "results.jsonl"
    done, launcher = play("--results", kept, stop=5)
    assert done.exit_code == 130
    assert launcher.open == 0
    assert len(results.read(kept)[0]) == 5


def test_what_does_not_begin_in_time_is_tried_once_more(play: Play) -> None:
    done, launcher = play("--stage", "pairs", late={HOST})
    assert (done.exit_code, "collectives: 0 failed, 0 unknown" in done.stdout) == (0, True), done.output
    assert [len(groups) for groups in launcher.rounds] == [4, 1]
    assert HOST in launcher.rounds[1][0].hosts


def test_progress_tells_the_time_left(play: Play) -> None:
    done, _ = play("--stage", "pairs", "--stage", "zone")
    lines = done.stderr.splitlines()
    assert lines[0].startswith("8 hosts by mpi and Scripted: pairs, zone; about ")
    assert lines[1].startswith("round 1: pairs all_gather, 4 groups; about ")
    assert re.fullmatch(r"round 6: zone sendrecv, 2 groups; about [0-9]+ s left", lines[-1])


def test_the_time_left_does_not_jump() -> None:
    clock, left = [0.0], []

    class Slow(Scripted):
        def run(self, groups: Sequence[Group]) -> Iterator[Measurement | Clue]:
            found = list(super().run(groups))
            for one in found:
                clock[0] += each / len(found)
                yield one

    job = making.make_job(INVENTORIES / "lab" / "cluster.yaml", {"engine": "mpi", "launcher": "mpirun"}, (), (), {})
    plan = job.plan()
    each = 3 * plan.seconds / sum(len(one.rounds) for one in plan.stages)  # three times slower than is reckoned
    asked = running.Run(
        LAB,
        job.seats,
        job.tests,
        Slow(Cluster(LAB, (), 1)),
        {},
        lambda: clock[0],
        gpus=False,
        observe=lambda p: left.append(p.left_s),
    )
    running.run(asked, plan)
    assert all(later < 2 * before + 60 for before, later in itertools.pairwise(left))
    assert left[-1] < plan.seconds


def test_a_copy_that_cannot_be_written_costs_no_report(play: Play, tmp_path: Path) -> None:
    for option in ("--junit", "--html"):
        result, _ = play(*MPI, "--stage", "pairs", option, tmp_path / "none" / "file")
        assert result.exit_code == 1 and "passed" in result.stdout, option
        assert len([line for line in result.stderr.splitlines() if line.startswith("error: ")]) == 1


def test_results_that_can_no_longer_be_kept_do_not_end_the_measuring(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise FabricError("cannot write r.jsonl: No space left on device")

    monkeypatch.setattr(results.Recorder, "add", full)
    result, launcher = play(*MPI, "--stage", "pairs", "--results", tmp_path / "r.jsonl")
    assert result.exit_code == 0 and launcher.rounds
    assert result.stderr.count("no results are kept: cannot write r.jsonl: No space left on device") == 1
