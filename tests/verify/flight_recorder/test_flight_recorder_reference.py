"""Real dumps with known truth, read from the reference folder: the injected ranks are named, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.verify.flight_recorder.analyse import analyse
from fabric.verify.flight_recorder.find import find_dumps
from fabric.verify.flight_recorder.load import load_dumps

TRUTH = {
    "gpu_error_2nd": [("stuck", (9,)), ("stuck", (14,))],
    "lock_gil_1st": [("stopped", (9,)), ("stopped", (14,))],
    "hang": [("stopped", (2,))],
    "subgroup": [("stopped", (2,))],
}
LAGGING = {"gpu_error_2nd": {9: 5, 14: 5}}
"""Groups in which a rank lags, as measured in flight-recorder.md, section 3."""


@pytest.mark.parametrize(
    ("name", "glob"), [*((name, "*") for name in TRUTH), ("hang", "*.json"), ("subgroup", "*.json")]
)
def test_truth(reference_dir: Path, name: str, glob: str) -> None:
    folder = reference_dir / "flight-recorder" / name
    files = find_dumps(sorted(folder.glob("json_rank_*.json")) if glob == "*.json" else [folder])
    analysis = analyse(load_dumps(files))
    assert [(culprit.cause, culprit.ranks) for culprit in analysis.culprits] == TRUTH[name]
    assert all(culprit.proven for culprit in analysis.culprits)
    assert {rank: len(groups) for rank, groups in analysis.lagging.items()} == LAGGING.get(name, {})
    assert (analysis.missing, analysis.unread) == ((), ())


@pytest.mark.parametrize("name", ["gpu_error_2nd", "lock_gil_1st"])
@pytest.mark.parametrize("gone", [0, 8, 9, 12, 14])
def test_with_one_dump_less_no_healthy_rank_is_proven_guilty(reference_dir: Path, name: str, gone: int) -> None:
    files = find_dumps([reference_dir / "flight-recorder" / name])
    analysis = analyse(load_dumps({rank: path for rank, path in files.items() if rank != gone}))
    proven = {rank for culprit in analysis.culprits if culprit.proven for rank in culprit.ranks}
    assert proven == {9, 14} - {gone}
    assert analysis.missing == (gone,)
