"""Dumps of several jobs in one folder, dumps under a wrong name, folders that cannot be looked into: each is one clear line."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fabric.errors import FabricError
from fabric.verify.flight_recorder.analyse import analyse
from fabric.verify.flight_recorder.find import find_dumps
from fabric.verify.flight_recorder.load import load_dumps
from fabric.verify.flight_recorder.model import Analysis
from fabric.verify.flight_recorder.worlds import one_job
from tests.verify.flight_recorder.generate import dump_of, write
from tests.verify.flight_recorder.job import Job
from tests.verify.flight_recorder.torch_pickle import TorchPickler

SMALL, LARGE = Job(tp=2, dp=2, rounds=3, stop={3: 8}).run(), Job(tp=4, dp=2, rounds=3, stop={5: 8}).run()


def judged(folder: Path) -> Analysis:
    return analyse(one_job(load_dumps(find_dumps([folder]))))


def test_a_dump_of_another_job_is_left_out(tmp_path: Path) -> None:
    write(LARGE, tmp_path, without=(0, 1))
    write(SMALL, tmp_path, without=(2, 3))
    found = judged(tmp_path)
    assert [(one.cause, one.ranks) for one in found.culprits] == [("stopped", (5,))]
    assert (found.world, found.missing) == (8, (0, 1))
    assert found.unread[0].reason == (
        "is of another job: its default group is 4 ranks (0-3), that of most dumps 8 ranks (0-7)"
    )


def test_a_dump_of_another_rank_is_left_out(tmp_path: Path) -> None:
    write(SMALL, tmp_path)
    shutil.copy(tmp_path / "nccl_trace_rank_1", tmp_path / "nccl_trace_rank_71")
    found = judged(tmp_path)
    assert [(one.cause, one.ranks) for one in found.culprits] == [("stopped", (3,))]
    assert (found.world, found.missing) == (4, ())
    assert found.unread[0].reason.startswith("is not of rank 71, as its name says: its default group is 4 ranks")


def test_two_jobs_of_as_many_dumps_are_refused(tmp_path: Path) -> None:
    write(LARGE, tmp_path, without=range(4))
    write(SMALL, tmp_path)
    with pytest.raises(FabricError, match="of two jobs: in 4 the default group has 4 ranks, in as many 8"):
        judged(tmp_path)


def test_dumps_of_different_days_are_told(tmp_path: Path) -> None:
    write(SMALL, tmp_path)
    data: Any = dump_of(SMALL, 2, "2.9")
    data["entries"][-1]["time_created_ns"] += 3 * 86_400 * 10**9
    (tmp_path / "nccl_trace_rank_2").write_bytes(TorchPickler().dump(data))
    assert any("are 3 days apart" in note for note in judged(tmp_path).notes)


def test_a_folder_that_cannot_be_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (write(SMALL, tmp_path) / "closed").mkdir()
    real: Callable[[Any], Iterator[os.DirEntry[str]]] = os.scandir

    def refusing(path: Any) -> Iterator[os.DirEntry[str]]:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(FabricError, match="closed cannot be read: Permission denied"):
        find_dumps([tmp_path])
