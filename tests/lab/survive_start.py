"""Starts `fabric` processes at the operator's seat of a lab by fork: importing everything takes each a second of CPU, once is enough.

`python -m tests.lab.survive_start FD SPEC` runs in the lab; it checks SPEC once, which reads the catalog and compiles the templates. With a
third word, "outside", it runs beside the lab, and has imported only what commands of labs need. What is started is a process of its own with
its own arguments, environment and outputs, which runs the command line's own entry point, and can be stopped and killed as any other. It can
be told to stop itself as soon as an event is in its journal: who watches from outside comes too late for a step that is over in a millisecond.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import fabric
from fabric.change.events import Event, to_record
from fabric.change.journal import Journal
from fabric.cli.boundary import run
from fabric.cli.main import cli, main

_ROOT = Path(__file__).resolve().parents[2]
_MESSAGE = 1 << 20
HEAR_S = 0.5
"""After a stop, before the next step: a signal that was sent meanwhile is heard by the main thread first, in seconds."""
_NOT_NEEDED = ("fabric.__main__", "fabric.lab", "fabric.export")
_OUTSIDE = ("fabric.cli.lab", "fabric.lab.control", "fabric.lab.enter", "fabric.lab.seat", "fabric.lab.state")
"""What commands beside a lab need: little, as a fork costs by what is there."""


class Started:
    """A process that was started; `pid` as it is seen from outside of the lab."""

    def __init__(self, link: socket.socket, stdout: IO[str], stderr: IO[str]) -> None:
        self.stdout, self.stderr = stdout, stderr
        self._link = link
        self._code: int | None = None
        _, [(_, _, credentials)], *_ = link.recvmsg(1, socket.CMSG_SPACE(struct.calcsize("3i")))
        self.pid: int = struct.unpack("3i", credentials)[0]

    def poll(self) -> int | None:
        """Its exit code, or minus the signal that ended it; None while it runs."""
        with contextlib.suppress(TimeoutError, BlockingIOError):
            return self.wait(0)
        return None

    def wait(self, timeout: float) -> int:
        """The same, once it has ended; TimeoutError when it has not."""
        if self._code is None:
            self._link.settimeout(timeout)
            said = self._link.recv(16)
            self._code = int(said) if said else -signal.SIGKILL  # the lab was taken down, and everything in it
            self._link.close()
        return self._code


class Starter:
    """The client's end: `enter` is the command that enters the lab."""

    def __init__(self, enter: Sequence[str], env: Mapping[str, str], spec: Path, *more: str) -> None:
        self._lock = threading.Lock()
        self._link, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [*enter, sys.executable, "-m", "tests.lab.survive_start", str(there.fileno()), str(spec), *more]
        quiet = subprocess.DEVNULL
        self._server = subprocess.Popen(
            command, cwd=_ROOT, env=dict(env), pass_fds=[there.fileno()], stdin=quiet, stdout=quiet
        )
        there.close()

    def start(self, words: Sequence[str], env: Mapping[str, str], stop_at: tuple[str, str]) -> Started:
        """`fabric WORDS` with this environment, which stops itself when `stop_at`, (event or step, device or ""), is in its journal."""
        (out, its_out), (err, its_err) = os.pipe(), os.pipe()
        link, its_link = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        with its_link, self._lock:
            request = json.dumps({"words": list(words), "env": dict(env), "stop_at": stop_at}).encode()
            socket.send_fds(self._link, [request], [its_out, its_err, its_link.fileno()])
        os.close(its_out)
        os.close(its_err)
        return Started(link, os.fdopen(out, encoding="utf-8"), os.fdopen(err, encoding="utf-8"))

    def run(self, words: Sequence[str], timeout: float) -> subprocess.CompletedProcess[str]:
        """`fabric WORDS` with our own environment, to its end; killed, and TimeoutError, when that takes longer than `timeout` seconds."""
        started = self.start(words, os.environ, ("", ""))
        texts = {}

        def read(name: str, stream: IO[str]) -> None:
            with stream:
                texts[name] = stream.read()

        streams = {"stdout": started.stdout, "stderr": started.stderr}
        readers = [threading.Thread(target=read, args=item, daemon=True) for item in streams.items()]
        for reader in readers:
            reader.start()
        try:
            code = started.wait(timeout)
        except TimeoutError:
            os.kill(started.pid, signal.SIGKILL)
            raise
        for reader in readers:
            reader.join()
        return subprocess.CompletedProcess(["fabric", *words], code, texts["stdout"], texts["stderr"])

    def close(self) -> None:
        """End the server."""
        self._link.close()
        self._server.wait(30)


def _serve(link: socket.socket) -> None:
    """Starts what it is asked for, until the client is gone; in a started process it returns with its arguments in place."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(link, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.fileobj is not link:
                    pid, its_link = key.data
                    _, status = os.waitpid(pid, 0)
                    with its_link, contextlib.suppress(OSError):
                        its_link.send(str(os.waitstatus_to_exitcode(status)).encode())
                    waiting.unregister(key.fileobj)
                    os.close(key.fd)
                    continue
                request, descriptors, *_ = socket.recv_fds(link, _MESSAGE, 3)
                if not request:  # the client is gone, and no descriptors come either
                    sys.exit(0)
                out, err, its_end = descriptors
                its_link = socket.socket(fileno=its_end)
                pid = os.fork()
                if pid == 0:
                    _become(json.loads(request), out, err, its_link)
                    return
                os.close(out)
                os.close(err)
                waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, its_link))


def _become(request: Mapping[str, Any], out: int, err: int, link: socket.socket) -> None:
    """What an exec would have done."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["fabric", *request["words"]]
    if request["stop_at"][0]:
        _stop_at(*request["stop_at"])
    link.send(b"s")
    link.close()


def _stop_at(step: str, device: str) -> None:
    """A breakpoint behind the journal: SIGSTOP to ourselves, once at each of the steps ("committed,checking")."""
    append, to_come = Journal.append, set(step.split(","))

    def appended(journal: Journal, event: Event) -> None:
        append(journal, event)
        record = to_record(event)
        here = record.get("step", record["event"])
        if here in to_come and record.get("device", "") == device:
            to_come.remove(here)
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(HEAR_S)

    Journal.append = appended  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    outside = sys.argv[3:] == ["outside"]
    for module in pkgutil.walk_packages(fabric.__path__, "fabric."):
        if module.name.startswith(_OUTSIDE) if outside else not module.name.startswith(_NOT_NEEDED):
            importlib.import_module(module.name)
    if not outside:
        importlib.import_module("netmiko")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            run(cli, ["check", sys.argv[2]])
    gc.freeze()  # what is there stays, and stays shared
    _serve(socket.socket(fileno=int(sys.argv[1])))
    main()
