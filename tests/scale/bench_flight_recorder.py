"""The rows of the flight recorder: every rank of 24,576 with a dump of 2,000 entries, one of them stopped.

Each dump is its own file with its own groups, thread and times: a small job is simulated, and these are replaced in the bytes of the
dumps of four kinds of rank (the one that stopped, its neighbours in either group, all others). 11 GB on disk; with less room fewer
ranks are made, and the row says so. It is read twice: from the disk, after the kernel has let go of its pages, and once more from memory.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.scale.bench_cluster import FABRIC
from tests.scale.bench_run import CommandFailedError, run
from tests.scale.bench_table import Row, within
from tests.verify.flight_recorder.generate import START, dump_of
from tests.verify.flight_recorder.job import Job
from tests.verify.flight_recorder.torch_pickle import TorchPickler

RANKS, ENTRIES, TP = 24_576, 2_000, 8
_STOPPED = 5  # in the simulated job
_SECONDS, _GIB = 600.0, 1.0
_THREAD = "23456244340032"  # as the generator writes it
_ROOM = 700_000  # bytes on disk that a dump may take


def flight_recorder_rows(folder: Path, ranks: int = RANKS) -> Iterator[Row]:
    """Makes the dumps below `folder`, analyses them and removes them."""
    room = shutil.disk_usage(folder).free // 2 // _ROOM
    made = min(ranks, room // TP * TP)
    dumps = folder / "dumps"
    dumps.mkdir()
    culprit = made // TP // 2 * TP + _STOPPED
    try:
        size = write_dumps(dumps, made, culprit)
        raw = _raw(dumps)
        dropped = _drop_pages(dumps)
        for way in ("from the disk", "from memory") if dropped else ("from memory",):
            yield _row(dumps, made, culprit, size, way)
    finally:
        shutil.rmtree(dumps)
    yield Row("Python's unpickler alone, in one process", "none", True, None, f"{raw / 1e6:,.0f} MB/s of CPU time")


def _row(dumps: Path, made: int, culprit: int, size: int, way: str) -> Row:
    command = [
        FABRIC,
        "flight-recorder",
        str(dumps),
        "--json",
        "--no-history",
        "--spec",
        "inventories/lab/cluster.yaml",
    ]
    figures, said = run(command, exit_code=2)
    _check(json.loads(said), made, culprit)
    speed = f"{figures.wall:.0f} ({made / figures.wall:,.0f} ranks/s, {size / figures.wall / 1e6:,.0f} MB/s)"
    speed += f"; {made / figures.cpu:,.0f} ranks and {size / figures.cpu / 1e6:,.0f} MB a CPU second"
    what = f"flight recorder: {made:,} dumps of {ENTRIES:,} entries, {size / 1e9:.1f} GB, {way}"
    row = within(what, figures, seconds=_SECONDS, gib=_GIB)
    return Row(row.what, row.bound, row.kept, figures, speed)


def _drop_pages(folder: Path) -> bool:
    """Lets the kernel forget the files in memory, so that they are read from the disk; False where it cannot be told to."""
    if not hasattr(os, "posix_fadvise"):
        return False
    os.sync()  # what is not yet written cannot be forgotten
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return True


def write_dumps(folder: Path, ranks: int, culprit: int) -> int:
    """One dump a rank; how many bytes they are."""
    job = Job(tp=TP, dp=2, rounds=ENTRIES // 6, stop={_STOPPED: ENTRIES - 3}).run()
    templates = [_shared(_template(job, rank), rank % TP, ranks) for rank in range(2 * TP)]
    size = 0
    for rank in range(ranks):
        row, rail = divmod(rank, TP)
        own = {
            "@tp": str(list(range(row * TP, row * TP + TP))),
            "#tp": str(1 + TP + row),
            _THREAD: str(int(_THREAD) + rank),
        }
        data = _replaced(templates[rail if row == culprit // TP else TP + rail], own)
        data = data.replace(_clock(0), _clock(1 + rank % 20_000))
        (folder / f"nccl_trace_rank_{rank}").write_bytes(data)
        size += len(data)
    return size


def _clock(later: int) -> bytes:
    """The upper four bytes of all times in a dump, `later` times 4.3 s (2^32 ns) after those of the simulated job."""
    return struct.pack("<Q", START + (later << 32))[4:]


def _shared(template: bytes, rail: int, ranks: int) -> bytes:
    """With what all ranks of a rail have in common."""
    rails = str(list(range(rail, ranks, TP)))
    values = {"@world": str(list(range(ranks))), "@dp": rails, "#dp": str(1 + rail), "#ep": str(1 + TP + ranks // TP)}
    return _replaced(template, values)


def _replaced(data: bytes, values: dict[str, str]) -> bytes:
    for name, value in values.items():
        data = data.replace(_text(name), _text(value), 1)
    return data


def _text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def _template(job: Job, rank: int) -> bytes:
    """The dump of a simulated rank, with names in the place of its groups' names and ranks."""
    data: dict[str, Any] = dump_of(job, rank, "2.9")
    marks = {"DATA_PARALLEL": "dp", "TENSOR_PARALLEL": "tp", "EXPERT_PARALLEL": "ep", "PIPELINE_PARALLEL": "pp"}
    data["pg_config"] = {
        (name := f"#{marks[conf['desc']]}" if conf["desc"] in marks else "0"): {
            "name": name, "desc": conf["desc"], "ranks": f"@{marks[conf['desc']]}" if marks.get(conf["desc"]) in ("dp", "tp") else "@world",
        }
        for conf in data["pg_config"].values()
        if marks.get(conf["desc"]) != "pp"
    }  # fmt: skip
    data["pg_status"].popitem()  # the pipeline's, of one rank
    for entry in data["entries"]:
        desc = entry["process_group"][1]
        entry["process_group"] = (f"#{marks[desc]}" if desc in marks else "0", desc)
    return TorchPickler().dump(data)


def _raw(folder: Path) -> float:
    """Bytes a second that Python's own unpickler reads in one process: no reader in Python is faster."""
    files = sorted(folder.iterdir())[:200]
    data = [path.read_bytes() for path in files]
    start = time.process_time()
    for item in data:
        pickle.loads(item)  # noqa: S301 - our own bytes
    return sum(map(len, data)) / (time.process_time() - start)


def _check(document: dict[str, Any], ranks: int, culprit: int) -> None:
    named = [found["ranks"] for found in document["culprits"]]
    if document["dumps"] != ranks or named != [[culprit]]:
        raise CommandFailedError(f"flight-recorder: {document['dumps']} dumps, named {named}, not {culprit}")
