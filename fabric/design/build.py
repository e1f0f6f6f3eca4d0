"""spec + catalog -> Fabric. What cannot be built is refused with the arithmetic, all reasons at once, in the spec's
order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from fabric.catalog import HostModel, catalog
from fabric.design.fabric import Fabric, ZonePlan, pools_of, rack_ports_of, spine_ports
from fabric.design.fit_cabling import cabling_problems
from fabric.design.fit_numbers import number_problems
from fabric.design.fit_ports import port_problems, zone_problems
from fabric.design.fit_settings import setting_problems
from fabric.design.hosts.fit import host_problems
from fabric.design.ip import pool_base
from fabric.design.model import PortSlot, Role, Switch
from fabric.design.numbering import Numbering
from fabric.design.ports import RackPorts
from fabric.design.wiring import PlaneWiring
from fabric.errors import DesignError, FabricError, FabricErrors
from fabric.spec.backend import Atsw, Ctsw, RackProfile
from fabric.spec.cluster import ClusterSpec

T = TypeVar("T")
Path = tuple[str | int, ...]


class _Problems:
    """What is wrong so far; `attempt` turns a refusal of the catalog into one that names the place in the spec."""

    def __init__(self) -> None:
        self.found: list[FabricError] = []

    def attempt(self, path: Path, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except FabricError as error:
            self.found.append(DesignError(path, error.message, hint=error.hint))
            return None

    def stop(self) -> None:
        """Raise what was found; zones alike would say the same thing, so each sentence is said once."""
        found = list({str(error): error for error in reversed(self.found)}.values())[::-1]
        if found:
            raise found[0] if len(found) == 1 else FabricErrors(found)


@dataclass(frozen=True, slots=True)
class _Spines:
    """Ports of a CTSW towards the racks (by speed in Gb/s), towards the ATSWs, and of an ATSW."""

    ctsw_down: dict[int, tuple[PortSlot, ...]]
    ctsw_up: tuple[PortSlot, ...]
    atsw_down: tuple[PortSlot, ...]


def design(spec: ClusterSpec) -> Fabric:
    """The fabric that a RoCE spec declares; raises DesignError, or FabricErrors with all of them, when it cannot be
    built.
    """
    problems = _Problems()
    problems.attempt(("hosts", "platform"), lambda: catalog().host(spec.hosts.platform))
    if spec.hosts.nic is not None:
        problems.attempt(("hosts", "nic"), partial(catalog().nic, spec.hosts.nic))
    problems.found += zone_problems(spec)
    problems.stop()
    platform = catalog().host(spec.hosts.platform)
    zones = _zones(spec, problems)
    spines = _spines(spec, zones, problems)
    problems.stop()
    fabric = _assemble(spec, platform, zones, spines)
    for check in (port_problems, number_problems, cabling_problems, setting_problems):
        problems.found += check(fabric)
    problems.found += host_problems(spec)
    problems.stop()
    fabric.settle(_switches(fabric))
    _unique_names(fabric)
    return fabric


def _zones(spec: ClusterSpec, problems: _Problems) -> dict[int, ZonePlan]:
    profiles = spec.roce.rack_profiles
    maps: dict[str, RackPorts | None] = {}
    for name, profile in profiles.items():
        path = ("backend", "rack_profiles", name)
        problems.attempt((*path, "rack"), partial(catalog().rack, profile.rack))
        model = problems.attempt((*path, "switch"), partial(catalog().switch, profile.switch))
        maps[name] = None
        if model is not None and profile.nos not in model.nos:
            problems.found.append(DesignError((*path, "nos"), f"{profile.switch} does not run {profile.nos}"))
        elif model is not None:
            where = (*path, "port_map" if profile.port_map else "switch")
            maps[name] = problems.attempt(where, partial(rack_ports_of, profile))
    plans: dict[int, ZonePlan] = {}
    for index, zone in enumerate(spec.roce.zones):
        ports = maps[zone.rack_profile]
        if ports is not None:
            for number in zone.id:
                plans[number] = ZonePlan(
                    number, index, zone.racks, zone.rack_profile, profiles[zone.rack_profile], ports
                )
    return dict(sorted(plans.items()))


def _spines(spec: ClusterSpec, zones: dict[int, ZonePlan], problems: _Problems) -> _Spines:
    backend = spec.roce

    def ports(tier: str, box: Ctsw | Atsw, speed: int) -> tuple[PortSlot, ...]:
        path = ("backend", tier, "line_card" if box.line_card else "model")
        return problems.attempt(path, partial(spine_ports, box.model, box.line_card, box.nos, speed)) or ()

    cable = None
    if backend.atsw is not None:
        cable = problems.attempt(("cabling", "ctsw", "cable"), lambda: catalog().cable(spec.cabling.ctsw.cable))
    speeds = sorted({plan.ports.uplink_speed_gbps for plan in zones.values()})
    down = {speed: ports("ctsw", backend.ctsw, speed) for speed in speeds} if backend.ctsw else {}
    if problems.found or cable is None or backend.atsw is None or backend.ctsw is None:
        return _Spines(down, (), ())
    speed = cable.speed_gbps.value
    return _Spines(down, ports("ctsw", backend.ctsw, speed), ports("atsw", backend.atsw, speed))


def _assemble(spec: ClusterSpec, platform: HostModel, zones: dict[int, ZonePlan], spines: _Spines) -> Fabric:
    backend = spec.roce
    return Fabric(
        spec=spec,
        numbering=Numbering.of(backend.growth, platform.backend_nics.value, spec.bgp.asn),
        platform=platform,
        zones=zones,
        wiring=PlaneWiring.of(backend.atsw, backend.growth) if backend.atsw else None,
        pools=pools_of(spec),
        ctsw_down=spines.ctsw_down,
        ctsw_up=spines.ctsw_up,
        atsw_down=spines.atsw_down,
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a switch stands and what it is: the part of `Switch` that is not a number plan's."""

    role: Role
    zone: int
    number: int
    plane: int
    box: RackProfile | Ctsw | Atsw
    profile: str


