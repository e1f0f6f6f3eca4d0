"""The text of `fabric show summary`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from fabric.design.fabric import Fabric
from fabric.design.figures import Figures, ZoneFigures, optics
from fabric.words import counted


def roce_lines(fabric: Fabric, known: Figures) -> Iterator[str]:
    """Counts, ratios, spare, cables, power, zone by zone where zones differ."""
    total = sum(known.switches.values())
    parts = ", ".join(f"{count:,} {role.upper()}" for role, count in known.switches.items() if count)
    places = f"{counted(known.hosts, 'host')}, {counted(known.racks, 'rack')}, {counted(len(known.zones), 'zone')}"
    yield f"{fabric.spec.name}: {counted(known.gpus, 'GPU')} in {places}"
    yield f"switches   {total:,}: {parts}"
    yield "links      " + ", ".join(f"{count:,} {_TIERS[tier]}" for tier, count in known.links.items() if count)
    yield f"BGP        {counted(known.sessions, 'session')} between switches ({fabric.spec.plan.family})"
    yield f"paths      {known.paths_in_zone:,} inside a zone" + (
        f", {known.paths_across_zones:,} across zones" if known.paths_across_zones else ""
    )
    yield "cables     " + ", ".join(f"{count:,} {name}" for name, count in known.cables.items())
    transceivers = optics(known.cables)
    if transceivers:
        yield "optics     " + ", ".join(f"{count:,} {name}" for name, count in transceivers.items())
    if known.atsw_ports:
        yield f"ATSW       {known.atsw_ports_used} of {known.atsw_ports} ports used"
    states = Counter(switch.state for switch in fabric.switches if switch.state != "deployed")
    if states:
        yield "state      " + ", ".join(f"{count:,} {state}" for state, count in sorted(states.items()))
    for first, last, zone in _alike(known.zones):
        yield from _zone(zone, f"zone {first}" if first == last else f"zones {first}-{last}")


_TIERS = {"host": "NIC-RTSW", "rtsw": "RTSW-CTSW", "ctsw": "CTSW-ATSW"}


def _alike(zones: tuple[ZoneFigures, ...]) -> list[tuple[int, int, ZoneFigures]]:
    """Runs of neighbouring zones with the same figures."""
    runs: list[tuple[int, int, ZoneFigures]] = []
    for zone in zones:
        if runs and runs[-1][1] + 1 == zone.number and _key(runs[-1][2]) == _key(zone):
            runs[-1] = (runs[-1][0], zone.number, runs[-1][2])
        else:
            runs.append((zone.number, zone.number, zone))
    return runs


def _key(zone: ZoneFigures) -> tuple[str, int, int]:
    return zone.profile, zone.racks, zone.ctsws


def _zone(zone: ZoneFigures, name: str) -> Iterator[str]:
    yield f"{name}: {counted(zone.racks, 'rack')} of {zone.profile}, {counted(zone.gpus, 'GPU')}, {counted(zone.ctsws, 'CTSW')}"
    if zone.ctsws:
        spare = f"{counted(zone.spare, 'CTSW')} may fail with full bisection left"
        yield f"  RTSW     {zone.rtsw.ports_down} down, {zone.rtsw.ports_up} up: {_ratio(zone.rtsw.by_bandwidth)} by bandwidth; {spare}"
    if zone.ctsw.ports_up:
        used = f"{zone.ctsw_ports_used} of {zone.ctsw_ports} ports"
        yield (
            f"  CTSW     {zone.ctsw.ports_down} down, {zone.ctsw.ports_up} up: {_ratio(zone.ctsw.by_port)} by port, "
            f"{_ratio(zone.host_ratio)} of the NICs' bandwidth; {used}"
        )
    what = "hosts" if zone.rack_watts_whole else "GPUs alone" if zone.rack_watts is not None else "set hosts.power_w"
    yield f"  rack     {zone.power} ({what})"


def _ratio(value: Fraction | None) -> str:
    return "-" if value is None else f"1:{float(value):.3g}"
