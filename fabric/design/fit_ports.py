"""Do the declared counts fit the boxes: zones, racks, uplinks, planes, and the room reserved for growth."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.catalog import catalog
from fabric.design.fabric import Fabric, ZonePlan
from fabric.design.suggest import near
from fabric.errors import DesignError, FabricError
from fabric.spec.backend import Atsw, Ctsw, RoceBackend
from fabric.spec.cluster import ClusterSpec
from fabric.words import counted, verb

_B = "backend"


def zone_problems(spec: ClusterSpec) -> Iterator[DesignError]:
    """Zones that name no profile, or whose number another zone has; tiers that are missing or superfluous; boxes that are none."""
    yield from _zone_ids(spec.roce)
    yield from _tiers(spec.roce)
    for tier, box in (("ctsw", spec.roce.ctsw), ("atsw", spec.roce.atsw)):
        if box is not None:
            yield from _spine_box((_B, tier), box)


def _zone_ids(backend: RoceBackend) -> Iterator[DesignError]:
    seen: dict[int, int] = {}
    for index, zone in enumerate(backend.zones):
        if zone.rack_profile not in backend.rack_profiles:
            hint = near(zone.rack_profile, backend.rack_profiles)
            yield DesignError(
                (_B, "zones", index, "rack_profile"), f"there is no rack profile {zone.rack_profile!r}", hint=hint
            )
        for other in sorted({seen[number] for number in zone.id if number in seen}):
            twice = [number for number in zone.id if seen.get(number) == other]
            yield DesignError(
                (_B, "zones", index, "id"), f"{_zones(twice)} declared twice: zones[{other}] and zones[{index}]"
            )
        room = backend.growth.zones
        if beyond := [number for number in zone.id if number > room]:
            yield DesignError(
                (_B, "zones", index, "id"),
                f"{_zones(beyond)} beyond the {room} that backend.growth.zones keeps room for",
                hint="raise growth.zones; see that the pools hold it",
            )
        seen |= dict.fromkeys(zone.id, index)


def _tiers(backend: RoceBackend) -> Iterator[DesignError]:
    zones = len({number for zone in backend.zones for number in zone.id})
    if backend.ctsw is None and (zones > 1 or backend.zones[0].racks > 1):
        yield DesignError(
            (_B, "ctsw"), f"{sum(z.racks * len(z.id) for z in backend.zones)} racks need a CTSW tier to join them"
        )
    if backend.atsw is None and zones > 1:
        yield DesignError((_B, "atsw"), f"{zones} zones need an ATSW tier to join them")
    if backend.atsw is not None and backend.ctsw is None:
        yield DesignError((_B, "atsw"), "an ATSW tier needs a CTSW tier below it")
    uplinks = backend.ctsw.uplinks if backend.ctsw else 0
    if backend.atsw is None and uplinks:
        yield DesignError(
            (_B, "ctsw", "uplinks"),
            f"{counted(uplinks, 'uplink')} {verb(uplinks, 'leads', 'lead')} nowhere without an ATSW tier",
            hint="0, or declare backend.atsw",
        )
    if backend.atsw is not None and backend.ctsw is not None and not uplinks:
        yield DesignError((_B, "ctsw", "uplinks"), "0 uplinks cannot reach the ATSW tier")


def _zones(numbers: list[int]) -> str:
    """`zone 5 is`, `zones 5 to 500 are`: one mistake in one sentence."""
    if len(numbers) == 1:
        return f"zone {numbers[0]} is"
    return (
        f"zones {numbers[0]} to {numbers[-1]} are"
        if numbers[-1] - numbers[0] == len(numbers) - 1
        else (f"{len(numbers)} zones, the first {numbers[0]}, are")
    )


def _spine_box(path: tuple[str, ...], box: Ctsw | Atsw) -> Iterator[DesignError]:
    """A model that is not known, does not run the operating system, or takes no line card."""
    try:
        model = catalog().switch(box.model)
    except FabricError as error:
        yield DesignError((*path, "model"), error.message, hint=error.hint)
        return
    if box.nos not in model.nos:
        yield DesignError((*path, "nos"), f"{box.model} does not run {box.nos}", hint=f"one of {', '.join(model.nos)}")
    elif model.form != "chassis" and box.line_card is not None:
        yield DesignError(
            (*path, "line_card"), f"{box.model} is a fixed box, it takes no {box.line_card}", hint="line_card: null"
        )


def port_problems(fabric: Fabric) -> Iterator[DesignError]:
    """Everything that does not fit the ports, profile by profile and tier by tier."""
    for name, plan in _profiles(fabric).items():
        yield from _rack(fabric, name, plan)
    for plan in fabric.zones.values():
        yield from _growth_of_zone(fabric, plan)
    yield from _ctsw(fabric)
    yield from _atsw(fabric)


def _profiles(fabric: Fabric) -> dict[str, ZonePlan]:
    return {plan.profile_name: plan for plan in reversed(fabric.zones.values())}


def _rack(fabric: Fabric, name: str, plan: ZonePlan) -> Iterator[DesignError]:
    path = (_B, "rack_profiles", name)
    profile, ports, growth = plan.profile, plan.ports, fabric.spec.roce.growth
    box = f"port map {ports.map_name} of {profile.switch}"
    nics = fabric.platform.backend_nics.value
    if profile.hosts * nics > len(ports.downlinks):
        yield DesignError(
            (*path, "hosts"),
            f"{counted(profile.hosts, 'host')} x {counted(nics, 'NIC')} need {counted(profile.hosts * nics, 'downlink')}, "
            f"{box} has {len(ports.downlinks)}",
            hint=f"at most {counted(len(ports.downlinks) // nics, 'host')} a rack",
        )
    if profile.uplinks > len(ports.uplinks):
        yield DesignError(
            (*path, "uplinks"),
            f"{counted(profile.uplinks, 'uplink')} {verb(profile.uplinks, 'is', 'are')} declared, {box} has {len(ports.uplinks)}",
        )
    nic = catalog().nic(fabric.nic_model)
    if ports.host_speed_gbps > nic.speed_gbps.value:  # said once, as all profiles have the one NIC
        yield DesignError(
            ("hosts", "nic"), f"{nic.name} runs at {nic.speed_gbps.value}G, the host ports at {ports.host_speed_gbps}G"
        )
    nic_speed = fabric.platform.backend_speed_gbps.value
    if ports.host_speed_gbps > nic_speed:
        yield DesignError(
            (*path, "port_map"),
            f"{box} runs host ports at {ports.host_speed_gbps}G, the NICs of {fabric.platform.name} at {nic_speed}G at most",
        )
    if profile.hosts > growth.hosts_per_rack:
        yield _grown((*path, "hosts"), profile.hosts, "hosts", "hosts_per_rack", growth.hosts_per_rack)
    if profile.uplinks > growth.uplinks:
        yield _grown((*path, "uplinks"), profile.uplinks, "uplinks", "uplinks", growth.uplinks)


def _growth_of_zone(fabric: Fabric, plan: ZonePlan) -> Iterator[DesignError]:
    growth, path = fabric.spec.roce.growth, (_B, "zones", plan.index)
    if plan.racks > growth.racks_per_zone:
        yield _grown((*path, "racks"), plan.racks, "racks", "racks_per_zone", growth.racks_per_zone)


def _grown(path: tuple[str | int, ...], count: int, what: str, key: str, room: int) -> DesignError:
    return DesignError(
        path,
        f"{count} {what} exceed the {room} that backend.growth.{key} keeps room for",
        hint=f"raise growth.{key}; that moves addresses",
    )


def _ctsw(fabric: Fabric) -> Iterator[DesignError]:
    box = fabric.spec.roce.ctsw
    if box is None:
        return
    growth = fabric.spec.roce.growth
    if box.uplinks > growth.ctsw_uplinks:
        yield _grown((_B, "ctsw", "uplinks"), box.uplinks, "uplinks", "ctsw_uplinks", growth.ctsw_uplinks)
    up_cages = {slot.cage for slot in fabric.ctsw_up[len(fabric.ctsw_up) - box.uplinks :]} if box.uplinks else set()
    if box.uplinks > len(fabric.ctsw_up) and fabric.wiring:
        yield DesignError(
            (_B, "ctsw", "uplinks"),
            f"{counted(box.uplinks, 'uplink')} {verb(box.uplinks, 'is', 'are')} declared, "
            f"{box.model} has {counted(len(fabric.ctsw_up), 'port')}",
        )
        return
    for plan in fabric.zones.values():
        slots = fabric.ctsw_down[plan.ports.uplink_speed_gbps]
        free = [slot for slot in slots if slot.cage not in up_cages]
        if plan.racks > len(free):
            total = plan.racks * plan.profile.uplinks
            yield DesignError(
                (_B, "zones", plan.index, "racks"),
                f"{counted(plan.racks, 'rack')} {verb(plan.racks, 'needs', 'need')} {counted(plan.racks, 'downlink')} "
                f"on each of {counted(plan.profile.uplinks, 'CTSW')} ({counted(total, 'port')} in all), "
                f"{box.model} with {counted(box.uplinks, 'uplink')} leaves {len(free)} of {len(slots)}",
                hint=f"at most {counted(len(free), 'rack')} a zone, or a larger chassis",
            )


def _atsw(fabric: Fabric) -> Iterator[DesignError]:
    top, below, wiring = fabric.spec.roce.atsw, fabric.spec.roce.ctsw, fabric.wiring
    if top is None or below is None or wiring is None:
        return
    growth = fabric.spec.roce.growth
    if top.count * top.planes > growth.atsws:
        yield _grown((_B, "atsw", "count"), top.count * top.planes, "ATSWs", "atsws", growth.atsws)
    if below.uplinks % top.count:
        yield DesignError(
            (_B, "atsw", "count"),
            f"{counted(below.uplinks, 'CTSW uplink')} {verb(below.uplinks, 'does', 'do')} not divide "
            f"over {counted(top.count, 'ATSW')}, so equal-cost paths would carry unequal shares",
            hint=f"one of {_divisors(below.uplinks)}",
        )
        return
    for name, plan in _profiles(fabric).items():
        if plan.profile.uplinks % top.planes:
            yield DesignError(
                (_B, "rack_profiles", name, "uplinks"),
                f"{counted(plan.profile.uplinks, 'CTSW')} a zone {verb(plan.profile.uplinks, 'does', 'do')} "
                f"not divide over {counted(top.planes, 'plane')}",
            )
        elif plan.profile.uplinks // top.planes > wiring.members:
            yield DesignError(
                (_B, "growth", "ctsws_on_atsw"),
                f"zone {plan.number} has {counted(plan.profile.uplinks // top.planes, 'CTSW')} in a plane, "
                f"{counted(wiring.members, 'port')} {verb(wiring.members, 'is', 'are')} kept for them",
            )
    yield from _atsw_ports(fabric)


def _atsw_ports(fabric: Fabric) -> Iterator[DesignError]:
    top, below, wiring = fabric.spec.roce.atsw, fabric.spec.roce.ctsw, fabric.wiring
    if top is None or below is None or wiring is None:
        return
    ports = len(fabric.atsw_down)
    last = max(fabric.zones)
    parallel = below.uplinks // top.count
    needed = (parallel - 1) * wiring.zones * wiring.members + last * wiring.members
    if needed > ports:
        actual = max(plan.profile.uplinks for plan in fabric.zones.values()) // top.planes or 1
        sum_ = (
            f"{counted(last, 'zone')} x {wiring.members}"
            if parallel == 1
            else f"({parallel - 1} x {wiring.zones} + {last}) zones x {wiring.members}"
        )
        hint = (
            f"set backend.growth.ctsws_on_atsw to {actual}"
            if actual < wiring.members
            else "more planes, a larger chassis, or fewer CTSW uplinks to each ATSW"
        )
        yield DesignError(
            (_B, "atsw", "model"), f"{sum_} CTSWs of a plane need {needed} ports, {top.model} has {ports}", hint=hint
        )


def _divisors(number: int) -> str:
    return ", ".join(str(value) for value in range(1, number + 1) if number % value == 0)
