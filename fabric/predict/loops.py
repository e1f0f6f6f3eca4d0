"""Circles in forwarding tables: found towards one destination, and named."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabric.errors import FabricError
from fabric.predict.net import NO_PATH, Ints, Net
from fabric.words import counted

_CELLS = 1 << 20  # switch x group looked at together


def cycle_towards(net: Net, group: int, start: int) -> list[int] | None:
    """The switches of a circle that traffic from `start` to a group can get into, the lowest first and again at the end; None without one."""
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
            cycle = way[depth[at] :]
            lowest = cycle.index(min(cycle))
            return [*cycle[lowest:], *cycle[:lowest], cycle[lowest]]
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
    way, count = " -> ".join(net.switches[switch] for switch in cycle), counted(len(cycle) - 1, "switch", "switches")
    return FabricError(
        f"a routing loop of {count} on the way to {to}: {way}",
        hint="compare the routes of these switches with the design: `fabric validate routing`",
    )


def check(net: Net) -> None:
    """FabricError unless every leaf with NICs reaches every other one by whatever choice; it names the loop, or who has no path."""
    groups = net.groups
    leaves = np.unique(net.leaf_of[net.leaf_of >= 0])
    wide = max(1, _CELLS // len(net.switches))
    for first in range(0, groups.home.size, wide):
        group = np.arange(first, min(first + wide, groups.home.size))
        arrives = _arrives(net, group)[leaves]
        if not arrives.all():
            leaf, place = (int(found[0]) for found in np.nonzero(~arrives))
            raise _why(net, int(leaves[leaf]), int(group[place]))


def _arrives(net: Net, group: Ints) -> npt.NDArray[np.bool_]:
    """[switch, group]: whether all ways from a switch arrive. Begins at the homes and goes back."""
    tables, switches = net.tables, len(net.switches)
    good = np.zeros((switches, group.size), dtype=np.bool_)
    good[net.groups.home[group], np.arange(group.size)] = True
    at, place = np.nonzero(~good)
    chosen = net.look_up(at, group[place])
    for _ in range(switches):
        size = tables.size[chosen]
        ends = np.cumsum(size)
        member = np.arange(int(ends[-1]) if ends.size else 0) + np.repeat(tables.start[chosen] - (ends - size), size)
        wrong = ~good[net.target[tables.members[member]], np.repeat(place, size)]
        bad = np.bincount(np.repeat(np.arange(at.size), size)[wrong], minlength=at.size) > 0
        new = (size > 0) & ~bad
        if not new.any():
            break
        good[at[new], place[new]] = True
        at, place, chosen = at[~new], place[~new], chosen[~new]
    return good


def _why(net: Net, leaf: int, group: int) -> FabricError:
    """Why traffic from a leaf to a group need not arrive: a loop, or a switch on the way without a path."""
    if cycle_towards(net, group, leaf) is not None:
        return loop_error(net, group, leaf)
    seen, todo = {leaf}, [leaf]
    while todo:
        at = todo.pop()
        after = _after(net, group, at)
        if not after and at != int(net.groups.home[group]):
            return no_path(net, at, group)
        todo += [switch for switch in after if switch not in seen]
        seen.update(after)
    return no_path(net, leaf, group)


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
