"""The same network with some switches or cables gone: ECMP sets shrink, as BGP withdraws what leads nowhere.

A switch that has lost its way to a destination is also left out by its neighbours; nobody finds a longer way instead, since a route does
not come back into the tier (the AS number) that it left.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fabric.errors import FabricError
from fabric.predict.net import NO_PATH, Ints, Net
from fabric.predict.sets import Compressor, SetStore
from fabric.words import counted

Bools = npt.NDArray[np.bool_]
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Gone:
    """What is not there: switches, channels (both directions of a cable)."""

    switches: tuple[int, ...] = ()
    channels: tuple[int, ...] = ()


def without(net: Net, failures: Sequence[str], job: Ints | None = None) -> Net:
    """The network without these switches and `switch:port`s.

    `job`: hosts by index that must still reach each other; None: all. FabricError for a failure that is not there, and when such hosts
    are cut off: it names them.
    """
    return prune(net, _gone(net, failures), job=job)


def hosts_cut(net: Net, failures: Sequence[str]) -> tuple[str, ...]:
    """The hosts of which these failures cut off a NIC. FabricError for a failure that is not there."""
    nics = _Pruner(net, _gone(net, failures)).cut_nics
    return tuple(net.hosts[host] for host in np.unique(nics // net.rails).tolist())


def _gone(net: Net, failures: Sequence[str]) -> Gone:
    """What these names stand for."""
    switches: list[int] = []
    channels: list[int] = []
    for failure in failures:
        name, colon, _ = failure.partition(":")
        index = net.switch_index.get(name)
        if index is None:
            raise FabricError(f"failure {failure!r}: there is no switch {name!r}", hint=_near(name, net.switches))
        if colon:
            channels += _cable(net, index, failure)
        else:
            switches.append(index)
    return Gone(tuple(switches), tuple(channels))


def prune(net: Net, gone: Gone, *, strict: bool = True, job: Ints | None = None) -> Net:
    """The network without what is gone. `strict`: FabricError when a leaf with hosts (those of `job`) cannot reach another one."""
    return _Pruner(net, gone, job).net(strict=strict)


def _near(name: str, names: Sequence[str]) -> str | None:
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else None


def _cable(net: Net, switch: int, end: str) -> list[int]:
    """Both channels of the cable at a port."""
    for channel in net.channels_at(switch).tolist():
        name = net.name(channel)
        if name.startswith(f"{end} -> "):
            back = " -> ".join(name.split(" -> ")[::-1])
            other = int(net.target[channel])
            leaving = [int(net.up_of[-1 - other])] if other < 0 else net.channels_at(other).tolist()
            return [channel, *(found for found in leaving if net.target[found] == switch and net.name(found) == back)]
    raise FabricError(f"failure {end!r}: no cable between switches or to a host is at that port")


class _Pruner:
    """Takes away what is gone, then what has thereby lost its way, until nothing changes."""

    def __init__(self, net: Net, gone: Gone, job: Ints | None = None) -> None:
        self.base, self.gone = net, gone
        hosts = np.isin(np.arange(len(net.hosts)), np.arange(len(net.hosts)) if job is None else job)
        self.wanted = np.repeat(hosts, net.rails) & (net.leaf_of >= 0)
        self.dead = np.zeros(len(net.switches), dtype=np.bool_)
        self.dead[list(gone.switches)] = True
        self.cut = np.zeros(net.channels, dtype=np.bool_)
        self.cut[list(gone.channels)] = True
        for ends in (net.source, net.target):
            self.cut |= (ends >= 0) & self.dead[np.maximum(ends, 0)]
        tables = net.tables
        self.store = SetStore(tables.start, tables.size, tables.members)
        self.rows: dict[int, Ints] = {}
        self.lost: dict[int, Bools] = {}
        self.cut_nics = self._cut_nics()

    def net(self, *, strict: bool) -> Net:
        """The result."""
        if strict and self.wanted[self.cut_nics].any():
            raise self._cut_off()
        todo = self._shrink()
        while todo:
            todo = self._withdraw(todo)
        if strict:
            self._whole()
        put = Compressor.begun(self.base.groups, self.base.tables)
        every = self.base.groups.home
        for switch, row in self.rows.items():
            put.put(switch, np.where(every == switch, -1, row))
        for switch in self.gone.switches:
            put.put(switch, np.zeros(every.size, dtype=np.int64))
        return replace(self.base, tables=put.done(self.store), leaf_of=self._leaves(), open=None)

    def _cut_nics(self) -> Ints:
        net = self.base
        there = net.leaf_of >= 0
        return np.flatnonzero(there & (self.cut[net.up_of] | self.cut[net.down_of]))

    def _leaves(self) -> Ints:
        leaf = self.base.leaf_of.copy()
        leaf[self.cut_nics] = -1
        return leaf

    def _cut_off(self) -> FabricError:
        net = self.base
        nics = self.cut_nics[self.wanted[self.cut_nics]]
        hosts = np.unique(nics // net.rails)
        names = ", ".join(net.hosts[host] for host in hosts[:_SHOWN].tolist())
        more = f" and {hosts.size - _SHOWN:,} more" if hosts.size > _SHOWN else ""
        how = "" if nics.size == hosts.size * net.rails else f" (each loses NICs, {nics.size:,} in all)"
        if nics.size == 1:
            how = f" (NIC {int(nics[0]) % net.rails})"
        return FabricError(
            f"the failures cut off {counted(hosts.size, 'host')} of the job: {names}{more}{how}",
            hint="leave them out: --job FILE with the other hosts; fabric place --busy FILE chooses without those of a file",
        )

    def _row(self, switch: int) -> Ints:
        found = self.rows.get(switch)
        if found is None:
            found = self.rows[switch] = self.base.row(switch)
        return found

    def _shrink(self) -> dict[int, Bools]:
        """Sets without the channels that are cut; where they become empty, by switch."""
        sources = self.base.source[self.cut]
        touched = np.unique(sources[sources >= 0])
        empty: dict[int, Bools] = {}
        for switch in touched[~self.dead[touched]].tolist():
            row = self._row(switch)
            before = row == NO_PATH
            self._reduce(row, np.ones(row.size, dtype=np.bool_), self.cut)
            self._note(empty, switch, (row == NO_PATH) & ~before)
        return empty

    def _withdraw(self, holes: dict[int, Bools]) -> dict[int, Bools]:
        """Neighbours of switches that have lost their way do not go over them; who loses its own way by that."""
        first, into = self.base.into
        empty: dict[int, Bools] = {}
        for switch, groups in holes.items():
            over = np.zeros(self.cut.size, dtype=np.bool_)
            channels = into[first[switch] : first[switch + 1]]
            over[channels] = True
            sources = np.unique(self.base.source[channels])
            for neighbour in sources[sources >= 0].tolist():
                if self.dead[neighbour]:
                    continue
                row = self._row(neighbour)
                before = row == NO_PATH
                self._reduce(row, groups, over)
                self._note(empty, neighbour, (row == NO_PATH) & ~before)
        return empty

    def _note(self, empty: dict[int, Bools], switch: int, groups: Bools) -> None:
        groups = groups & (self.base.groups.home != switch)
        if groups.any():
            empty[switch] = empty.get(switch, np.zeros_like(groups)) | groups
            self.lost[switch] = self.lost.get(switch, np.zeros_like(groups)) | groups

    def _reduce(self, row: Ints, where: Bools, over: Bools) -> None:
        """Takes the channels of `over` out of the sets of some groups, in place."""
        for number in np.unique(row[where]).tolist():
            members = self.store.members(number)
            kept = [channel for channel in members if not over[channel]]
            if len(kept) != len(members):
                row[where & (row == number)] = self.store.add(kept)

    def _whole(self) -> None:
        """Every leaf with wanted hosts still reaches every other one."""
        net = self.base
        hosts = np.zeros(net.groups.home.size, dtype=np.bool_)
        hosts[np.unique(net.groups.of_nic[self.wanted])] = True
        leaves = set(np.unique(net.leaf_of[self.wanted]).tolist())
        for switch, groups in self.lost.items():
            if switch in leaves and (groups & hosts).any():
                far = np.unique(net.groups.home[groups & hosts])
                names = ", ".join(net.switches[index] for index in far[:_SHOWN])
                more = f" and {far.size - _SHOWN:,} more" if far.size > _SHOWN else ""
                raise FabricError(f"the failures cut {net.switches[switch]} off from {names}{more}")
