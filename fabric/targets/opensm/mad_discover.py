"""The discovery sweep: from the own port outwards by directed routes, so it needs no LIDs, no tables and no subnet manager."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from fabric.errors import FabricError
from fabric.targets.opensm import mad_parse as parse
from fabric.targets.opensm.mad_exchange import Exchange
from fabric.targets.opensm.mad_model import End, Link, Node, NodeInfo, PortInfo, SwitchInfo, Topology
from fabric.targets.opensm.mad_packet import MOST_HOPS, NODE_DESCRIPTION, NODE_INFO, PORT_INFO, SWITCH_INFO, Request

MOST_NODES: Final = 65_536  # more than unicast LIDs exist (49,151): a subnet that says so is making nodes up
_HOME: Final = -1  # the port by which the own node is reached


class _Sweep:
    """What is known so far. Keys of requests: (guid of the node asked, or of the node one hop before, port)."""

    def __init__(self) -> None:
        self.home: End | None = None
        self.infos: dict[int, NodeInfo] = {}
        self.paths: dict[int, tuple[int, ...]] = {}
        self.descriptions: dict[int, str] = {}
        self.switches: dict[int, SwitchInfo] = {}
        self.ports: dict[End, PortInfo] = {}
        self.far: dict[End, End] = {}
        self.port_guids: dict[End, int] = {}
        self.problems: list[str] = []

    def then(self, request: Request, data: bytes | None) -> Iterable[Request]:
        """Takes one answer; what is to be asked next."""
        try:
            if data is None:
                raise parse.GarbledError("no answer")
            return list(self._take(request, data))
        except parse.GarbledError as error:
            self.problems.append(f"{self._where(request)}: {error.message}")
            return ()

    def _take(self, request: Request, data: bytes) -> Iterable[Request]:
        guid, port = request.key
        if request.attribute == NODE_INFO:
            return self._node(parse.node_info(data), guid, port, request.path)
        if request.attribute == NODE_DESCRIPTION:
            self.descriptions[guid] = parse.node_description(data)
        elif request.attribute == SWITCH_INFO:
            self.switches[guid] = parse.switch_info(data)
        elif request.attribute == PORT_INFO:
            info = self.ports[guid, port] = parse.port_info(data)
            return self._beyond(guid, port, info, request.path)
        return ()

    def _node(self, info: NodeInfo, before: int, port: int, path: tuple[int, ...]) -> Iterator[Request]:
        """A node answered behind `port` of the node `before`."""
        if port == _HOME:
            self.home = (info.guid, info.local_port)
        else:
            a, b = (before, port), (info.guid, info.local_port)
            if self.far.get(b, a) != a:
                raise parse.GarbledError(
                    f"port {b[1]} of GUID 0x{b[0]:016x} stands at the end of two links: are there equal GUIDs?"
                )
            self.far[a], self.far[b] = b, a
        if info.kind != "switch":
            self.port_guids[info.guid, info.local_port] = info.port_guid
        if info.guid in self.infos:
            # An HCA with two cabled ports is found once by each; the second port's state is still to be read.
            if info.kind != "switch" and (info.guid, info.local_port) not in self.ports:
                yield Request(PORT_INFO, info.local_port, 0, path, (info.guid, info.local_port))
            return
        if len(self.infos) >= MOST_NODES:
            raise FabricError(f"the subnet shows more than {MOST_NODES:,} nodes: an answer must be false")
        self.infos[info.guid], self.paths[info.guid] = info, path
        yield Request(NODE_DESCRIPTION, 0, 0, path, (info.guid, 0))
        if info.kind == "switch":
            yield Request(SWITCH_INFO, 0, 0, path, (info.guid, 0))
        numbers = range(info.ports + 1) if info.kind == "switch" else (info.local_port,)
        yield from (Request(PORT_INFO, number, 0, path, (info.guid, number)) for number in numbers)

    def _beyond(self, guid: int, port: int, info: PortInfo, path: tuple[int, ...]) -> Iterator[Request]:
        """Goes on through a port that is up, unless its far end has come from there already."""
        leads = port != 0 and (self.infos[guid].kind == "switch" or not path)
        if leads and info.link_up and (guid, port) not in self.far and len(path) < MOST_HOPS:
            yield Request(NODE_INFO, 0, 0, (*path, port), (guid, port))

    def _where(self, request: Request) -> str:
        guid, port = request.key
        name = self.descriptions.get(guid) or f"GUID 0x{guid:016x}"
        if request.attribute == NODE_INFO:
            return "the own port" if port == _HOME else f"the node behind port {port} of {name}"
        return f"port {port} of {name}" if request.attribute == PORT_INFO else name

    def topology(self) -> Topology:
        """The whole; FabricError when not even the own node answered."""
        if self.home is None:
            raise FabricError(
                "the InfiniBand port does not answer questions about itself", hint="is its link up? see ibstat"
            )
        nodes = {guid: self._made(guid) for guid in sorted(self.infos)}
        links: list[Link] = sorted((a, b) for a, b in self.far.items() if a < b)
        return Topology(
            self.home, nodes, dict(sorted(self.ports.items())), tuple(links), tuple(self.problems), self.port_guids
        )

    def _made(self, guid: int) -> Node:
        info = self.infos[guid]
        port = self.ports.get((guid, 0 if info.kind == "switch" else info.local_port))
        return Node(
            info, self.descriptions.get(guid, ""), self.paths[guid], port.lid if port else 0, self.switches.get(guid)
        )


def discover(exchange: Exchange) -> Topology:
    """Sweeps the subnet: NodeInfo, NodeDescription, PortInfo, SwitchInfo of all that is reached. FabricError when nothing answers."""
    sweep = _Sweep()
    exchange.run([Request(NODE_INFO, 0, 0, (), (0, _HOME))], sweep.then)
    return sweep.topology()
