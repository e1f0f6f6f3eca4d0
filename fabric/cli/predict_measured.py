"""What was measured, beside what is predicted: for `fabric predict --measured`, `--calibrate` and `fabric validate collectives`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from fabric.words import counted

if TYPE_CHECKING:
    from fabric.design.load import Cluster, SubnetCluster
    from fabric.design.seats import Seating
    from fabric.predict.calibration import Ask, Compared, Measured
    from fabric.predict.model import Case
    from fabric.verify.collectives.model import Measurement

SHOWN = 12
MOST_GBYTES = 1e5
"""GB/s from which a row of an output is no measurement but garbage: 2,000 NICs of 400 Gb/s at one GPU."""
AFTER_RUN = 4
"""Rows far below their prediction that are told at the end of a run."""
LOW = 0.8
"""Part of its prediction below which a row is called low: the model leaves out what takes a few percent, not a fifth."""


def asker(cluster: Cluster | SubnetCluster, case: Case | None = None) -> Ask:
    """The case of a measured row: hosts and collective are the row's, how flows choose is that of `case`, or the spec's."""
    from fabric.predict.calibration import TESTS
    from fabric.predict.source import declared

    base = replace(declared(cluster.spec, "measured") if case is None else case, seeds=10, gpus=None, placement="given")

    def ask(row: Measured) -> Case:
        collective = TESTS[row.test]
        tree = base.algorithm == "tree" and collective == "all_reduce"
        return replace(base, collective=collective, algorithm="tree" if tree else "ring", hosts=row.hosts)

    return ask


def read_measured(cluster: Cluster | SubnetCluster, files: Sequence[Path]) -> list[Measured]:
    """Rows of results files and of nccl-tests' own output, which has more than one size. FabricError for a file of another kind."""
    from fabric.design.seats import Seating
    from fabric.verify.collectives.results import read_all

    seating = Seating(cluster)
    whole, own = [], []
    for path in files:
        rows = list(_rows_of(path, seating))
        own += rows
        if not rows:
            whole.append(path)
    found, _ = read_all(whole, seating) if whole else ([], [])
    return own + measured(found, seating)


def measured(found: Iterable[Measurement], seating: Seating) -> list[Measured]:
    """Measurements that ended well, by GPUs, on two hosts or more."""
    from fabric.predict.calibration import Measured

    rows = []
    for one in found:
        if one.state != "ok" or one.by == "mpi" or len(one.hosts) < 2 or one.value is None:
            continue
        names = one.trunks or _cables(one, seating)
        rows.append(Measured(one.test, one.hosts, one.size, one.value, one.rails, one.source, tuple(names)))
    return rows


def after_run(seating: Seating, found: Iterable[Measurement], folder: Path) -> Iterator[str]:
    """For the end of `fabric validate collectives`: what was measured beside what the design promises; nothing where nothing compares."""
    rows = measured(found, seating)
    if not rows:
        return
    from fabric.predict.calibration import compare, load
    from fabric.predict.from_design import design_net
    from fabric.predict.source import nic_gbps

    cluster = seating.cluster
    kept = load(folder, seating.name)
    compared = compare(
        design_net(cluster), rows, asker(cluster), nic_gbps(cluster), 1.0 if kept is None else kept.scale
    )
    if not compared:
        return
    lines = list(comparison(compared))
    low = sum(one.share < LOW for one in compared)
    yield lines[0]
    if low:
        yield from lines[1 : 2 + min(AFTER_RUN, low)]


def _cables(one: Measurement, seating: Seating) -> tuple[str, ...]:
    """The cables of the NICs of a run with one NIC a host."""
    if len(one.rails) != 1:
        return ()
    seats = (seating.by_host.get(host, ()) for host in one.hosts)
    return tuple(seat.cable for row in seats for seat in row if seat.rail == one.rails[0])


def _rows_of(path: Path, seating: Seating) -> Iterator[Measured]:
    """Every size of an output of nccl-tests; nothing for another kind of file."""
    from fabric.predict.calibration import TESTS, Measured
    from fabric.verify.collectives.parse_nccl_text import is_nccl_text, parse_nccl_runs

    if not path.is_file() or path.stat().st_size > 16 << 20:
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    if not is_nccl_text(text):
        return
    for run in parse_nccl_runs(text, source=str(path)):
        hosts = tuple(host for host in run.hosts if host in seating.by_host)
        if run.by_mpi or run.groups > 1 or len(hosts) < 2 or hosts != run.hosts or run.collective not in TESTS:
            continue
        for row in run.rows:
            if row.size and row.busbw and row.busbw < MOST_GBYTES:
                yield Measured(run.collective, hosts, row.size, row.busbw, run.rails, f"{path}")


def comparison(compared: Sequence[Compared]) -> Iterator[str]:
    """The rows for people, the lowest share first; what lies far below its prediction by the names of its cables."""
    from fabric.predict.telling import size_text

    ordered = sorted(compared, key=lambda one: one.share)
    low = [one for one in ordered if one.share < LOW]
    middle = median(one.share for one in compared)
    yield (
        f"measured against predicted: {counted(len(compared), 'result')}, median {100 * middle:.0f} % of the prediction,"
        f" {len(low)} below {100 * LOW:.0f} %"
    )
    yield f"  {'test':<14}  {'hosts':>6}  {'size':>6}  {'measured':>8}  {'predicted GB/s':>20}  share"
    for one in ordered[:SHOWN]:
        row, band = one.measured, one.predicted
        where = "; ".join(row.names[:2]) if row.names else f"{row.hosts[0]} .. {row.hosts[-1]}"
        yield (
            f"  {row.test:<14}  {len(row.hosts):>6}  {size_text(row.size):>6}  {row.gbytes:>8.1f}"
            f"  {f'{band.p50:.1f} [{band.p5:.1f}-{band.p95:.1f}]':>20}  {100 * one.share:>3.0f} %  {where}"
        )
    if len(ordered) > SHOWN:
        yield f"  and {len(ordered) - SHOWN} more that are nearer to their prediction"
