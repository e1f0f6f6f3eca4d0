"""The program that prints nccl-tests' rows by MPI: its arithmetic, its data, its text as our own parser reads it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fabric.verify.collectives.nccl_run import busbw_factor
from fabric.verify.collectives.node import mpi_rows
from fabric.verify.collectives.parse_nccl_json import parse_nccl_json
from fabric.verify.collectives.parse_nccl_text import parse_nccl_text


@pytest.mark.parametrize("collective", mpi_rows.COLLECTIVES)
@pytest.mark.parametrize("ranks", [2, 3, 16])
def test_bus_bandwidth_is_nccl_tests(collective: str, ranks: int) -> None:
    assert mpi_rows.bus_factor(collective, ranks) == pytest.approx(busbw_factor(collective, ranks))


def test_data_differs_by_rank_and_place_and_one_flipped_bit_is_seen() -> None:
    sent = mpi_rows.pattern(1, 0, 5000)
    assert sent != mpi_rows.pattern(2, 0, 5000)
    assert sent[400:800] == mpi_rows.pattern(1, 100, 100)
    assert mpi_rows.wrong_elements(sent, sent) == 0
    broken = bytearray(sent)
    broken[4000] ^= 1
    assert mpi_rows.wrong_elements(bytes(broken), sent) == 1


def test_sums_are_exact() -> None:
    from array import array

    parts = [array("f", mpi_rows.pattern(rank, 7, 2000)) for rank in range(5)]
    total = array("f", [sum(values) for values in zip(*parts, strict=True)])
    assert total.tobytes() == mpi_rows.summed(5, 7, 2000)


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "0.50"), (78.541, "78.54"), (1234567.8, "1234568"), (123456789.0, "1.2e+08")]
)
def test_numbers_fill_their_column(value: float, text: str) -> None:
    assert mpi_rows.number_text(value, 8).strip() == text


@pytest.mark.parametrize(
    ("split", "color", "ranks"),
    [("", 0, [0, 2, 1, 3]), ("MOD 2", 1, [1, 3]), ("DIV 2", 1, [2, 3])],
)
def test_neighbours_in_a_ring_are_on_different_hosts(split: str, color: int, ranks: list[int]) -> None:
    assert mpi_rows.ring(color, 4, 2, split) == ranks


@pytest.mark.lab
@pytest.mark.parametrize("collective", ["all_gather", "all_reduce"])
def test_rows_and_json_of_a_real_run(collective: str, tmp_path: Path) -> None:
    program = shutil.which("mpirun")
    assert program, "make setup-lab installs Open MPI"
    argv = [
        program,
        "--allow-run-as-root",
        "--oversubscribe",
        "--mca",
        "orte_tmpdir_base",
        str(tmp_path),
        "-np",
        "3",
        sys.executable,
    ]
    argv += [
        mpi_rows.__file__,
        "--collective",
        collective,
        "-b",
        "16K",
        "-e",
        "64K",
        "-n",
        "2",
        "-J",
        str(tmp_path / "out.json"),
    ]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120)
    text = parse_nccl_text(done.stdout, source="stdout")
    data = parse_nccl_json((tmp_path / "out.json").read_text(encoding="utf-8"), source="out.json")
    for run in (text, data):
        assert (run.collective, run.nranks, run.complete, len(run.rows)) == (collective, 3, True, 3)
        assert all(half is not None and half.wrong == 0 for row in run.rows for half in (row.oop, row.inplace))
