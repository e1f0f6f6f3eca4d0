"""`fabric predict` as it is used: what it prints, its data, its files of cases, and every mistake in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from fabric.design.load import load_spec
from fabric.predict.source import declared

SMALL = {"backend.zones": [{"id": "1-2", "racks": 6, "rack_profile": "grand-teton"}]}
CASES = """cases:
  - {name: as it is, placement: random, hash: ecmp, seeds: 5, sizes: 64M:16G:16}
  - {name: tuned, qps: 64, seeds: 5, sizes: [64M, 16G]}
"""
Cli = Callable[..., Result]


@pytest.fixture
def spec(spec_file: Callable[..., Path]) -> Path:
    return spec_file("roce-24k", SMALL)


def test_one_case(spec: Path, fabric_cli: Cli, golden: Callable[[str, str], None]) -> None:
    result = fabric_cli(
        "predict", spec, "--seeds", 5, "--sizes", "1M:16G:16", "--hash", "ecmp", "--failure", "z01-ctsw01"
    )
    assert (result.exit_code, result.stderr) == (0, "")
    golden("predict/one.txt", result.stdout)


def test_cases_side_by_side(spec: Path, fabric_cli: Cli, golden: Callable[[str, str], None]) -> None:
    file = spec.parent / "cases.yaml"
    file.write_text(CASES)
    result = fabric_cli("predict", spec, "--cases", file)
    assert (result.exit_code, result.stderr) == (0, "case 1 of 2: as it is\ncase 2 of 2: tuned\n")
    golden("predict/beside.txt", result.stdout)


def test_data(spec: Path, fabric_cli: Cli) -> None:
    result = fabric_cli("predict", spec, "--json", "--gpus", 64, "--seeds", 3, "--sizes", "1G")
    found = json.loads(result.stdout)
    assert (found["schema"], found["cluster"], found["nic_gbps"], found["calibration"]) == (
        "fabric.prediction/1", "roce-24k", 400.0, None,
    )  # fmt: skip
    (case,) = found["cases"]
    assert (case["gpus"], case["case"]["qps"], case["case"]["hash"]) == (64, 4, "e-ecmp")  # as the spec declares
    assert set(case["reached"]) == {"p5", "p50", "p95"}
    assert [loss["step"] for loss in case["waterfall"]] == [
        "ideal", "latency", "placement", "hashing", "polarisation", "failures",
    ]  # fmt: skip
    assert [point["size"] for point in case["points"]] == [1 << 30]
    assert "measured values lie below" in case["bias"]


def test_a_job_in_its_own_order(spec: Path, fabric_cli: Cli) -> None:
    job = spec.parent / "hostfile"
    hosts = ["z02-r003-h2", "z01-r001-h1"]
    job.write_text("".join(f"{host} slots=8\n" for host in hosts))
    result = fabric_cli("predict", spec, "--json", "--job", job, "--seeds", 1, "--sizes", "1G")
    (found,) = json.loads(result.stdout)["cases"]
    assert (found["gpus"], found["case"]["hosts"], found["case"]["placement"]) == (16, hosts, "given")


def test_a_plot(spec: Path, fabric_cli: Cli) -> None:
    page = spec.parent / "out.svg"
    result = fabric_cli("predict", spec, "--gpus", 64, "--seeds", 2, "--plot", page)
    assert result.exit_code == 0
    assert page.read_text().startswith("<svg")


def test_infiniband(spec_file: Callable[..., Path], fabric_cli: Cli) -> None:
    spec = spec_file("ib-lab")
    found = json.loads(fabric_cli("predict", spec, "--json", "--seeds", 2, "--sizes", "1G").stdout)
    assert found["cases"][0]["case"]["hash"] == "ecmp"
    assert found["cases"][0]["reached"] == {
        "p5": 100,
        "p50": 100,
        "p95": 100,
    }  # balanced tables, ranks in the leaves' order
    assert found["cases"][0]["analytic"] is None  # nothing is left to a hash


def test_infiniband_that_chooses_among_paths(spec_file: Callable[..., Path], fabric_cli: Cli) -> None:
    spec = spec_file("ib-lab", {"backend.routing.engines": ["updn"]})
    asked = ("--json", "--seeds", 2, "--sizes", "1G")
    change = json.loads(fabric_cli("predict", spec, *asked).stdout)["cases"][0]["change"]
    assert (change["what"], change["key"]) == ("adaptive routing, which NVIDIA's OpenSM has", "backend.routing.engines")
    adaptive = load_spec(spec_file("ib-24k")).value
    assert declared(adaptive).hash == "spray"


MISTAKES: list[tuple[str, tuple[str, ...]]] = [
    ("more GPUs than there are", ("--gpus", "1000")),
    ("no whole hosts", ("--gpus", "20")),
    ("less than a host", ("--gpus", "1")),
    ("one host", ("--gpus", "8")),
    ("zero sizes", ("--sizes", "0")),
    ("sizes that are none", ("--sizes", "1M:x")),
    ("sizes backwards", ("--sizes", "1G:1M")),
    ("a factor of one", ("--sizes", "1M:1G:1")),
    ("no seeds", ("--seeds", "0")),
    ("no queue pairs", ("--qps", "0")),
    ("an unknown failure", ("--failure", "z01-ctsw1")),
    ("an unknown port", ("--failure", "z01-ctsw01:Ethernet99")),
    ("a leaf cut off", ("--failure", "z01-rtsw001")),
    ("a tree for all_gather", ("--algorithm", "tree")),
    ("given without a job", ("--placement", "given")),
    ("a job and GPUs", ("--job", "JOB", "--gpus", "16")),
    ("a job and a shuffle", ("--job", "JOB", "--placement", "random")),
    ("a job with an unknown host", ("--job", "JOB")),
    ("no such job", ("--job", "none")),
    ("a job with a line without end", ("--job", "LONG")),
    ("cases and options", ("--cases", "CASES", "--qps", "4")),
    ("cases and a failure", ("--cases", "CASES", "--failure", "x")),
    ("a case that cannot be", ("--cases", "CASES")),
    ("cases with mistakes", ("--cases", "WRONG")),
    ("cases of one name", ("--cases", "TWICE")),
    ("a case that says twice who runs", ("--cases", "BOTH")),
    ("an unknown plot", ("--plot", "x.gif")),
    ("a plot in no folder", ("--plot", "none/x.svg")),
    ("results that are none", ("--measured", "JOB")),
]
FILES = {
    "JOB": "z01-r001-h9\n",
    "LONG": "a" + " slots=1" * 1000 + "\n",
    "CASES": "cases:\n  - {name: a}\n  - {name: b, gpus: 100000}\n",
    "WRONG": "cases:\n  - {name: a, hash: emcp, qps: 0, sizes: 0}\n  - {gpus: 16, colective: all_gather}\n",
    "TWICE": "cases:\n  - {name: a}\n  - {name: a}\n",
    "BOTH": "cases:\n  - {name: a, gpus: 16, hosts: [x, y]}\n",
}


def test_mistakes(
    spec: Path, fabric_cli: Cli, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(spec.parent)
    for name, text in FILES.items():
        Path(name).write_text(text)
    told = []
    for what, options in MISTAKES:
        few = () if {"--seeds", "--cases"} & set(options) else ("--seeds", 1)
        result = fabric_cli("predict", "cluster.yaml", *few, *options)
        assert (result.exit_code, result.stdout) == (1, ""), (what, result.stdout)
        told.append(f"# {what}: {' '.join(options)}\n{result.stderr}")
    golden("predict/mistakes.txt", "\n".join(told))