def _switches(fabric: Fabric) -> Iterator[Switch]:
    numbers, backend, wiring = fabric.numbering, fabric.spec.roce, fabric.wiring
    for plan in fabric.zones.values():
        zone = plan.number
        for rack in range(1, plan.racks + 1):
            place = _Place("rtsw", zone, rack, 0, plan.profile, plan.profile_name)
            yield _switch(
                fabric, place, fabric.rtsw_name(zone, rack), numbers.rtsw_asn(zone, rack), numbers.rtsw(zone, rack)
            )
        for ctsw, number in ((backend.ctsw, n) for n in range(1, plan.profile.uplinks + 1) if backend.ctsw):
            place = _Place("ctsw", zone, number, wiring.plane(number) if wiring else 0, ctsw, "")
            yield _switch(
                fabric, place, fabric.ctsw_name(zone, number), numbers.ctsw_asn(zone), numbers.ctsw(zone, number)
            )
    if backend.atsw is not None and wiring is not None:
        for number in range(1, backend.atsw.count * backend.atsw.planes + 1):
            place = _Place("atsw", 0, number, wiring.place(number)[0], backend.atsw, "")
            yield _switch(fabric, place, fabric.atsw_name(number), numbers.atsw_asn(), numbers.atsw(number))


def _switch(fabric: Fabric, place: _Place, name: str, asn: int, number: int) -> Switch:
    spec, base6, box = fabric.spec, fabric.pools.loopback6, place.box
    model, line_card = (box.switch, None) if isinstance(box, RackProfile) else (box.model, box.line_card)
    return Switch(
        name=name,
        role=place.role,
        zone=place.zone,
        number=place.number,
        plane=place.plane,
        model=model,
        line_card=line_card,
        nos=box.nos,
        profile=place.profile,
        asn=asn,
        router_id=pool_base(spec.plan.router_ids) + number,
        loopback6=None if base6 is None else base6 + number,
        management=pool_base(spec.mgmt.network) + spec.mgmt.reserved + number,
        state=fabric.state_of(name, place.role, place.zone),
    )


def _unique_names(fabric: Fabric) -> None:
    """Two devices with one name: the patterns of two roles meet."""
    seen: dict[str, str] = {}
    hosts = ((host.name, "host") for host in fabric.hosts())
    for name, role in [*((switch.name, switch.role) for switch in fabric.switches), *hosts]:
        if name in seen:
            raise DesignError(("naming", role), f"{name!r} would name a {seen[name]} and a {role}")
        if len(name) > 63:
            raise DesignError(("naming", role), f"{name!r} has {len(name)} characters, a host name may have 63")
        seen[name] = role
