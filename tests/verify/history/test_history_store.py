"""The file of the history: what is put in comes out; what cannot be used is one line, and no run is kept in half."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from fabric.errors import FabricError
from fabric.verify.collectives.model import Measurement, Part
from fabric.verify.finding import Finding
from fabric.verify.history import History, What, append, offenders, outcome_of, since_good, store, story
from fabric.verify.outcome import Outcome
from tests.verify.history.kept import finding, keep, outcome

FULL = Outcome(
    "lab",
    ("collectives",),
    [
        Finding("collectives.nic", "h1:eth3", "fail", "2\n<b>", "46", "look", ("a", "b"), ("h1",), 1, ("r:1 <-> h1:eth3",), "warning"),
        Finding("read.host", "h2", "unknown", "silent\udcff", "an answer"),
        Finding("collectives.pairs", "all", "pass", "as expected", "46", count=12),
    ],
    ("--zone 1",),
    [
        Measurement("pairs", "all_gather", ("h1", "h2"), (), 8, (1.5, 2.5), "ok", "", 0, ("t1", "t2"), "f:3", 2),
        Measurement("rails", "sendrecv", ("h1", "h3"), (3,), state="unmade", reason="no login"),
    ],
    (),
    [Part("nic", "h1:eth3", 0.75, "rack 1", ("slow",), ("h1",), "swap it", ("h1",))],
)  # fmt: skip


def test_a_run_comes_out_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "state" / "lab.history.sqlite"
    keep(path, 1, FULL, sha="a" * 64)
    with History.read(path) as kept:
        (run,) = kept.runs()
        back = outcome_of(kept, run, "lab")
    assert (run.checks, run.selection, run.spec_sha256) == (("collectives",), ("--zone 1",), "a" * 64)
    assert (run.passed, run.failed, run.unknown, run.good) == (12, 1, 1, False)
    assert [*back.findings][::2] == [*FULL.findings][::2]
    assert back.findings[1].measured == "silent?"  # what UTF-8 does not have
    assert (back.measurements, back.parts) == (FULL.measurements, FULL.parts)
    assert (path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)


def test_two_runs_of_one_second(tmp_path: Path) -> None:
    path = tmp_path / "h"
    assert [keep(path, 1, outcome()) for _ in range(3)] == [f"20260101-120000{end}" for end in ("", "-2", "-3")]


def test_passes_of_long_ago_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append, "KEEP_PASSES", 2)
    path = tmp_path / "h"
    for day in range(1, 6):
        keep(path, day, outcome(finding("gpu.ecc", "h1")))
    with History.read(path) as kept:
        rows = kept.base.execute("SELECT run, verdict FROM findings ORDER BY run, verdict").fetchall()
        assert [run.passed for run in kept.runs()] == [1] * 5
    assert [run for run, verdict in rows if verdict == "pass"] == [4, 5]
    assert [run for run, verdict in rows if verdict == "fail"] == [1, 2, 3, 4, 5]


def garbage(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + os.urandom(5000))


def torn(path: Path) -> None:
    """A page in the middle lost."""
    keep(path, 1, Outcome("lab", ("hosts",), [finding("gpu.ecc", f"h{number}") for number in range(500)]))
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // 4096):
        data[4096 * page : 4096 * page + 200] = b"\xff" * 200
    path.write_bytes(data)


def newer(path: Path) -> None:
    keep(path, 1, outcome())
    with sqlite3.connect(path) as base:
        base.execute("PRAGMA user_version = 2")


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE bookmarks (id)")


UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "garbage": (garbage, "is damaged: "),
    "text": (lambda path: path.write_text("no database at all, but long enough to be read as a header\n" * 90), "is damaged: "),
    "torn": (torn, "is damaged: "),
    "newer": (newer, "was written by a newer fabric (tables 2, this one knows 1)"),
    "foreign": (foreign, "is a database of another program"),
    "folder": (Path.mkdir, "is no regular file"),
    "pipe": (os.mkfifo, "is no regular file"),
}  # fmt: skip


@pytest.mark.parametrize("kind", UNUSABLE)
def test_an_unusable_file_is_one_line(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "lab.history.sqlite"
    make, words = UNUSABLE[kind]
    make(path)
    with pytest.raises(FabricError, match=r"lab\.history\.sqlite") as told:
        keep(path, 2, outcome())
    assert words in told.value.message
    assert "\n" not in str(told.value)
    with pytest.raises(FabricError), History.read(path) as kept:
        outcome_of(kept, kept.runs()[0], "lab")


def test_no_history_and_an_empty_file(tmp_path: Path) -> None:
    for path, touch in ((tmp_path / "a", False), (tmp_path / "b", True)):
        if touch:
            path.touch()
        with pytest.raises(FabricError, match="there is no history yet"), History.read(path):
            pass
    keep(tmp_path / "b", 1, outcome())  # a kill between making the file and its tables costs nothing


def test_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "h"
    keep(path, 1, outcome())
    monkeypatch.setattr(store, "WAIT_S", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(FabricError, match="another process is writing to it"):
        keep(path, 2, outcome())
    other.close()
    keep(path, 2, outcome())


def test_a_failure_in_the_middle_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "h"
    keep(path, 1, outcome())
    monkeypatch.setattr(append, "_parts", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        keep(path, 2, outcome(finding("gpu.ecc", "h1")))
    with History.read(path) as kept:
        assert [run.run for run in kept.runs()] == ["20260101-120000"]
        assert kept.base.execute("SELECT count(*) FROM findings WHERE verdict = 'fail'").fetchone() == (0,)


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system is mounted")
@pytest.mark.lab
def test_a_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", disk], check=False).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        keep(disk / "h", 1, outcome())
        big = outcome(*(finding("gpu.ecc", f"h{number}", measured=f"{number}" * 50) for number in range(3000)))
        with pytest.raises(FabricError, match="no space left on the device"):
            keep(disk / "h", 2, big)
        with History.read(disk / "h") as kept:
            assert len(kept.runs()) == 1
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("seed", range(4))
def test_any_bytes_changed_are_one_line_or_nothing(seed: int, tmp_path: Path) -> None:
    """Whatever a disk or a person did to the file: what can be read is told, the rest is a FabricError."""
    path, random = tmp_path / "h", Random(seed)  # noqa: S311 - damage
    for day in (1, 2, 3):
        keep(path, day, FULL if day % 2 else outcome(finding("gpu.ecc", "h1: GPU 3")))
    whole = path.read_bytes()
    for _ in range(40):
        data = bytearray(whole)
        for _ in range(random.choice((1, 5, 40))):
            data[random.randrange(random.choice((100, len(data))))] = random.randrange(256)
        path.write_bytes(data[: random.choice((len(data), random.randrange(len(data))))])
        try:
            with History.read(path) as kept:
                runs = kept.runs()
                offenders(kept, runs, at_least=1)
                since_good(kept)
                story(kept, What("h1", ("h1",), "h1"))
                for run in runs:
                    outcome_of(kept, run, "lab")
        except FabricError as error:
            assert "\n" not in str(error)
