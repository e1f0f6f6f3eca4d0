"""Predictions at full size: `fabric predict` with everything it says, from the start of the process to its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.scale.bench_cluster import FABRIC, LARGE, SPEC
from tests.scale.bench_run import run
from tests.scale.bench_table import Row, within

SMALL_S, SMALL_GIB = 3.0, 500 / 1024
LARGE_S, LARGE_GIB = 60.0, 4.0


def predict_rows(folder: Path, *, quick: bool) -> Iterator[Row]:
    """The 24k cluster with ranks in the order of racks and at random; the large one (not with `quick`)."""
    for placement in ("rack", "random"):
        yield _row(SPEC, placement, 16, 20, f"predict, 24,576 GPUs, 16 QPs, 20 seeds, {placement}", SMALL_S, SMALL_GIB)
    if quick:
        return
    spec = folder / "large-predict.yaml"
    run([FABRIC, "init", "--kind", "roce", "--gpus", str(LARGE), "--name", "large", "-o", str(spec)])
    for placement in ("rack", "random"):
        yield _row(spec, placement, 4, 5, f"predict, {LARGE:,} GPUs, 4 QPs, 5 seeds, {placement}", LARGE_S, LARGE_GIB)


def _row(spec: Path, placement: str, qps: int, seeds: int, what: str, seconds: float, gib: float) -> Row:
    options = ["--placement", placement, "--qps", str(qps), "--seeds", str(seeds), "--json"]
    figures, _ = run([FABRIC, "predict", str(spec), *options])
    return within(what, figures, seconds=seconds, gib=round(gib, 2))
