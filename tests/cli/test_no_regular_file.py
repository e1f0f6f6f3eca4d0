"""A pipe where a file is wanted is refused in one line: reading it would wait for ever."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from fabric.change.hostkeys import read_known
from fabric.change.journal import read_journal
from fabric.change.planfile import load_plan
from fabric.change.secrets import read_secret
from fabric.cli.apply import is_plan
from fabric.cli.drain import _text
from fabric.errors import FabricError
from fabric.spec.cluster import ClusterSpec
from fabric.spec.loader import load_model
from fabric.verify.collectives.results import read_any
from fabric.verify.ib import lids
from tests.verify.locate.simulate import places_of

READERS: dict[str, Callable[[Path], object]] = {
    "spec": lambda path: load_model(path, ClusterSpec),
    "spec to be drained in": _text,
    "plan": load_plan,
    "saved LIDs": lids.load,
    "secret": lambda path: read_secret(path, "secret"),
    "host keys": read_known,
    "journal": read_journal,
    "results": lambda path: read_any(path, places_of("lab").seating),
}


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Path]:
    """A pipe that nobody writes to; who waits for it is interrupted."""

    def late(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError("it waits for the pipe")

    os.mkfifo(tmp_path / "pipe")
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(10)
    yield tmp_path / "pipe"
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("what", READERS)
def test_a_pipe_is_refused_in_one_line(what: str, pipe: Path) -> None:
    with pytest.raises(FabricError, match="regular file") as told:
        READERS[what](pipe)
    assert str(pipe) in told.value.message
    assert "\n" not in told.value.message


def test_a_pipe_is_no_plan(pipe: Path) -> None:
    assert not is_plan(pipe)
