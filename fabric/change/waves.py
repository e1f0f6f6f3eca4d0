"""Waves: which devices are changed together. Pure; every bound is by failure domain.

1. Canaries: one device of each role and network operating system that changes, alone, the tier nearest to the hosts first. An RTSW
   first: it touches one rack.
2. RTSWs: never two of neighbouring racks of a zone, because jobs are placed on neighbouring racks.
3. CTSWs: no more of a zone in one wave than it can spare with full bisection left (`design.figures`, less those already drained);
   at least one, else nothing could ever be changed. A drained CTSW carries no traffic and does not count.
4. ATSWs: one of each plane, so that no CTSW loses two of its uplinks' far ends.

Tiers are never mixed in a wave.
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabric.design.fabric import Fabric
from fabric.design.figures import figures
from fabric.design.model import Role, Switch
from fabric.errors import FabricError

WAVE_SIZE = 64
"""Most devices in one wave unless asked for otherwise: about one in 27 of a cluster of 1,708 switches (our choice)."""
TIERS: tuple[Role, ...] = ("rtsw", "ctsw", "atsw")


@dataclass(frozen=True, slots=True)
class Wave:
    """Devices changed together. `title` says which they are, for people; a failed canary stops everything."""

    number: int
    title: str
    devices: tuple[str, ...]
    canary: bool = False


def spares(fabric: Fabric) -> dict[int, int]:
    """Zone -> CTSWs that may be away with full bisection left, less those that the spec declares drained."""
    drained = Counter(s.zone for s in fabric.switches if s.role == "ctsw" and s.state == "drained")
    return {zone.number: zone.spare - drained[zone.number] for zone in figures(fabric).zones}


def plan_waves(
    switches: Iterable[Switch],
    spare: Mapping[int, int],
    *,
    wave_size: int = WAVE_SIZE,
    canary: str | None = None,
) -> tuple[Wave, ...]:
    """Waves over the switches that change, each exactly once. `canary` (a name pattern) replaces the first choice of canaries.

    Raises FabricError when `canary` matches none of them.
    """
    todo = sorted(switches, key=lambda s: (TIERS.index(s.role), s.zone, s.number, s.name))
    if not todo:
        return ()
    first = _canaries(todo, canary)
    chosen = {switch.name for switch in first}
    packed: list[tuple[str, bool, Sequence[Switch]]] = [(f"canary {s.role} {s.nos}", True, (s,)) for s in first]
    for role in TIERS:
        rest = [s for s in todo if s.role == role and s.name not in chosen]
        fits = _BOUNDS[role](spare)
        packed += [(role, False, wave) for wave in _pack(rest, fits, wave_size)]
    return tuple(
        Wave(number, title, tuple(s.name for s in members), is_canary)
        for number, (title, is_canary, members) in enumerate(packed, start=1)
    )


def _tiers(switches: Sequence[Switch], spare: Mapping[int, int], size: int) -> Iterator[tuple[Role, Sequence[Switch]]]:
    for role in TIERS:
        for wave in _pack([s for s in switches if s.role == role], _BOUNDS[role](spare), size):
            yield role, wave


def _canaries(todo: Sequence[Switch], pattern: str | None) -> list[Switch]:
    if pattern is not None:
        found = [s for s in todo if fnmatch.fnmatchcase(s.name, pattern)]
        if not found:
            raise FabricError(f"--canary {pattern!r} matches no device that changes")
        return found
    seen: dict[tuple[str, str], Switch] = {}
    for switch in todo:
        seen.setdefault((switch.role, switch.nos), switch)
    return list(seen.values())


Domain = tuple[str, int, int]
Fits = Callable[[Switch, Counter[Domain]], Sequence[Domain] | None]
"""The domains that a switch takes when it joins a wave whose domains are counted; None when it must not join."""


def _pack(switches: Sequence[Switch], fits: Fits, size: int) -> list[list[Switch]]:
    """First fit, wave after wave, so that the earliest wave is the fullest."""
    waves: list[list[Switch]] = []
    left = list(switches)
    while left:
        taken: Counter[Domain] = Counter()
        wave: list[Switch] = []
        rest: list[Switch] = []
        for switch in left:
            domains = fits(switch, taken) if len(wave) < size else None
            if domains is None:
                rest.append(switch)
            else:
                taken.update(domains)
                wave.append(switch)
        waves.append(wave)
        left = rest
    return waves


def _rtsw(_spare: Mapping[int, int]) -> Fits:
    def fits(switch: Switch, taken: Counter[Domain]) -> Sequence[Domain] | None:
        zone, rack = switch.zone, switch.number
        if taken["rack", zone, rack - 1] or taken["rack", zone, rack + 1]:
            return None
        return (("rack", zone, rack),)

    return fits


def _ctsw(spare: Mapping[int, int]) -> Fits:
    def fits(switch: Switch, taken: Counter[Domain]) -> Sequence[Domain] | None:
        if switch.state == "drained":
            return ()
        domain = ("zone", switch.zone, 0)
        return (domain,) if taken[domain] < max(1, spare.get(switch.zone, 0)) else None

    return fits


def _atsw(_spare: Mapping[int, int]) -> Fits:
    def fits(switch: Switch, taken: Counter[Domain]) -> Sequence[Domain] | None:
        domain = ("plane", switch.plane, 0)
        return None if taken[domain] else (domain,)

    return fits


_BOUNDS: Mapping[Role, Callable[[Mapping[int, int]], Fits]] = {"rtsw": _rtsw, "ctsw": _ctsw, "atsw": _atsw}
