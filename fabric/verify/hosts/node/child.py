"""Children with a deadline. A child that hangs in the kernel cannot be ended: it is killed, not waited for, and left behind.

So nothing here, and no caller, ever touches a mount or runs a tool in the main process: that one always comes back.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Optional

MOST_BYTES = 8 << 20
"""Of one child's output, in bytes (our choice): what a tool prints is not trusted to end."""
PARALLEL = 8
"""Children at once (our choice): nvidia-smi takes a lock anyway, and a training job may be running."""
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin:/opt/mellanox/ethtool/sbin:/opt/mellanox/iproute2/sbin"
"""DOCA puts its ethtool and iproute2 under /opt/mellanox; cron and slurmd's prolog have a short PATH."""


@dataclass
class Ended:
    """How a child ended: exit status, output and error output; or `late`, or `failed` to start, with the reason."""

    status: int = -1
    out: bytes = b""
    err: bytes = b""
    late: bool = False
    failed: str = ""


@dataclass
class Running:
    """A child that runs: its process group's id, its pipes, how to ask whether it has ended."""

    pid: int
    pipes: dict[int, bytearray]
    poll: Callable[[], Optional[int]]  # noqa: UP045 - evaluated by Python 3.9
    until: float
    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)


Start = Callable[[float], Running]
"""Starts a child that may run until that moment of time.monotonic(). OSError when it cannot."""


def command(argv: Sequence[str]) -> Start:
    """A command, without a shell, in its own process group."""

    def start(until: float) -> Running:
        environment = {**os.environ, "LC_ALL": "C", "LANG": "C", "PATH": _PATH}
        process = subprocess.Popen(  # noqa: S603 - no shell; the words are ours and of the expectation
            list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment, start_new_session=True, cwd="/",
        )  # fmt: skip
        running = Running(process.pid, {}, process.poll, until)
        for pipe, kept in ((process.stdout, running.out), (process.stderr, running.err)):
            if pipe is not None:
                running.pipes[os.dup(pipe.fileno())] = kept
                pipe.close()
        return running

    return start


def function(work: Callable[[Callable[[bytes], None]], None]) -> Start:
    """A function in a fork: what it gives to its argument is the child's output."""

    def start(until: float) -> Running:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            _be_child(work, read, write)
        os.close(write)
        running = Running(pid, {}, lambda: _poll(pid), until)
        running.pipes[read] = running.out
        return running

    return start


def _be_child(work: Callable[[Callable[[bytes], None]], None], read: int, write: int) -> None:
    """Never returns."""
    status = 1
    try:
        os.setsid()
        os.close(read)
        work(lambda data: _write_all(write, data))
        status = 0
    finally:
        os._exit(status)  # what stands in the parent's buffers must not be written twice


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _poll(pid: int) -> int | None:
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return -1
    return os.waitstatus_to_exitcode(status) if ended else None


def run_all(starts: Sequence[Start], deadline_s: float, *, parallel: int = PARALLEL) -> list[Ended]:
    """Runs all, `parallel` at once, each for at most `deadline_s` seconds. In their order; returns soon after the deadline of the last."""
    todo = list(enumerate(starts))[::-1]
    ended: dict[int, Ended] = {}
    running: dict[int, Running] = {}
    with selectors.DefaultSelector() as selector:
        while todo or running:
            while todo and len(running) < parallel:
                place, start = todo.pop()
                try:
                    running[place] = start(time.monotonic() + deadline_s)
                except OSError as error:
                    ended[place] = Ended(failed=_why(error))
                    continue
                for pipe in running[place].pipes:
                    selector.register(pipe, selectors.EVENT_READ, place)
            _read_some(selector, running)
            ended.update(_ends(selector, running))
    return [ended[place] for place in range(len(starts))]


def _why(error: OSError) -> str:
    return "it is not installed" if isinstance(error, FileNotFoundError) else str(error.strerror)


def _read_some(selector: selectors.BaseSelector, running: dict[int, Running]) -> None:
    """Waits a moment for output, and takes it."""
    if not selector.get_map():
        time.sleep(0.005)
        return
    for key, _ in selector.select(0.05):
        child = running[key.data]
        data = os.read(key.fd, 65536)
        kept = child.pipes[key.fd]
        if data:
            kept.extend(data[: MOST_BYTES - len(kept)])
        else:
            _close(selector, child, key.fd)


def _close(selector: selectors.BaseSelector, child: Running, pipe: int) -> None:
    selector.unregister(pipe)
    os.close(pipe)
    del child.pipes[pipe]


def _ends(selector: selectors.BaseSelector, running: dict[int, Running]) -> Iterator[tuple[int, Ended]]:
    """Those that have ended or are over their time; they are taken from `running`.

    A child counts as ended with its process: a grandchild may hold the pipe for ever.
    """
    for place, child in list(running.items()):
        status = child.poll()
        late = status is None and time.monotonic() > child.until
        if status is None and not late:
            continue
        _drain(child)
        for pipe in list(child.pipes):
            _close(selector, child, pipe)
        if late:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.poll()
        del running[place]
        yield place, Ended(-1 if status is None else status, bytes(child.out), bytes(child.err), late)


def _drain(child: Running) -> None:
    """What still stands in the pipes, without waiting for more."""
    for pipe, kept in child.pipes.items():
        os.set_blocking(pipe, False)
        with contextlib.suppress(BlockingIOError):
            while len(kept) < MOST_BYTES and (data := os.read(pipe, 65536)):
                kept.extend(data[: MOST_BYTES - len(kept)])
