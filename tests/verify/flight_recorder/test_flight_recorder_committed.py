"""The dumps in data/: they are what the generator makes, and each set names its culprit."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.verify.flight_recorder.analyse import analyse
from fabric.verify.flight_recorder.find import find_dumps
from fabric.verify.flight_recorder.load import load_dumps
from tests.verify.flight_recorder.committed import DATA, EXPECTED, write_all


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_they_are_what_the_generator_makes(tmp_path: Path) -> None:
    write_all(tmp_path)
    assert files_of(tmp_path) == files_of(DATA)


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.iterdir()))
def test_each_names_its_culprit(name: str) -> None:
    cause, ranks = EXPECTED[name.rpartition("-")[0]]
    culprits = analyse(load_dumps(find_dumps([DATA / name]))).culprits
    assert [(culprit.cause, culprit.ranks) for culprit in culprits] == [(cause, ranks)]
    assert culprits[0].proven == (cause != "no-dump")
