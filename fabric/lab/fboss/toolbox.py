"""What runs the box's command lines: a process that has imported them once, and forks for each call.

A change of a switch calls some twenty of them, and to start Python and import what they need is most of what each costs. The command on the
box (`call.py`) hands over its words and its standard streams, and ends with the exit code of the fork; when its end of the connection goes,
the fork is hung up. Without a toolbox, as in a box that the lab did not boot, `call.py` becomes the tool itself.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import selectors
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, TextIO

from fabric.lab.fboss.node import Node

CALL = Path(__file__).with_name("call.py")
MODULES = ("fboss2", "units", "timers", "journal", "bgp")
"""What is imported at the start: the modules of `install.TOOLS`, and what they import later."""

_WORDS_LIMIT = 1 << 17
_CLIENT_S = 30.0


def address(folder: Path) -> bytes:
    """Where the toolbox of the box in `folder` listens: an abstract name, which only its network namespace sees and which nobody need remove."""
    found = folder.stat()
    return f"\0fboss-tools-{found.st_dev}-{found.st_ino}".encode()


def start(node: Node) -> int:
    """Start the toolbox of a box; returns its pid. It answers at once, and ends with the box."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(address(node.folder))
    listener.listen(64)
    pid = os.fork()
    if pid:
        listener.close()
        return pid
    try:
        os.setsid()
        for module in MODULES:
            importlib.import_module(f"fabric.lab.fboss.{module}")
        gc.collect()
        gc.freeze()  # forks share the pages of what is loaded
        _Toolbox(listener).serve()
    except BaseException:
        traceback.print_exc()
    os._exit(1)


class _Toolbox:
    """The server: connections, and the forks that work for them."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, self._accept)

    def serve(self) -> NoReturn:
        """Answer for ever."""
        while True:
            for key, _ in self._selector.select():
                key.data()

    def _accept(self) -> None:
        link, _ = self._listener.accept()
        if _user(link) != os.geteuid():  # whoever it is gets no other rights by us; `call.py` does not even ask
            link.close()
            return
        link.settimeout(_CLIENT_S)
        descriptors: Sequence[int] = ()
        try:
            data, descriptors, *_ = socket.recv_fds(link, _WORDS_LIMIT, 3)
            size = int.from_bytes(data[:4], sys.byteorder) + 4
            while data and len(data) < size and (more := link.recv(_WORDS_LIMIT)):
                data += more
            if len(descriptors) == 3 and len(data) == size:
                self._fork(link, os.fsdecode(data[4:]).split("\0"), descriptors)
            else:
                link.close()
        except OSError:  # it says nothing, or is gone
            link.close()
        for descriptor in descriptors:
            os.close(descriptor)

    def _fork(self, link: socket.socket, words: Sequence[str], streams: Sequence[int]) -> None:
        pid = os.fork()
        if pid == 0:
            self._selector.close()
            self._listener.close()
            link.close()
            _become(words, streams)
        handle = os.pidfd_open(pid)
        waiting = {"caller", "tool"}

        def gone() -> None:
            """The command on the box was ended."""
            if "tool" in waiting:
                waiting.discard("caller")
                self._selector.unregister(link)
                signal.pidfd_send_signal(handle, signal.SIGHUP)

        def ended() -> None:
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            waiting.discard("tool")
            self._selector.unregister(handle)
            os.close(handle)
            if "caller" in waiting:
                self._selector.unregister(link)
                with contextlib.suppress(OSError):
                    link.sendall(bytes([code if code >= 0 else 128 - code]))
            link.close()

        self._selector.register(handle, selectors.EVENT_READ, ended)
        self._selector.register(link, selectors.EVENT_READ, gone)


def _user(link: socket.socket) -> int:
    """User id of the other end."""
    credentials = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[1])


def _stream(number: int, errors: str) -> TextIO:
    """A standard stream as a new interpreter opens it: in whole lines for a person and for errors."""
    lines = os.isatty(number) or number == 2
    return open(number, "w", encoding="utf-8", errors=errors, closefd=False, buffering=1 if lines else -1)


def _become(words: Sequence[str], streams: Sequence[int]) -> NoReturn:
    """Be the tool: `words` are a working directory, a module of ours, the folder of the box and its own arguments."""
    code: object = 1
    try:
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
            os.close(descriptor)
        sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115 - never closed
        sys.stdout = _stream(1, "surrogateescape")
        sys.stderr = _stream(2, "backslashreplace")
        os.chdir(words[0])
        sys.argv = list(words[1:])
        code = importlib.import_module(f"fabric.lab.fboss.{words[1]}").main(sys.argv)
        sys.stdout.flush()
    except SystemExit as end:
        code = end.code
    except BrokenPipeError:  # as the interpreter ends when nobody reads
        code = 120
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):  # what was printed before an exit is said too
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code if isinstance(code, int) else bool(code))
