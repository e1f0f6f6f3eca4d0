"""Circles in forwarding tables: found towards one destination, and named."""

from __future__ import annotations

import numpy as np

from fabric.errors import FabricError
from fabric.predict.net import NO_PATH, Net
from fabric.words import counted


def cycle_towards(net: Net, group: int, start: int) -> list[int] | None:
    """The switches of a circle that traffic from `start` to a group can get into, the first one again at the end; None without one."""
    home = int(net.groups.home[group])
    way: list[int] = []
    depth: dict[int, int] = {}
    todo: list[tuple[int, bool]] = [(start, True)]
    done: set[int] = set()
    while todo:
        at, arrives = todo.pop()
        if not arrives:
            done.add(way.pop())
            del depth[at]
            continue
        if at in depth:
            return [*way[depth[at] :], at]
        if at in done or at == home or at < 0:
            continue
        depth[at] = len(way)
        way.append(at)
        todo.append((at, False))
        todo += [(after, True) for after in _after(net, group, at)]
    return None


def _after(net: Net, group: int, at: int) -> list[int]:
    chosen = int(net.look_up(np.array([at]), np.array([group]))[0])
    if chosen == NO_PATH:
        return []
    first = int(net.tables.start[chosen])
    members = net.tables.members[first : first + int(net.tables.size[chosen])]
    found: list[int] = np.unique(net.target[members])[::-1].tolist()
    return found


def loop_error(net: Net, group: int, start: int) -> FabricError:
    """The error for traffic from `start` to a group that does not arrive after as many switches as no path has."""
    to = destination(net, group)
    cycle = cycle_towards(net, group, start)
    if cycle is None:
        return FabricError(f"the way from {net.switches[start]} to {to} is longer than any path of a fabric")
    way = " -> ".join(net.switches[switch] for switch in cycle)
    return FabricError(
        f"a routing loop of {counted(len(cycle) - 1, 'switch')} on the way to {to}: {way}",
        hint="compare the routes of these switches with the design: `fabric validate routing`",
    )


def no_path(net: Net, switch: int, group: int) -> FabricError:
    """The error of a flow that a switch cannot forward."""
    return FabricError(
        f"{net.switches[switch]} has no path to {destination(net, group)}",
        hint="a job must stay within what is connected",
    )


def destination(net: Net, group: int) -> str:
    """What a group is, by name: its leaf, or its NIC where a NIC stands by itself."""
    nics = np.flatnonzero(net.groups.of_nic == group)
    return net.nic_name(int(nics[0])) if nics.size == 1 else net.switches[int(net.groups.home[group])]
