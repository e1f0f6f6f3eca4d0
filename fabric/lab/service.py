"""What the process of every kind of lab does: it answers the command line (`fabric.lab.control`) until it is told to stop.

While the lab comes up, standard input is the lifeline to the command that started it: when it ends before the word "up" the command is
dead, and so is the lab.
"""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fabric.errors import FabricError
from fabric.lab.control import Listener

Say = Callable[[str], None]
Operation = Callable[[dict[str, Any], Say], dict[str, Any]]


class Service:
    """The main loop. A kind of lab adds its `operations`, and says what is to be done besides them (`turn`, `patience`)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started = time.monotonic()
        self.came_up = False
        self.stopping = False
        self.operations: dict[str, Operation] = {"stop": self._stop}

    def patience(self) -> float | None:
        """Seconds until `turn` is wanted although nothing happens; None when it is not."""
        return None

    def turn(self) -> None:
        """Done after everything that happens: a request, the end of a child, the patience that ran out."""

    def loop(self) -> None:
        """Serve until told to stop, or until the lifeline breaks."""
        listener = Listener(self.folder)
        reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "stopping", True))
        with selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ, lambda: listener.serve_one(self._handle))
            selector.register(reader, selectors.EVENT_READ, lambda: _drain(reader))
            selector.register(0, selectors.EVENT_READ, lambda: self._read_lifeline(selector))
            while not self.stopping:
                for key, _ in selector.select(self.patience()):
                    key.data()
                self.turn()

    def _read_lifeline(self, selector: selectors.BaseSelector) -> None:
        said = os.read(0, 64)
        selector.unregister(0)
        self.came_up = said.strip() == b"up"
        if not self.came_up:
            print("the command that started this lab is gone", flush=True)
            self.stopping = True

    def _handle(self, request: dict[str, Any], say: Say) -> dict[str, Any]:
        operation = self.operations.get(str(request.get("op")))
        if operation is None:
            raise FabricError(f"the lab does not know {request.get('op')!r}")
        return {"ok": True, **operation(request, say)}

    def _stop(self, _request: dict[str, Any], _say: Say) -> dict[str, Any]:
        self.stopping = True
        return {}


def _drain(reader: int) -> None:
    try:
        while os.read(reader, 512):
            pass
    except BlockingIOError:
        return
