"""Which port is cabled to which at this moment, and how the simulator names it."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path

from fabric.errors import FabricError

Socket = tuple[str, int]
"""A node's name and an InfiniBand port number."""

Cable = tuple[Socket, Socket]


class Wiring:
    """The cables of one lab. FabricError for a port that is none, or where no cable is."""

    def __init__(self, ids: dict[str, str], cables: list[Cable]) -> None:
        self.ids = ids
        self.ends: dict[Socket, Socket] = {}
        self._ports: dict[str, list[int]] = {}
        for a, b in cables:
            self.plug(a, b)
        for name, port in self.ends:
            self._ports.setdefault(name, []).append(port)

    @classmethod
    def read(cls, folder: Path) -> Wiring:
        """As designed: wiring.json of a lab."""
        data = json.loads((folder / "wiring.json").read_text(encoding="utf-8"))
        return cls(data["ids"], [((a, p), (b, q)) for a, p, b, q in data["cables"]])

    def node(self, text: str) -> str:
        """The name of a node; an HCA is `HOST DEVICE` or `HOST/DEVICE`."""
        name = text if text in self.ids else text.replace("/", " ")
        if name not in self.ids:
            raise FabricError(f"this lab has no node {text!r}", hint=f"nodes are {', '.join(list(self.ids)[:5])}, ...")
        return name

    def socket(self, text: str) -> Socket:
        """`NODE:PORT`, the port as a number; for an HCA port 1 need not be said."""
        name, colon, port = text.rpartition(":")
        if not colon:
            name, port = text, "1"
        name = self.node(name)
        if not colon and self.is_switch(name):
            raise FabricError(f"{text!r} names a switch without a port", hint=f"{name}:PORT, e.g. {name}:1")
        ports = self._ports.get(name, [])
        if not port.isdecimal() or int(port) not in ports:
            some = ", ".join(map(str, sorted(ports)[:8]))
            raise FabricError(f"{name} has no cable at port {port!r}", hint=f"its cabled ports are {some}, ...")
        return name, int(port)

    def is_switch(self, name: str) -> bool:
        """Is a node a switch?"""
        return self.ids[name].startswith("S-")

    def far(self, socket: Socket) -> Socket:
        """The other end of the cable that is there now."""
        if socket not in self.ends:
            raise FabricError(f"{words(socket)}: no cable is plugged there now", hint="fabric lab fault SPEC list")
        return self.ends[socket]

    def plug(self, a: Socket, b: Socket) -> None:
        """A cable between two free ports."""
        for socket in (a, b):
            if socket in self.ends:
                raise FabricError(f"{words(socket)} is taken: {words(self.ends[socket])} is plugged there")
        self.ends[a], self.ends[b] = b, a

    def pull(self, socket: Socket) -> Socket:
        """Take the cable out; returns its other end."""
        far = self.far(socket)
        del self.ends[socket], self.ends[far]
        return far

    def cables_of(self, name: str) -> list[Cable]:
        """The cables that are plugged into a node now."""
        return [(a, b) for a, b in self.ends.items() if a[0] == name]

    def console(self, socket: Socket) -> str:
        """A port as the simulator's console takes it."""
        return f'"{self.ids[socket[0]]}"[{socket[1]}]'

    def route(self, node_id: str, target: str) -> str:
        """A directed route from the HCA with that id to a node, as the tools take it ("0,1,10"); FabricError when there is none."""
        start = next(name for name, found in self.ids.items() if found == node_id)
        before: dict[str, tuple[str, int]] = {start: ("", 0)}
        queue = deque([start])
        links: dict[str, list[tuple[int, str]]] = {}
        for (name, port), (far, _) in self.ends.items():
            links.setdefault(name, []).append((port, far))
        while queue and target not in before:
            name = queue.popleft()
            if name != start and not self.is_switch(name):
                continue
            for port, far in links.get(name, []):
                if far not in before:
                    before[far] = (name, port)
                    queue.append(far)
        if target not in before:
            raise FabricError(f"no cables lead to {target} any more")
        hops: list[int] = []
        while target != start:
            target, port = before[target]
            hops.append(port)
        return ",".join(map(str, [0, *reversed(hops)]))


def words(socket: Socket) -> str:
    """A port in words, as `socket` takes it."""
    return f"{socket[0]}:{socket[1]}"
