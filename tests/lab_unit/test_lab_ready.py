"""What is started in a lab answers when the command returns: a port that listens, a socket of its own, not one that a killed daemon left."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from fabric.errors import FabricError
from fabric.lab import frr, node, nodekinds, plant, proc
from fabric.lab.fault_book import Book
from fabric.lab.fault_ssh import SshFaults
from fabric.lab.fboss import client
from fabric.lab.fboss.node import Node
from fabric.lab.plant import Plant, Running

Box = Callable[[str], Plant]


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    """`box(script)`: a plant of one EOS switch whose daemons are shell scripts, `$1` the folder of the switch."""
    folder = tmp_path / "nodes" / "a"
    folder.mkdir(parents=True)
    switch = {"name": "a", "kind": "eos", "management": "10.0.0.1/24", "machine": False}
    (tmp_path / "lab.json").write_text(json.dumps({"nodes": [switch], "cables": []}))
    (folder / "node.json").write_text(json.dumps({"lldp_socket": str(folder / "lldp.sock")}))
    started: list[subprocess.Popen[bytes]] = []

    def make(script: str) -> Plant:
        def spawn(_pid: int, _argv: Sequence[str], *_more: Any) -> int:
            started.append(subprocess.Popen(["sh", "-c", script, "sh", str(folder)]))
            return started[-1].pid

        monkeypatch.setattr(node, "spawn", spawn)
        monkeypatch.setattr(
            Plant, "reap", lambda _self: None
        )  # it takes the ends of all children, also those of other tests
        made = Plant(tmp_path)
        made.running["a"] = Running(os.getpid(), 0.0)
        return made

    yield make
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize(("daemon", "place"), [("eos", "cli.sock"), ("lldpd", "lldp.sock")])
def test_a_daemon_is_started_when_its_own_socket_is_there(box: Box, tmp_path: Path, daemon: str, place: str) -> None:
    path = tmp_path / "nodes" / "a" / place
    path.write_text("of a killed one")
    box(f"sleep 0.2; echo new >$1/part; mv $1/part $1/{place}; exec sleep 600").start_daemon("a", daemon)
    assert path.read_text() == "new\n"


def _answers(monkeypatch: pytest.MonkeyPatch, *said: bool) -> list[bool]:
    """What is seen of port 22, look by look; returns what nobody has looked at yet."""
    left = list(said)
    monkeypatch.setattr(plant, "_listens", lambda _pid, port: left.pop(0) if port == 22 else None)
    return left


def test_sshd_is_started_when_it_listens(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    left = _answers(monkeypatch, False, False, True)
    box("exec sleep 600").start_daemon("a", "sshd")
    assert left == []


def test_ssh_is_back_when_the_fault_is_undone(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    left = _answers(monkeypatch, True, False, False, True)
    made = box("exec sleep 600")
    made.start_daemon("a", "sshd")
    running = {made.running["a"].daemons["sshd"]: "sshd"}
    monkeypatch.setattr(Plant, "processes", lambda _self, _name: {p: c for p, c in running.items() if proc.alive(p)})
    book = Book(made)
    book.knows(SshFaults(book).kinds())
    assert book.make("drop-ssh", {"name": "a"}) == "1: SSH of a is dropped"
    assert not made.daemon_runs("a", "sshd")
    book.restore(None)
    assert left == []
    assert made.daemon_runs("a", "sshd")


def test_a_daemon_that_ends_is_not_waited_for(box: Box) -> None:
    with pytest.raises(FabricError, match=r"a: eos ended"):
        box("exit 1").start_daemon("a", "eos")


def test_a_node_is_ready_when_all_its_daemons_are(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    left = _answers(monkeypatch, False, True)
    made = box("sleep 0.2; touch $1/lldp.sock $1/cli.sock; exec sleep 600")
    made._start("a", nodekinds.Daemon("eos", ()))
    assert made.wait_ready("a") == ""
    assert left == []


def test_a_node_whose_daemon_ended_is_not_waited_for(box: Box) -> None:
    made = box("exit 1")
    made._start("a", nodekinds.Daemon("eos", ()))
    assert made.wait_ready("a") == "lldp.sock is not there yet"


def test_a_socket_that_nobody_listens_at_is_no_daemon_of_frr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frr, "run_dir", lambda _node: tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "bgpd.vty"))
        with pytest.raises(FabricError, match="bgpd did not start in 0 s"):
            frr.wait("a", ["bgpd"], 0.0)
        server.listen(1)
        frr.wait("a", ["bgpd"])


def test_the_socket_of_an_agent_is_seen_when_it_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were it bound in its place, somebody could come between that and listening."""
    seen: list[bool] = []

    class Watched(socket.socket):
        def listen(self, *backlog: int) -> None:
            seen.append((tmp_path / "fboss" / "agent.sock").exists())
            super().listen(*backlog)

    (tmp_path / "fboss").mkdir()
    monkeypatch.setattr(Node, "state", lambda _self, name: tmp_path / "fboss" / name)
    monkeypatch.setattr(socket, "socket", Watched)
    with client.listen(Node.__new__(Node)):
        assert seen == [False]
        assert (tmp_path / "fboss" / "agent.sock").is_socket()
