"""The same work for many devices at once, in threads that nobody has to wait for.

A thread that hangs cannot be ended, so these are daemon threads: what takes longer than its deadline is given up, and the process can end.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from fabric.errors import FabricError

K = TypeVar("K")
R = TypeVar("R")
TICK_S = 0.2
"""How often the waiting thread looks at deadlines, and lets a signal through."""


class GivenUpError(FabricError):
    """The work took longer than its deadline; its thread was left behind."""


class _Fan(Generic[K, R]):
    def __init__(self, work: Callable[[K], R], items: Sequence[K]) -> None:
        self.work = work
        self.todo = deque(items)
        self.done: queue.SimpleQueue[tuple[K, R | BaseException]] = queue.SimpleQueue()
        self.running: dict[int, tuple[K, float]] = {}
        self.lock = threading.Lock()

    def start_one(self) -> None:
        """A thread takes one item after another."""
        threading.Thread(target=self._loop, daemon=True).start()

    def _loop(self) -> None:
        me = threading.get_ident()
        while True:
            with self.lock:
                if not self.todo:
                    return
                item = self.todo.popleft()
                self.running[me] = (item, time.monotonic())
            try:
                result: R | BaseException = self.work(item)
            except BaseException as error:  # it is given to who reads the results
                result = error
            with self.lock:
                if self.running.get(me, (None, 0.0))[0] is not item:
                    return  # given up meanwhile, and replaced by another thread
                del self.running[me]
            self.done.put((item, result))

    def late(self, deadline_s: float) -> list[K]:
        """Items over the deadline, taken from their threads."""
        limit = time.monotonic() - deadline_s
        with self.lock:
            over = [thread for thread, (_, since) in self.running.items() if since < limit]
            return [self.running.pop(thread)[0] for thread in over]


def fan_out(
    work: Callable[[K], R],
    items: Sequence[K],
    *,
    parallel: int,
    deadline_s: float | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[K, R | BaseException]]:
    """(item, result or exception) as they come; an item over `deadline_s` seconds comes with a GivenUpError.

    `work` runs in up to `parallel` threads. Once `stop()` is true nobody is waited for: what has not ended is left out.
    Stopping the iteration leaves running work alone and starts no more.
    """
    fan = _Fan(work, items)
    for _ in range(min(parallel, len(items))):
        fan.start_one()
    left = len(items)
    try:
        while left and not stop():
            try:
                yield fan.done.get(timeout=TICK_S)
                left -= 1
            except queue.Empty:
                for item in fan.late(deadline_s) if deadline_s is not None else ():
                    fan.start_one()
                    left -= 1
                    yield item, GivenUpError(f"no end after {deadline_s:g} s")
    finally:
        with fan.lock:
            fan.todo.clear()
