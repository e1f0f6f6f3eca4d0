"""Dry runs, estimates, expected values, and what users can get wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from fabric.catalog import catalog
from fabric.spec.collectives import Collectives
from fabric.verify.collectives.budget import Plan, plan
from fabric.verify.collectives.gates import expected_rates, finding_of
from fabric.verify.collectives.job import make_job
from fabric.verify.collectives.launch_mpi import rankfile
from fabric.verify.collectives.model import Part
from fabric.verify.collectives.stages import ORDER
from fabric.verify.collectives.stages import tests_of as chosen_tests
from tests.verify.locate.simulate import places_of

Golden = Callable[[str, str], None]
Cli = Callable[..., Result]
Spec = Callable[..., Path]
PAIRS = ("--stage", "pairs", "--stage", "rails", "--stage", "retest", "--device", "z01-r001-*", "--dry-run", "--full")


@pytest.mark.parametrize("launcher", ["slurm", "mpirun", "ansible"])
@pytest.mark.parametrize("engine", ["nccl-tests", "mpi"])
def test_dry_run(
    fabric_cli: Cli, spec_file: Spec, golden: Golden, monkeypatch: pytest.MonkeyPatch, engine: str, launcher: str
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    for name in list(__import__("os").environ):
        if name.startswith("OMPI_"):
            monkeypatch.delenv(name)
    done = fabric_cli("validate", "collectives", spec_file("lab"), *PAIRS, "--engine", engine, "--launcher", launcher)
    assert done.exit_code == 0, done.stderr
    rows = [row for row in done.stdout.splitlines() if not row.startswith("# mpi_rows.py: ")]
    golden(f"collectives/dry-run-{engine}-{launcher}.txt", "\n".join(rows) + "\n")


def test_dry_run_as_data(fabric_cli: Cli, spec_file: Spec) -> None:
    done = fabric_cli(
        "validate", "collectives", spec_file("ib-lab"), "--dry-run", "--json", "--launcher", "slurm", "--stage", "pairs"
    )
    document = json.loads(done.stdout)
    assert document["schema"] == "fabric.collectives-plan/1"
    (groups,) = document["rounds"]
    assert [run["argv"][0] for run in groups["runs"]] == ["srun"] * (len(document["hosts"]) // 2)
    assert document["batch"].startswith("#!/bin/sh\n#SBATCH")


def test_a_lab_or_site_that_sets_open_mpi_is_left_alone(spec_file: Spec) -> None:
    job = make_job(
        spec_file("lab"),
        {"engine": "mpi", "launcher": "mpirun"},
        (),
        (),
        {"OMPI_MCA_plm_rsh_agent": "/x", "OMPI_MCA_pml": "ob1"},
    )
    (groups, *_) = job.plan().stages[0].rounds
    (_, command), *_ = job.commands(groups)
    assert not {"plm_rsh_agent", "plm_rsh_args", "pml"} & set(command.argv)


def test_rankfile_follows_the_sockets() -> None:
    rows = rankfile(("a", "b"), 4, 2).splitlines()
    assert rows[:4] == [f"rank {rank}=a slot={socket}:*" for rank, socket in enumerate((0, 0, 1, 1))]
    assert rows[7] == "rank 7=b slot=1:*"


def whole(how: Collectives, minutes: float | None = None) -> Plan:
    return plan(how, chosen_tests(how), places_of("roce-24k").seats, minutes)


def test_a_whole_cluster_takes_hours_and_a_budget_names_what_it_leaves_out() -> None:
    everything = whole(Collectives(stages=list(ORDER)))
    assert 3600 < everything.seconds < 24 * 3600
    hour = whole(Collectives(), 60)
    assert hour.seconds <= 3600
    assert {"pairs", "retest"} <= set(hour.names)
    assert set(hour.names) | {stage for stage, _ in hour.left_out} == set(Collectives().of_stages)
    rails = {one.stage: one for one in whole(Collectives(), 30).stages}["rails"]
    assert (rails.rounds, rails.seconds < 300) == ((), True)  # suspects alone
    tiny = whole(Collectives(), 5)
    assert (tiny.names, len(tiny.left_out)) == ((), len(Collectives().of_stages))  # nobody would be suspected


@pytest.mark.parametrize(
    ("inventory", "changes", "key", "value"),
    [
        ("roce-24k", {}, ("node", "all_reduce"), 460.0),
        ("roce-24k", {}, ("pairs", "all_reduce"), 440.0),
        ("roce-24k", {}, ("rails", "ib_write_bw"), 47.5),
        ("roce-24k", {"sizes": {"smallest": "64M", "largest": "256M"}}, ("node", "all_reduce"), None),
        ("roce-24k", {"engine": "mpi"}, ("node", "all_reduce"), None),
        (
            "roce-24k",
            {"expected": [{"test": "all_reduce", "stages": ["node"], "least": 470.0}]},
            ("node", "all_reduce"),
            470.0,
        ),
        ("rsc-16k", {}, ("node", "all_reduce"), None),
    ],
)
def test_expected(inventory: str, changes: dict[str, Any], key: tuple[str, str], value: float | None) -> None:
    found = expected_rates(places_of(inventory).seating, Collectives.model_validate(changes)).get(key)
    assert (found and found.least) == value


def test_no_implausible_value_is_a_gate() -> None:
    """A gate above what the NICs or NVLink can carry would drain healthy hosts; each that was left out says why."""
    table = catalog().collectives()
    for rate in table.expected:
        line = (rate.nic_gbps or 0) / 8 * (1 if "rails" in rate.stages else rate.nics or 1)
        assert rate.least < (rate.healthy or rate.least + 1)
        if rate.test != "all_reduce":  # trees and NVLS need less of the network than busbw says
            assert rate.least < line
    assert all(one.why for one in table.left_out)


def test_a_collision_is_a_warning_and_says_that_it_is_nobodys_fault() -> None:
    finding = finding_of(
        Part("path", "a <-> b", 0.9, evidence=("slow",), others=("a fault that comes and goes",), hosts=("a", "b"))
    )
    assert (finding.check, finding.severity, finding.devices) == ("collectives.path", "warning", ("a", "b"))
    assert finding.evidence == ("slow", "as likely: a fault that comes and goes", "confidence 90%")


def test_devices_of_a_finding_are_names_of_devices() -> None:
    trunk = finding_of(Part("trunk", "z01-ctsw01:Ethernet3/1/1 <-> z01-rtsw001:eth8/1/1", 0.9, hosts=("a",)))
    assert trunk.devices == ("a", "z01-ctsw01", "z01-rtsw001")
    assert finding_of(Part("setting", "all_reduce (node)", 0.8, hosts=("a",))).devices == ("a",)
    assert finding_of(Part("zone-uplinks", "zone 2", 0.8, hosts=("a",))).devices == ("a",)


ERRORS = [
    ("--device", "nobody*"),
    ("--zone", "9"),
    ("--zone", "1", "--device", "z02-*"),
    ("--stage", "rack"),
    ("--test", "broadcast"),
    ("--sizes", "1M:2X"),
    ("--sizes", "2M:1M"),
    ("--sizes", "1:2:3:4"),
    ("--sizes", "1M:2M:many"),
    ("--sizes", "1G:2048G"),
    ("--python", "python3 -c evil"),
    ("--stage", "zones", "--zone", "1"),
    ("--stage", "pairs", "--budget", "0.1", "--limit", "5", "--engine", "nccl-tests"),
]


def test_errors(fabric_cli: Cli, spec_file: Spec, golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    spec = spec_file("lab")
    told = []
    for arguments in (*ERRORS, ("--launcher", "mpirun"), ("--launcher", "slurm")):
        done = fabric_cli("validate", "collectives", spec, *arguments, "--no-history")
        assert done.exit_code == 1, arguments
        told.append(f"$ {' '.join(arguments)}\n{done.stderr.splitlines()[-1]}\n")
    golden("errors/collectives.txt", "".join(told))


def test_options_stand_after_the_check(fabric_cli: Cli, spec_file: Spec) -> None:
    done = fabric_cli("validate", "--json", "collectives", spec_file("lab"))
    assert done.exit_code == 1
    assert done.stderr == "error: collectives has options of its own (hint: fabric validate collectives SPEC ...)\n"


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (
            {"expected": [{"test": "alltoall", "stages": ["zone"], "least": 1.0}] * 2},
            "expected says alltoall in stage zone twice",
        ),
        ({"tests": {"zone": ["ib_write_bw"]}}, "ib_write_bw is between two hosts: in pairs and rails, not in zone"),
        ({"sizes": {"smallest": "2M", "largest": "1M"}}, "smallest is 2M, above largest 1M"),
    ],
)
def test_the_spec_says_it_wrong(fabric_cli: Cli, spec_file: Spec, own: dict[str, Any], said: str) -> None:
    assert said in fabric_cli("check", spec_file("lab", {"collectives": own})).stderr
