"""What the checks need from a live subnet, and the Protocol by which it is asked for.

GUIDs are 64-bit ints, ports are (node GUID, port number). A part that could not be read is `Unread` with the reason,
a single port that did not answer is None: never an empty value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from fabric.design.ib.model import SubnetManager
from fabric.forwarding.tables import Lfts
from fabric.targets.opensm.mad_model import End, PortCounters, SmInfo, Topology


@dataclass(frozen=True, slots=True)
class Unread:
    """The reason why something could not be read, one clause."""

    why: str


NOT_ASKED = Unread("not asked")
"""A part that no check needs."""


@dataclass(frozen=True, slots=True)
class SmText:
    """What the SM of a host wrote: standard output and log file since its last start."""

    stdout: str | Unread
    log: str | Unread


@dataclass(frozen=True, slots=True)
class PortQos:
    """SL-to-VL map (16 values) and the two arbitration tables of a port, (VL, weight) in order, entries without weight left out."""

    sl2vl: tuple[int, ...]
    vlarb_high: tuple[tuple[int, int], ...]
    vlarb_low: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Path:
    """A path record between two ports, as the SA answers it: P_Key, SL, rate code."""

    pkey: int
    sl: int
    rate: int


class Reads(Protocol):
    """A live subnet. Each method raises FabricError when the whole part cannot be read; a single port that does not answer is None."""

    @property
    def simulated(self) -> bool:
        """True on the simulator, which has neither NDR nor more than 8 data VLs."""
        ...

    def topology(self) -> Topology:
        """All nodes, by directed routes, so without need of an SM."""
        ...

    def managers(self, topology: Topology, declared: Sequence[End]) -> Sequence[SmInfo]:
        """All subnet managers that answer, standbys too. The `declared` ports are asked whether or not they say that they hold one."""
        ...

    def lfts(self, topology: Topology) -> Lfts:
        """The forwarding tables of all switches."""
        ...

    def pkeys(self, topology: Topology, ports: Sequence[End]) -> Mapping[End, tuple[int, ...] | None]:
        """The P_Key table of each of these ports, the empty places (0) left out."""
        ...

    def qos(self, topology: Topology, ports: Sequence[End]) -> Mapping[End, PortQos | None]:
        """SL2VL and VL arbitration of each of these ports."""
        ...

    def counters(self, topology: Topology, ports: Sequence[End]) -> Mapping[End, PortCounters | None]:
        """Error counters of each of these ports."""
        ...

    def paths(self, topology: Topology, pairs: Sequence[tuple[End, End]]) -> Sequence[Path | None]:
        """The path record of each pair, in order; None where the SA gives none."""
        ...

    def texts(self, managers: Sequence[SubnetManager]) -> Mapping[str, SmText]:
        """What each SM wrote, by host."""
        ...


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that was read: the only input of the checks besides the design. A part that no check needs is NOT_ASKED."""

    simulated: bool
    topology: Topology | Unread
    sms: Sequence[SmInfo] | Unread = NOT_ASKED
    lfts: Lfts | Unread = NOT_ASKED
    pkeys: Mapping[End, tuple[int, ...] | None] | Unread = NOT_ASKED
    qos: Mapping[End, PortQos | None] | Unread = NOT_ASKED
    counters: Mapping[End, PortCounters | None] | Unread = NOT_ASKED
    texts: Mapping[str, SmText] = field(default_factory=dict)
    paths: Mapping[tuple[str, str], Path | None] | Unread = NOT_ASKED
