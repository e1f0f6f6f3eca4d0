"""Slurm's topology.conf: the scalable unit is the switch, since a host of a rail-optimised fabric hangs on all leaves of its unit.

It comes from the design and holds compute hosts only: storage in the same tree would put all nodes under one leaf (public issue threads
of tools that read it from ibnetdiscover).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from fabric.design.ib.model import Subnet

_TAIL = re.compile(r"(.*?)([0-9]*)$")


def slurm_topology(subnet: Subnet) -> str:
    """The units with their hosts, pods over them where a pod holds several whole units, and one switch over all.

    Widths of the numbers are fixed, so that growth renames nothing.
    """
    units = _units(subnet)
    name = {unit: f"su{unit:04d}" for unit in units}
    lines = [
        f"# Topology of {subnet.spec.name}, written by fabric from its cluster spec: a switch is a scalable unit, not a leaf",
        *(f"SwitchName={name[unit]} Nodes={hostlist(hosts)}" for unit, hosts in units.items()),
    ]
    top = list(name.values())
    pods = _pods(subnet)
    if pods:
        lines += [f"SwitchName=pod{pod:03d} Switches={hostlist(name[unit] for unit in of)}" for pod, of in pods.items()]
        top = [f"pod{pod:03d}" for pod in pods]
    if len(top) > 1:
        lines.append(f"SwitchName=fabric Switches={hostlist(top)}")
    return "\n".join(lines) + "\n"


def _units(subnet: Subnet) -> dict[int, list[str]]:
    """Unit -> its GPU hosts that are there, in order."""
    found: dict[int, dict[str, None]] = {}
    for hca in subnet.compute:
        if hca.state != "planned":
            found.setdefault(hca.unit, {})[hca.host] = None
    return {unit: list(hosts) for unit, hosts in sorted(found.items())}


def _pods(subnet: Subnet) -> dict[int, list[int]]:
    """Pod -> its units; empty when a unit spans pods, or a pod is one unit, or all is one pod."""
    units = _units(subnet)
    found: dict[int, list[int]] = {}
    for unit in units:
        pods = {switch.pod for switch in subnet.switches if switch.tier == "leaf" and switch.unit == unit}
        if len(pods) != 1 or not min(pods):
            return {}
        found.setdefault(pods.pop(), []).append(unit)
    return found if 1 < len(found) < len(units) else {}


def hostlist(names: Iterable[str]) -> str:
    """Slurm's short form of names with numbers at their end: `gt[0001-0032,0040]`, several with commas between."""
    return ",".join(_words(names))


def _words(names: Iterable[str]) -> Iterator[str]:
    parts = [_split(name) for name in names]
    for (stem, width), group in groupby(parts, key=lambda part: (part[0], len(part[1]))):
        numbers = [int(digits) for _, digits in group if digits]
        if not width:
            yield stem
        elif len(numbers) == 1:
            yield f"{stem}{numbers[0]:0{width}d}"
        else:
            yield f"{stem}[{','.join(_spans(numbers, width))}]"


def _split(name: str) -> tuple[str, str]:
    match = _TAIL.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


def _spans(numbers: list[int], width: int) -> Iterator[str]:
    for _, group in groupby(enumerate(numbers), key=lambda item: item[1] - item[0]):
        run = [number for _, number in group]
        yield f"{run[0]:0{width}d}" if len(run) == 1 else f"{run[0]:0{width}d}-{run[-1]:0{width}d}"
