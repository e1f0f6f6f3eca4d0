"""The wiring as arrays: what stands behind each port of each switch. From a design, or from links seen live."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from fabric.design.ib.model import Subnet
from fabric.errors import FabricError

Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Port = tuple[int, int]  # (node GUID, port number)

NOTHING: Final = -1  # behind a port without a cable
FIRST_ENDPOINT: Final = -2  # endpoint e stands as FIRST_ENDPOINT - e
LEVELS: Final = ("leaf", "spine", "core")
_LEVEL: Final = {name: level for level, name in enumerate(LEVELS)}
MOST_PORTS: Final = 254


@dataclass(frozen=True, slots=True)
class SwitchRow:
    """A switch as `wire` takes it: node GUID, name, number of ports, level (0 = leaf; None = worked out from the links)."""

    guid: int
    name: str
    ports: int
    level: int | None = None


@dataclass(frozen=True, slots=True)
class EndpointRow:
    """An HCA port as `wire` takes it. Only `compute` ones count for load and balance; the others must be reached."""

    node_guid: int
    port: int
    port_guid: int
    name: str
    compute: bool = True


@dataclass(frozen=True)
class Wiring:
    """Switches and endpoints by index, and the cables between them.

    `far[s, p]` is what stands behind port `p` of switch `s`: a switch's index, NOTHING, or FIRST_ENDPOINT - e for endpoint e;
    its width is the largest port number + 1, column 0 (the switch itself) is NOTHING. `far_port[s, p]` is the port at the far end.
    `home[e]` and `home_port[e]` are the switch and port of endpoint e (-1 without a cable). `level[s]` is 0 for a leaf.
    A *channel* is one direction of a link, named by where it starts: s * width + p.
    """

    switches: tuple[str, ...]
    guids: tuple[int, ...]
    endpoints: tuple[str, ...]
    port_guids: tuple[int, ...]
    compute: Bools
    level: npt.NDArray[np.int8]
    far: Ints
    far_port: npt.NDArray[np.int16]
    home: Ints
    home_port: Ints

    @property
    def width(self) -> int:
        """Columns of `far`: the largest port number + 1."""
        return int(self.far.shape[1])

    @cached_property
    def between(self) -> Bools:
        """[s, p]: whether a channel leads from switch to switch."""
        return self.far >= 0

    @cached_property
    def leaves(self) -> Ints:
        """Switches with an endpoint, by index: where paths start."""
        return np.unique(self.home[self.home >= 0])

    @cached_property
    def order(self) -> Ints:
        """Compute endpoints by (leaf, port): the order in which shift permutations count."""
        found = np.flatnonzero(self.compute & (self.home >= 0))
        return found[np.lexsort((self.home_port[found], self.home[found]))].astype(np.int32)

    def channel_name(self, channel: int) -> str:
        """`leaf0001[33] -> spine01[1]`: switch and port at both ends."""
        at, port = divmod(channel, self.width)
        to = int(self.far[at, port])
        far = "nothing" if to == NOTHING else (self.switches[to] if to >= 0 else self.endpoints[FIRST_ENDPOINT - to])
        return f"{self.switches[at]}[{port}] -> {far}[{int(self.far_port[at, port])}]"


def from_subnet(subnet: Subnet) -> Wiring:
    """The wiring as designed: every cable that is not only planned."""
    guid = {switch.name: switch.guid for switch in subnet.switches} | {hca.name: hca.node_guid for hca in subnet.hcas}
    switches = [SwitchRow(switch.guid, switch.name, switch.ports, _LEVEL[switch.tier]) for switch in subnet.switches]
    endpoints = [
        EndpointRow(hca.node_guid, 1, hca.port_guid, hca.name, hca.purpose == "compute") for hca in subnet.hcas
    ]
    links = (
        ((guid[link.a], link.a_port), (guid[link.b], link.b_port)) for link in subnet.links if link.state != "planned"
    )
    return wire(switches, endpoints, links)


def wire(switches: Sequence[SwitchRow], endpoints: Sequence[EndpointRow], links: Iterable[tuple[Port, Port]]) -> Wiring:
    """Wiring from rows and links. Rows keep their order.

    FabricError for a link to a port that is no switch's or endpoint's, a port with two cables, two switches with one GUID.
    """
    row = {switch.guid: index for index, switch in enumerate(switches)}
    if len(row) != len(switches):
        raise FabricError("two switches have the same GUID")
    end = {(endpoint.node_guid, endpoint.port): index for index, endpoint in enumerate(endpoints)}
    shape = (len(switches), max((switch.ports for switch in switches), default=0) + 1)
    if shape[1] > MOST_PORTS + 1:
        raise FabricError(f"a switch with {shape[1] - 1} ports: {MOST_PORTS} is the largest port number")
    home, home_port = [-1] * len(endpoints), [-1] * len(endpoints)
    far, far_port = np.full(shape, NOTHING, dtype=np.int32), np.zeros(shape, dtype=np.int16)
    for ends in links:
        for near, other in (ends, ends[::-1]):
            code = _code(near, row, end, switches)
            if code < 0:
                place = FIRST_ENDPOINT - code
                other_code = _code(other, row, end, switches)
                if home[place] != -1 or other_code < 0:
                    raise FabricError(
                        f"{endpoints[place].name} port {near[1]} has two cables, or one to another endpoint"
                    )
                home[place], home_port[place] = other_code, other[1]
            else:
                if far[code, near[1]] != NOTHING:
                    raise FabricError(f"{switches[code].name} port {near[1]} has two cables")
                far[code, near[1]] = _code(other, row, end, switches)
                far_port[code, near[1]] = other[1]
    compute = np.array([endpoint.compute for endpoint in endpoints], dtype=np.bool_)
    homes = np.array(home, dtype=np.int32)
    return Wiring(
        switches=tuple(switch.name for switch in switches), guids=tuple(switch.guid for switch in switches),
        endpoints=tuple(endpoint.name for endpoint in endpoints), port_guids=tuple(endpoint.port_guid for endpoint in endpoints),
        compute=compute, level=_levels(switches, far, homes[compute] if compute.any() else homes), far=far, far_port=far_port,
        home=homes, home_port=np.array(home_port, dtype=np.int32),
    )  # fmt: skip


def _code(port: Port, row: Mapping[int, int], end: Mapping[Port, int], switches: Sequence[SwitchRow]) -> int:
    """What a port belongs to: a switch's index, or FIRST_ENDPOINT - e."""
    at = row.get(port[0])
    if at is not None and 0 < port[1] <= switches[at].ports:
        return at
    if at is None and port in end:
        return FIRST_ENDPOINT - end[port]
    raise FabricError(
        f"a link ends at port {port[1]} of GUID 0x{port[0]:016x}, which is no port of a known switch or endpoint"
    )


def _levels(switches: Sequence[SwitchRow], far: Ints, homes: Ints) -> npt.NDArray[np.int8]:
    """The declared levels; for the others the distance to the nearest switch with a compute endpoint."""
    level = np.array([-1 if switch.level is None else switch.level for switch in switches], dtype=np.int8)
    distance = np.full(len(switches), -1, dtype=np.int8)
    front = np.unique(homes[homes >= 0])
    step = 0
    while front.size:
        distance[front] = min(step, 126)
        beyond = np.unique(far[front])
        beyond = beyond[beyond >= 0]
        front = beyond[distance[beyond] < 0]
        step += 1
    return np.where(level >= 0, level, distance).astype(np.int8)
