"""What has ended is left out of a dump before it is read: the summary is the same, and what is hostile stays refused with its place."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabric.errors import FabricError
from fabric.verify.flight_recorder import load
from fabric.verify.flight_recorder.dump import summary_of
from fabric.verify.flight_recorder.memberships import Memberships
from fabric.verify.flight_recorder.pickled import load_pickle
from fabric.verify.flight_recorder.thin import LEAST, thinned
from tests.verify.flight_recorder.generate import dump_of
from tests.verify.flight_recorder.job import Job
from tests.verify.flight_recorder.torch_pickle import TorchPickler

JOB = Job(tp=2, dp=2, pp=2, rounds=40, stop={5: 150}).run()
FRAMES = [{"name": "forward", "filename": "model.py", "line": 300}, {"name": "run", "filename": "train.py", "line": 7}]


def changed(name: str, rank: int = 1, version: str = "2.9") -> Any:
    """A dump of the job, with what real ones have besides."""
    data: Any = dump_of(JOB, rank, version)
    for number, entry in enumerate(data["entries"]):
        if name == "frames":
            entry["frames"] = FRAMES[: number % 3]
        if name == "tensors":
            entry["input_sizes"] = [[2, 3, 70_000, 5, 6], [number]][: number % 3]
            entry["input_dtypes"] = ["Float", "BFloat16"][: number % 3]
        if name == "no times" and number % 2:
            entry["time_discovered_started_ns"] = None
        if name == "late texts":
            entry["profiling_name"] = f"nccl:all_reduce_{number % 20}"
    if name == "long references":
        data["pg_config"] |= {f"{n}": {"name": f"{n}", "desc": f"d{n}", "ranks": "[0, 1]"} for n in range(100, 300)}
    return data


CASES = [
    *(("", rank, version) for rank in (0, 5, 7) for version in ("2.2", "2.6", "2.9", "2.10")),
    *((name, 1, "2.9") for name in ("frames", "tensors", "no times", "late texts", "long references")),
]


@pytest.mark.parametrize(("name", "rank", "version"), CASES)
def test_the_summary_is_the_same(name: str, rank: int, version: str) -> None:
    data = TorchPickler().dump(changed(name, rank, version))
    thin, left = thinned(data)
    assert left > 100
    assert len(thin) < len(data) - 80 * left
    whole, short = (summary_of(load_pickle(some), rank, "", Memberships()) for some in (data, thin))
    assert replace(short, entries=short.entries + left) == whole


@pytest.mark.parametrize("version", ["1.0", "1.2", "2.0"])
def test_what_does_not_say_that_it_has_ended_stays(version: str) -> None:
    data = TorchPickler().dump(changed("", version=version))
    assert thinned(data) == (data, 0)


WHOLE = TorchPickler().dump(changed(""))
HOSTILE = {
    "cut off": (WHOLE[:-300], f"is cut off after {len(WHOLE) - 300:,} bytes"),
    "more after the end": (WHOLE + b".", f"goes on after its end at byte {len(WHOLE) - 1:,}"),
    "code at the end": (WHOLE[:-4] + b"cos\nsystem\n.", "asks for code, 'os.system'"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_refused_with_its_place_in_the_file(tmp_path: Path, name: str) -> None:
    data, expected = HOSTILE[name]
    (tmp_path / "dump_3").write_bytes(data)
    loaded = load.load_dumps({3: tmp_path / "dump_3"})
    assert not loaded.ranks
    assert expected in loaded.unread[0].reason


_HEAD = b"\x80\x02}(" + b"".join(
    b"X" + bytes([len(name)]) + b"\0\0\0" + name + b"q" + bytes([place])
    for place, name in enumerate((b"entries", b"process_group", b"retired", b"is_p2p"))
)
_ENTRY = b"}(h\x01h\x01h\x01\x86h\x02\x88h\x03\x88u"
SLOW = {
    "entries only": _HEAD + b"](" + _ENTRY * 60_000,
    "entries of as many groups": _HEAD + b"](" + b"".join(
        _ENTRY.replace(b"h\x01h\x01\x86", b"j" + n.to_bytes(4, "little") + b"h\x01\x86") for n in range(60_000)
    ),
    "no entry ends": _HEAD + b"](" + b"}(h\x01](" * 200_000,
    "lists in lists": _HEAD + b"](" + b"}(h\x01](}(h\x01](}(h\x01](" * 40_000 + b"N" * 200_000,
    "near misses": _HEAD + b"](" + _ENTRY + (_ENTRY[:-1] + b"N") * 60_000,
}  # fmt: skip


@pytest.mark.parametrize("name", SLOW)
def test_hostile_dumps_take_no_long_time(name: str) -> None:
    start = time.process_time()
    thin, left = thinned(SLOW[name])
    assert (
        time.process_time() - start < 5
    )  # a fraction of a second, where it grows with the size; minutes, where with its square
    assert (left > LEAST) == (thin != SLOW[name])


def test_a_worker_that_is_killed_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "read_chunk", _killed)
    with pytest.raises(FabricError, match="a worker process was killed"):
        load.load_dumps(dict.fromkeys(range(100), tmp_path / "dump"), processes=2)


def _killed(_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
