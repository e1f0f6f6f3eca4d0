"""The latency constant from one measured run, and what was measured beside what is predicted."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from fabric.cli.predict_measured import after_run, read_measured
from fabric.design.fabric import Fabric
from fabric.design.load import load_cluster
from fabric.design.seats import load_seating
from fabric.errors import FabricError
from fabric.predict import calibration
from fabric.predict.answer import predict
from fabric.predict.calibration import Measured, calibrate, compare, seconds_of
from fabric.predict.flows import sent_bytes
from fabric.predict.from_design import fabric_net
from fabric.predict.latency import Clock, wires
from fabric.predict.model import Case
from fabric.predict.net import Net
from fabric.verify.collectives import results
from fabric.verify.collectives.model import Measurement

SMALL = {"backend.zones": [{"id": "1-2", "racks": 6, "rack_profile": "grand-teton"}]}
CASE = Case("c", qps=16, seeds=3)
SIZES = (1 << 20, 1 << 23, 1 << 26, 1 << 34)


@pytest.fixture(scope="module")
def net(make_fabric: Callable[..., Fabric]) -> Net:
    return fabric_net(make_fabric("roce-24k", SMALL))


def ask(row: Measured) -> Case:
    return replace(CASE, hosts=row.hosts, placement="given")


def measured(net: Net, scale: float, loss: float = 1.0) -> list[Measured]:
    """What a machine would have measured whose latency is `scale` times NCCL's, and whose links reach `loss` of the prediction."""
    hosts = net.hosts
    norm = predict(net, replace(CASE, hosts=hosts), advice=False).reached.p50 / 100 * loss
    clock = Clock(wires(CASE, len(hosts), 8, 1, scale), 400)
    found = []
    for size in SIZES:
        took = float(clock.seconds(sent_bytes(CASE, size, len(hosts), 8), np.array([norm]))[0])
        ranks = 8 * len(hosts)
        found.append(
            Measured("all_gather", hosts, size, size * (ranks - 1) / ranks / took / 1e9, source=f"run.txt:{size}")
        )
    return found


@pytest.mark.parametrize("scale", [0.4, 1.0, 2.5])
def test_the_scale_of_a_run_is_found(net: Net, scale: float) -> None:
    found = calibrate(net, "x", measured(net, scale), ask, 400)
    assert found.scale == pytest.approx(scale, rel=0.03)
    assert found.rows == 3  # 16 GiB says nothing of latency
    assert found.sources == ("run.txt",)
    assert "calibrated by run.txt (3 sizes)" in found.said


def test_times_are_those_of_nccl_tests() -> None:
    row = Measured("all_reduce", ("a", "b"), 1 << 30, 100.0)
    assert seconds_of(row, 16) == pytest.approx((1 << 30) * 2 * 15 / 16 / 100e9)
    assert seconds_of(replace(row, test="sendrecv"), 16) == pytest.approx((1 << 30) / 100e9)


@pytest.mark.parametrize("rows", [[], [Measured("all_gather", ("z01-r001-h1", "z01-r002-h1"), 1 << 36, 300.0)]])
def test_large_messages_say_nothing_of_latency(net: Net, rows: list[Measured]) -> None:
    with pytest.raises(FabricError, match="nothing measured says what latency is"):
        calibrate(net, "x", rows, ask, 400)


def test_measured_beside_predicted(net: Net) -> None:
    rows = [row for row in measured(net, 1.0, loss=0.7) if row.size > 1 << 30]
    nic = Measured("ib_write_bw", net.hosts[:2], 1 << 23, 45.0, rails=(3,), names=("cable 1", "cable 2"))
    found = compare(net, [*rows, nic], ask, 400)
    assert [one.share for one in found] == pytest.approx([0.72, 0.9], abs=0.03)  # latency is not lost twice
    assert found[1].predicted.p50 == 50  # GB/s of a 400 Gb/s NIC
    assert found[0].predicted.p5 <= found[0].predicted.p50 <= found[0].predicted.p95 <= 400
    assert compare(net, [replace(nic, hosts=("x", "y")), replace(nic, test="dcgm.x")], ask, 400) == []


KEPT = {"schema": "fabric.calibration/1", "cluster": "x", "scale": 1, "low": 1, "high": 1, "rows": 1, "sources": ["a"]}


@pytest.mark.parametrize(
    "text",
    ["[]", "x", "", "[" * 9999]
    + [
        json.dumps({**KEPT, **wrong})
        for wrong in (
            {"schema": "fabric.calibration/2"}, {"scale": "NaN"}, {"scale": 1e9, "high": 1e9}, {"scale": 10**400}, {"low": float("nan")},
            {"high": 0.5}, {"rows": float("inf")}, {"rows": 0}, {"sources": None}, {"sources": [" " * (1 << 16)]},
        )
    ],
)  # fmt: skip
def test_a_calibration_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.calibration.json").write_text(text)
    with pytest.raises(FabricError, match="is no calibration"):
        calibration.load(tmp_path, "x")


