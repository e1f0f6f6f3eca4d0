"""The switch as a process: `python -m fabric.lab.eos.daemon NODE_DIR`. Boots from the startup-config, then serves NODE_DIR/cli.sock.

One thread a login, one lock around the state, one thread that waits for the commit timer; with nobody logged in and no timer armed
nothing runs. A frame is one line of JSON: the terminal sends {"user", "tty"} first, then {"line"} or {"paste"}; the switch answers
{"text", "action", "argument", "prompt"}.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from fabric.lab.eos.commands import COMMANDS
from fabric.lab.eos.device import NodeFile, Program, Switch
from fabric.lab.eos.shell import Handler, Reply, Shell
from fabric.lab.eos.shows import handlers
from fabric.lab.eos.sources import Sources
from fabric.lab.eos.tree import Node

SOCKET = "cli.sock"


class Server:
    """One switch and everyone who is logged in."""

    def __init__(self, switch: Switch, table: dict[str, Handler]) -> None:
        self.switch = switch
        self._table = table
        self._state = threading.RLock()
        self._touched = threading.Event()
        self._open: dict[int, socket.socket] = {}
        self._count = 0
        self._path = switch.node.folder / SOCKET
        self._off = False

    def run(self) -> None:
        """Boot and serve; never returns."""
        with self._state:
            self.switch.boot()
        threading.Thread(target=self._timer, daemon=True).start()
        part = self._path.with_suffix(".part")
        part.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(part))
            part.chmod(0o666)
            listener.listen(64)
            part.rename(self._path)  # whoever sees it is answered
            while True:
                peer, _ = listener.accept()
                if self._off:
                    peer.close()
                    continue
                self._count += 1
                threading.Thread(target=self._serve, args=(peer, self._count), daemon=True).start()

    def _timer(self) -> None:
        """Undo a commit when its time is over, whether or not anybody is logged in."""
        while True:
            with self._state:
                left = self.switch.sessions.tick()
            self._touched.wait(left)
            self._touched.clear()

    def _serve(self, peer: socket.socket, number: int) -> None:
        self._open[number] = peer
        shell: Shell | None = None
        try:
            with peer, peer.makefile("rw", encoding="utf-8", errors="surrogateescape") as stream:
                hello = json.loads(stream.readline() or "{}")
                with self._state:
                    shell = Shell(self.switch, hello.get("user", "admin"), hello.get("tty", "vty"), number, self._table)
                    _send(stream, Reply(), shell.prompt)
                for raw in stream:
                    if not self._answer(stream, shell, json.loads(raw)):
                        return
        except (OSError, ValueError):
            return  # the terminal is gone; its session stays pending, as on EOS
        finally:
            self._open.pop(number, None)
            if shell is not None:
                with self._state:
                    shell.leave()

    def _answer(self, stream: Any, shell: Shell, frame: dict[str, Any]) -> bool:
        """Answer one frame; False when the login ends."""
        with self._state:
            if shell.generation != self.switch.generation:
                return False
            reply = shell.pasted(frame["paste"]) if "paste" in frame else shell.execute(str(frame.get("line", "")))
            self._touched.set()
            _send(stream, reply, shell.prompt)
        if reply.action == "reload":
            threading.Thread(target=self._reload, daemon=True).start()
        return reply.action not in ("close", "reload")

    def _reload(self) -> None:
        """`reload`: everyone is thrown out, the ports are dark for a while, then the startup-config is all there is."""
        self._off = True
        with self._state:
            self.switch.generation += 1
            for peer in list(self._open.values()):
                with contextlib.suppress(OSError):
                    peer.shutdown(socket.SHUT_RDWR)
            self.switch.power_off()
            time.sleep(self.switch.node.settings.reload_s)
            self.switch.reload_causes.append((self.switch.clock(), "Reload requested by the user."))
            self.switch.boot()
        self._off = False
        self._touched.set()


def _send(stream: Any, reply: Reply, prompt: str) -> None:
    frame = {"text": reply.text, "action": reply.action, "argument": reply.argument, "prompt": prompt}
    stream.write(json.dumps(frame) + "\n")
    stream.flush()


def _leave_alone(_: Node) -> None:
    """For a switch that is only a command line."""


def main(folder: str) -> None:
    """Run the switch of NODE_DIR."""
    from fabric.lab.eos.program import Programmer

    node = NodeFile.read(Path(folder))
    log: list[str] = []

    def note(line: str) -> None:
        print(line, file=sys.stderr, flush=True)
        log.append(line)

    program: Program = Programmer(node, note) if node.settings.program else _leave_alone
    switch = Switch(node, program)
    switch.log = log
    Server(switch, {**COMMANDS, **handlers(Sources(node))}).run()


if __name__ == "__main__":
    main(sys.argv[1])
