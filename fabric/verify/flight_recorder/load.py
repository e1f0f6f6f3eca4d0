"""All dumps of a job, one at a time in each process; of each only its summary stays in memory."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from itertools import islice
from pathlib import Path
from stat import S_ISREG

from fabric.errors import FabricError
from fabric.verify.flight_recorder.dump import summary_of
from fabric.verify.flight_recorder.fields import shown
from fabric.verify.flight_recorder.jsoned import load_json
from fabric.verify.flight_recorder.memberships import Memberships
from fabric.verify.flight_recorder.model import Dumps, RankDump, Unread
from fabric.verify.flight_recorder.pickled import LARGEST, load_pickle
from fabric.verify.flight_recorder.thin import thinned

CHUNK = 32  # dumps of one task
_FEW = 64  # up to so many dumps are read here: starting processes would take longer
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_Part = tuple[list[RankDump], list[Unread], dict[int, tuple[int, ...]], int]


def load_dumps(
    files: Mapping[int, Path],
    *,
    processes: int | None = None,
    executor: Executor | None = None,
    done: Callable[[int], None] = lambda _: None,
) -> Dumps:
    """The summaries of `files` (rank -> path). What cannot be read is in `unread`, with its reason.

    By `processes` (default: one a core), or on `executor`. `done` is told how many ranks are through.
    """
    dumps = Dumps()
    for part in _parts(list(files.items()), processes or len(os.sched_getaffinity(0)), executor):
        ranks, unread, members, size = part
        dumps.ranks.update((dump.rank, dump) for dump in ranks)
        dumps.unread += unread
        dumps.members.update(members)
        dumps.size += size
        done(len(dumps.ranks) + len(dumps.unread))
    dumps.unread.sort(key=lambda item: item.rank)
    return dumps


def _parts(files: list[tuple[int, Path]], processes: int, executor: Executor | None) -> Iterator[_Part]:
    if executor is not None:
        yield from executor.map(read_chunk, _chunks(files))
    elif processes == 1 or len(files) <= _FEW:
        yield from map(read_chunk, _chunks(files))
    else:
        yield from _shared(files, processes)


def _shared(files: list[tuple[int, Path]], processes: int) -> Iterator[_Part]:
    try:
        with ProcessPoolExecutor(processes, initializer=_start, initargs=(os.getpid(),)) as pool:
            try:
                yield from pool.map(read_chunk, _chunks(files))
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
    except BrokenProcessPool as error:
        raise FabricError("a worker process was killed", hint="most likely out of memory; try --workers 1") from error


def _start(parent: int) -> None:
    """In a worker: Ctrl-C is the parent's business, and it does not outlive its parent, which may be killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _chunks(files: list[tuple[int, Path]]) -> Iterator[list[tuple[int, Path]]]:
    rest = iter(files)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk


def read_chunk(files: list[tuple[int, Path]]) -> _Part:
    """The summaries of some dumps; runs in a process of its own."""
    memberships, ranks, unread, size = Memberships(), [], [], 0
    collecting = gc.isenabled()
    gc.disable()  # thousands of lists and dicts are built, none of which contains itself
    try:
        for rank, path in files:
            try:
                data = _read(path)
                size += len(data)
                loaded, left = _loaded(data)
                summary = summary_of(loaded, rank, shown(str(path)), memberships)
                ranks.append(replace(summary, entries=summary.entries + left))
            except FabricError as error:
                unread.append(Unread(rank, shown(str(path)), shown(error.message)))
    finally:
        if collecting:
            gc.enable()
    return ranks, unread, memberships.fresh(), size


def _read(path: Path) -> bytes:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not S_ISREG(status.st_mode):
                raise FabricError("is no file")
            if status.st_size > LARGEST:
                raise FabricError(
                    f"is {status.st_size >> 20:,} MiB, more than the {LARGEST >> 20} MiB that a dump may be"
                )
            return file.read(LARGEST + 1)
    except OSError as error:
        raise FabricError(f"cannot be read: {error.strerror}") from error


def _loaded(data: bytes) -> tuple[object, int]:
    """The data of a dump, and how many of its entries were left out as not needed."""
    if data[:1] == b"\x80":
        return _unpickled(data)
    if data.lstrip()[:1] == b"{":
        return load_json(data), 0
    raise FabricError("is empty" if not data.strip() else "is neither a pickle of PyTorch nor JSON")


def _unpickled(data: bytes) -> tuple[object, int]:
    thin, left = thinned(data)
    try:
        return load_pickle(thin), left
    except FabricError:
        if not left:
            raise
    return load_pickle(data), 0  # which tells the place in the file
