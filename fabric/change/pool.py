"""Work over many devices in forked processes: the job is inherited, and only results travel back."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from fabric.errors import FabricError

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with (devices done, devices in all)."""

FEW = 8
"""Up to so many devices are done in this process: starting workers would take longer."""
CHUNK = 16
"""Devices in one piece of work: small enough to balance two workers when a few chassis are ten times the size of the rest."""

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_inherited: list[Callable[[Sequence[str]], Any]] = []


def default_workers() -> int:
    """Two, or one where there is only one core."""
    return min(2, usable_cpus())


def usable_cpus() -> int:
    """The cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def run_chunks(
    work: Callable[[Sequence[str]], T], names: Sequence[str], *, workers: int, progress: Progress | None = None
) -> Iterator[T]:
    """`work(chunk)` for each chunk of `names`; results in the order of the chunks.

    `work` may be a closure: the processes are forked and inherit it. Its result is pickled. The first FabricError stops the rest.
    """
    chunks = [names[i : i + CHUNK] for i in range(0, len(names), CHUNK)]
    processes = min(workers, usable_cpus(), len(chunks))
    inline = processes <= 1 or len(names) <= FEW or "fork" not in multiprocessing.get_all_start_methods()
    results = _inline(work, chunks) if inline else _forked(work, chunks, processes)
    done = 0
    for chunk, result in zip(chunks, results, strict=True):
        done += len(chunk)
        if progress:
            progress(done, len(names))
        yield result


def _inline(work: Callable[[Sequence[str]], T], chunks: Sequence[Sequence[str]]) -> Iterator[T]:
    with _collector_off():
        for chunk in chunks:
            yield work(chunk)
            gc.collect(1)


def _forked(work: Callable[[Sequence[str]], T], chunks: Sequence[Sequence[str]], processes: int) -> Iterator[T]:
    _inherited.append(work)
    gc.freeze()  # what is inherited is never garbage: workers need not scan it, and do not copy its pages
    try:
        with ProcessPoolExecutor(
            processes, multiprocessing.get_context("fork"), initializer=_start, initargs=(os.getpid(),)
        ) as pool:
            try:
                yield from pool.map(_one, chunks)
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
    except BrokenProcessPool as error:
        raise FabricError("a worker process was killed", hint="most likely out of memory; try --workers 1") from error
    finally:
        _inherited.pop()
        gc.unfreeze()


def _start(parent: int) -> None:
    """In the worker: no cyclic collector while rendering, Ctrl-C is the parent's business, and no life after the parent's."""
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _one(chunk: Sequence[str]) -> Any:
    result = _inherited[-1](chunk)
    gc.collect(1)
    return result


@contextmanager
def _collector_off() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
