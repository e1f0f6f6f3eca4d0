"""The command lines of a virtual FBOSS box, run by its toolbox and without one: the same words, exit codes and streams."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from fabric.lab.fboss import toolbox
from fabric.lab.fboss.call import ask
from fabric.lab.fboss.node import Node
from tests.lab_unit.vfboss_box import make_node, tool

CALLS = [
    ("units", "is-active", "wedge_agent"),
    ("units", "is-active", "qsfp_service"),
    ("units", "frob"),
    ("fboss2", "show", "product"),
    ("fboss2", "--frob"),
    ("journal", "-u", "none"),
    ("timers", "--frob-ünïcode\udcff\n"),
    ("units", "x" * 100_000, "y" * 100_000),
]


@pytest.fixture
def box(tmp_path: Path) -> Node:
    return make_node(tmp_path / "box")


@pytest.fixture
def server(box: Node) -> Iterator[int]:
    pid = toolbox.start(box)
    yield pid
    kill(pid)


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, ChildProcessError):  # a test has done it
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def call(box: Node, module: str, *words: str, **env: str) -> tuple[int, bytes, bytes]:
    """As the box's shell would call it; without PYTHONPATH only the toolbox knows our modules."""
    argv = [sys.executable, "-I", "-S", str(toolbox.CALL), str(box.folder), module, *words]
    done = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, cwd=box.folder, env=env, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", CALLS)
def test_it_is_the_same_with_and_without_a_toolbox(box: Node, server: int, words: tuple[str, ...]) -> None:
    with_one = call(box, *words)
    other = make_node(box.folder.parent / "other", name="box")
    alone = call(other, *words, PYTHONPATH=str(Path(__file__).resolve().parents[2]))
    assert with_one == alone
    assert with_one[1] + with_one[2]


def test_without_a_toolbox_the_command_is_the_tool(box: Node, server: int) -> None:
    said = tool(box, "fboss2", "show", "product")
    kill(server)
    again = tool(box, "fboss2", "show", "product")
    assert (said.returncode, said.stdout) == (again.returncode, again.stdout)


class Quick:
    """A link to a toolbox that has done everything and is gone before the caller goes on."""

    def __init__(self) -> None:
        self.link, self.toolbox = socket.socketpair()

    def sendmsg(self, *what: Any) -> int:
        sent = self.link.sendmsg(*what)
        _, descriptors, *_ = socket.recv_fds(self.toolbox, 1 << 17, 3)
        for descriptor in descriptors:
            os.close(descriptor)
        self.toolbox.sendall(b"\7")
        self.toolbox.close()
        return sent

    def sendall(self, data: bytes) -> None:
        self.link.sendall(data)

    def recv(self, size: int) -> bytes:
        return self.link.recv(size)


def test_a_tool_that_is_quick_is_not_run_twice(box: Node) -> None:
    quick = Quick()
    with quick.link:
        assert ask(cast("Any", quick), str(box.folder), "units", ["is-active", "wedge_agent"]) == 7


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_another_user_is_sent_away(box: Node, server: int) -> None:
    place = toolbox.address(box.folder)
    text = "\0".join(["/", "units", str(box.folder), "is-active", "wedge_agent"]).encode()
    with socket.socket(socket.AF_UNIX) as link, Path(os.devnull).open("r+b") as null:
        os.seteuid(65534)
        try:
            link.connect(place)
        finally:
            os.seteuid(0)
        with contextlib.suppress(OSError):
            socket.send_fds(link, [len(text).to_bytes(4, sys.byteorder) + text], [null.fileno()] * 3)
        with contextlib.suppress(ConnectionResetError):
            assert link.recv(1) == b""


def test_a_tool_ends_with_who_called_it(box: Node, server: int) -> None:
    (box.folder / "faults.json").write_text('{"hang": true}')
    children = Path(f"/proc/{server}/task/{server}/children")
    argv = [sys.executable, "-I", "-S", str(toolbox.CALL), str(box.folder), "fboss2", "show", "product"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as caller:
        _until(lambda: children.read_text() != "")
        caller.kill()
    _until(lambda: children.read_text() == "")


def _until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)
