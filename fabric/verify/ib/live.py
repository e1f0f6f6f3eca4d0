"""The reads of a real subnet: management packets through the HCA of this machine (or the lab's stand-in), and texts of the SM hosts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fabric.design.ib.model import SubnetManager
from fabric.forwarding.tables import Lfts
from fabric.targets.opensm.mad import SubnetReader, open_subnet
from fabric.targets.opensm.mad_model import End, PortCounters, SmInfo, Topology
from fabric.verify.ib.reads import Path as PathRecord
from fabric.verify.ib.reads import PortQos, SmText, Unread
from fabric.verify.ib.saquery import path_record

LAB_LOGS = "FABRIC_SM_LOGS"
"""Environment variable that `fabric lab exec` sets: the folder with HOST/opensm.log and HOST/opensm.out."""
MOST_BYTES = 64 << 20
"""Of a text the last so many bytes are read: a log with VERBOSE grows by some MB a sweep (our choice)."""

Texts = Callable[[SubnetManager], SmText]


@dataclass(frozen=True, slots=True)
class LiveReads:
    """Implements `Reads`."""

    reader: SubnetReader
    text_of: Texts
    simulated: bool

    def topology(self) -> Topology:
        """See Reads."""
        return self.reader.discover()

    def managers(self, topology: Topology, declared: Sequence[End]) -> Sequence[SmInfo]:
        """See Reads."""
        return [info for info in self.reader.managers(topology, declared).values() if info is not None]

    def lfts(self, topology: Topology) -> Lfts:
        """See Reads."""
        return self.reader.lfts(topology)

    def pkeys(self, topology: Topology, ports: Sequence[End]) -> Mapping[End, tuple[int, ...] | None]:
        """See Reads."""
        return self.reader.pkeys(topology, ports)

    def qos(self, topology: Topology, ports: Sequence[End]) -> Mapping[End, PortQos | None]:
        """See Reads. Of a switch's map by in and out port, the row of one other cabled port is read for each out port."""
        others = _others(topology)
        places = {end: (end[0], others.get(end, 0), end[1] if topology.nodes[end[0]].is_switch else 0) for end in ports}
        maps = self.reader.sl2vl(topology, places.values())
        tables = self.reader.vlarb(topology, ports)
        found: dict[End, PortQos | None] = {}
        for end, place in places.items():
            sl2vl, high, low = maps[place], tables[end]["high"], tables[end]["low"]
            if sl2vl is None or high is None or low is None:
                found[end] = None
            else:
                found[end] = PortQos(
                    sl2vl, tuple(pair for pair in high if pair[1]), tuple(pair for pair in low if pair[1])
                )
        return found

    def counters(self, topology: Topology, ports: Sequence[End]) -> Mapping[End, PortCounters | None]:
        """See Reads."""
        return self.reader.counters(topology, ports)

    def paths(self, topology: Topology, pairs: Sequence[tuple[End, End]]) -> Sequence[PathRecord | None]:
        """See Reads. By infiniband-diags' `saquery`, one question a pair."""
        return [path_record(topology.ports[a].lid, topology.ports[b].lid) for a, b in pairs]

    def texts(self, managers: Sequence[SubnetManager]) -> Mapping[str, SmText]:
        """See Reads."""
        return {manager.host: self.text_of(manager) for manager in managers}


def _others(topology: Topology) -> dict[End, int]:
    """Switch port -> another cabled port of the same switch, by which traffic to it may come in."""
    cabled: dict[int, list[int]] = {}
    for guid, port in sorted(topology.far):
        if topology.nodes[guid].is_switch:
            cabled.setdefault(guid, []).append(port)
    return {(guid, port): ports[index - 1] for guid, ports in cabled.items() for index, port in enumerate(ports)}


@contextmanager
def live_reads(text_of: Texts | None, *, ca: str = "", port: int = 0) -> Iterator[LiveReads]:
    """The reads through one HCA of this machine. `text_of` tells what an SM wrote; None: the lab's folder, or nothing.

    FabricError when there is no HCA to ask through.
    """
    folder = os.environ.get(LAB_LOGS)
    simulated = "umad2sim" in os.environ.get("LD_PRELOAD", "")
    with open_subnet(ca, port) as reader:
        yield LiveReads(reader, text_of or (_nothing if folder is None else _files(Path(folder))), simulated)


def _files(folder: Path) -> Texts:
    def text_of(manager: SubnetManager) -> SmText:
        place = folder / manager.host
        return SmText(_tail(place / "opensm.out"), _tail(place / "opensm.log"))

    return text_of


def _nothing(manager: SubnetManager) -> SmText:
    why = Unread(f"what opensm on {manager.host} wrote was not asked for (--sm-by)")
    return SmText(why, why)


def _tail(path: Path) -> str | Unread:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - MOST_BYTES))
            return file.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError as error:
        return Unread(f"{path.name}: {error.strerror}")
