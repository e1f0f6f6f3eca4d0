"""The forwarding agent (wedge_agent, or sw_agent with hw_agent): `python -m fabric.lab.fboss.agent NODE_DIR`.

Loads agent.conf at start and on `reload`, programs the kernel, and answers on a socket of its own. A file that it refuses at start
ends it; one that it refuses on reload changes nothing. Between requests it sleeps.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from fabric.errors import FabricError
from fabric.lab.fboss import client, desired, faults
from fabric.lab.fboss.conf import Json, RefusedError, read_agent
from fabric.lab.fboss.node import BOOT_LOG, Node, write_whole
from fabric.lab.fboss.program import Programmer

_REQUEST_LIMIT = 1 << 20
_CLIENT_S = 5.0


class Agent:
    """The state of one agent: the configuration in force, and ports disabled or enabled by hand (until it restarts or loads its file)."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._programmer = Programmer(node)
        self._conf: Json = {}
        self._shut: set[str] = set()
        self._opened: set[str] = set()
        self._kept = _kept(node)

    def start(self) -> None:
        """Load and program at start: a cold boot when there is no state of an earlier run. Raises RefusedError."""
        warm = bool(self._kept)
        kind = "WARM_BOOT" if warm else "COLD_BOOT"
        self._say_boot(kind)
        conf = read_agent(self._node)
        self._kept["bootType"] = kind
        self._put_in_force(conf)
        if not warm:
            self._kept["lastColdbootAppliedInMs"] = self._kept["lastAppliedInMs"]
        self._save()

    def _say_boot(self, kind: str) -> None:
        path = self._node.path(BOOT_LOG)
        path.parent.mkdir(parents=True, exist_ok=True)
        stamp = time.strftime("%Y %B %d %H:%M:%S")
        with path.open("a", encoding="utf-8") as out:
            out.write(f"[ {stamp} ]: Start of a {kind}, SDK version: none, Agent version: virtual\n")

    def answer(self, request: Json) -> Json:
        """The answer to one request; {"error": ...} for what is refused."""
        what = request.get("op")
        if what == "ping":
            return {"ok": True}
        if what == "state":
            return {
                "ok": True,
                "conf": self._conf,
                "shut": sorted(self._shut),
                "opened": sorted(self._opened),
                **self._kept,
            }
        if what == "reload":
            return self._reload()
        if what == "set_port":
            return self._set_ports(request.get("ports") or [], bool(request.get("up")))
        return {"error": f"unknown request {what!r}"}

    def _reload(self) -> Json:
        set_faults = self._node.faults()
        if set_faults.get("refuse_reload"):
            self._node.log("reloadConfig: refused (fault of the lab)", level="E")
            return {"error": "Error: reloadConfig refused"}
        try:
            conf = read_agent(self._node)
        except RefusedError as error:
            return {"error": f"Error: {error.message}"}
        self._put_in_force(faults.keep_old(conf, self._conf, set_faults.get("keep")))
        self._save()
        return {"ok": True}

    def _put_in_force(self, conf: Json) -> None:
        self._conf = conf
        self._shut.clear()
        self._opened.clear()
        self._program()
        self._kept["lastAppliedInMs"] = int(time.time() * 1000)

    def _program(self) -> None:
        wish = desired.wish(self._conf, self._node.ports, frozenset(self._shut), frozenset(self._opened))
        for note in wish.notes:
            self._node.log(f"not imitated: {note}", level="W")
        for fault in self._programmer.apply(wish):
            self._node.log(f"not programmed: {fault}", level="E")

    def _set_ports(self, ports: list[str], up: bool) -> Json:
        known = {port.get("name") for port in desired.items(self._conf["sw"], "ports")}
        for name in ports:
            if name not in known:
                return {"error": f"Error: Invalid value for '[ports]...': {name} is not a valid Port"}
        gains, loses = (self._opened, self._shut) if up else (self._shut, self._opened)
        gains.update(ports)
        loses.difference_update(ports)
        self._program()
        return {"ok": True}

    def _save(self) -> None:
        write_whole(self._node.state("agent.json"), json.dumps(self._kept))


def _kept(node: Node) -> Json:
    try:
        found: Json = json.loads(node.state("agent.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def serve(agent: Agent, server: socket.socket) -> NoReturn:
    """Answer one request a connection, for ever; a client that says nothing is left after five seconds."""
    while True:
        link, _ = server.accept()
        with link:
            link.settimeout(_CLIENT_S)
            try:
                request: Any = json.loads(client.receive(link, _REQUEST_LIMIT))
                answer = agent.answer(request) if isinstance(request, dict) else {"error": "not an object"}
                link.sendall(json.dumps(answer).encode())
            except (OSError, ValueError):
                continue  # the client went away, or did not speak JSON: nothing to answer


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)


def run(node: Node, after_start: Callable[[], None] | None = None) -> int:
    """Run the agent of a box until it is told to stop; 1 when it refuses its configuration. `after_start` is called once, either way."""
    signal.signal(signal.SIGTERM, _stop)
    write_whole(node.state("agent.pid"), f"{os.getpid()}\n")
    agent = Agent(node)
    server = client.listen(node)
    failed = None
    try:
        agent.start()
    except RefusedError as error:
        failed = error
    if after_start is not None:
        after_start()
    if failed is not None:
        client.socket_path(node).unlink(missing_ok=True)
        node.journal("fboss_sw_agent" if node.split else "wedge_agent", f"E {failed.message}")
        print(f"agent: {failed}", file=sys.stderr)
        return 1
    node.log("configuration applied, SwSwitch CONFIGURED")
    try:
        serve(agent, server)
    finally:
        client.socket_path(node).unlink(missing_ok=True)


def main(argv: list[str]) -> int:
    """Run the agent of the box whose folder is the one argument."""
    try:
        return run(Node(argv[1]))
    except (FabricError, IndexError) as error:
        print(f"agent: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