def test_a_calibration_is_of_one_cluster_and_its_sources_are_printable(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / f"{name}.calibration.json").write_text(json.dumps({**KEPT, "sources": ["\x1b[2J\n" + "a" * 999]}))
    found = calibration.load(tmp_path, "x")
    assert found is not None
    assert found.said.isprintable()
    assert len(found.said) < 300
    with pytest.raises(FabricError, match="is the calibration of 'x', not of 'y'"):
        calibration.load(tmp_path, "y")


def test_kept_and_used_from_then_on(
    net: Net, spec_file: Callable[..., Path], fabric_cli: Callable[..., Result], golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(spec_file("roce-24k", SMALL).parent)
    found = [
        Measurement("zone", row.test, row.hosts, (), row.size, (row.gbytes,), source="a run")
        for row in measured(net, 0.5)
    ]
    found.append(Measurement("rails", "ib_write_bw", net.hosts[:2], (3,), 1 << 23, (21.0,)))
    found.append(Measurement("pairs", "all_gather", net.hosts[:2], (), 1 << 23, (1.0,), by="mpi"))
    results.append(Path("results.jsonl"), found, "roce-24k")
    asked = ("predict", "cluster.yaml", "--gpus", 64, "--seeds", 2, "--sizes", "1M", "--qps", 16)
    before = json.loads(fabric_cli(*asked, "--json").stdout)
    kept = fabric_cli(*asked, "--calibrate", "results.jsonl")
    assert (kept.exit_code, kept.stderr) == (0, "kept .fabric/roce-24k.calibration.json\n")
    after = json.loads(fabric_cli(*asked, "--json").stdout)
    assert after["calibration"]["scale"] == pytest.approx(0.5, rel=0.08)
    points = [one["cases"][0]["points"][0]["reached"]["p50"] for one in (before, after)]
    assert 1.3 * points[0] < points[1]
    result = fabric_cli(*asked, "--measured", "results.jsonl")
    golden("predict/measured.txt", result.stdout)
    rows = json.loads(fabric_cli(*asked, "--measured", "results.jsonl", "--json").stdout)["measured"]
    assert len(rows) == 5  # what MPI did without GPUs is left out
    assert [len(row["names"]) for row in rows if row["test"] == "ib_write_bw"] == [2]


def test_the_end_of_a_validate_says_how_far_it_was_from_the_prediction(
    net: Net, spec_file: Callable[..., Path], tmp_path: Path
) -> None:
    seating = load_seating(spec_file("roce-24k", SMALL))
    slow = Measurement("rails", "ib_write_bw", net.hosts[:2], (3,), 1 << 23, (21.0,))
    well = [Measurement("zone", row.test, row.hosts, (), row.size, (row.gbytes,)) for row in measured(net, 1.0)[-1:]]
    told = list(after_run(seating, [slow, *well], tmp_path))
    assert told[0] == "measured against predicted: 2 results, median 99 % of the prediction, 1 below 80 %"
    assert "42 %  z01-rtsw001:eth2/7/1 <-> z01-r001-h1:beth3" in told[2]
    assert len(told) == 3
    assert list(after_run(seating, [replace(slow, by="mpi"), replace(slow, state="broken")], tmp_path)) == []


def test_garbage_in_an_output_is_not_compared(spec_file: Callable[..., Path], tmp_path: Path) -> None:
    """Rows of nccl-tests, as text: one that can be, one of more than any GPU has."""
    ranks = [(8 * host + gpu, f"z01-r001-h{host + 1}", gpu) for host in range(2) for gpu in range(8)]
    lines = ["# Collective test starting: all_gather_perf", "# Using devices"]
    lines += [
        f"#  Rank {rank:2d} Group  0 Pid {rank} on {host} device {gpu:2d} [0x0f] NVIDIA H100"
        for rank, host, gpu in ranks
    ]
    lines.append("#       size count type redop root time algbw busbw #wrong time algbw busbw #wrong")
    lines += [
        f"{size} 8192 float none -1 {2 * f'{time:f} {algbw} {busbw} 0 '}"
        for size, time, algbw, busbw in ((1 << 20, 100.0, 10.49, 9.83), (1 << 21, 0.00001, 1e300, 1e300))
    ]
    (tmp_path / "run.txt").write_text("\n".join(lines) + "\n")
    cluster = load_cluster(spec_file("lab"))
    assert [row.size for row in read_measured(cluster, [tmp_path / "run.txt"])] == [1 << 20]
