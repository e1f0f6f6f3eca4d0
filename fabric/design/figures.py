"""What a design amounts to: counts, oversubscription by port and by bandwidth, spare, paths, cables, rack power."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from fabric.catalog import catalog
from fabric.design.fabric import Fabric, ZonePlan
from fabric.design.fit_cabling import rack_budget_w, rack_power_w


@dataclass(frozen=True, slots=True)
class TierFigures:
    """One tier of a zone: ports and bandwidth (Gb/s) down and up, and how they compare (1 = full bisection, above 1 = oversubscribed)."""

    tier: str
    ports_down: int
    ports_up: int
    gbps_down: int
    gbps_up: int

    @property
    def by_port(self) -> Fraction | None:
        """Downlinks over uplinks of one switch; None without uplinks."""
        return Fraction(self.ports_down, self.ports_up) if self.ports_up else None

    @property
    def by_bandwidth(self) -> Fraction | None:
        """Bandwidth down over bandwidth up of one switch; None without uplinks."""
        return Fraction(self.gbps_down, self.gbps_up) if self.gbps_up else None


@dataclass(frozen=True, slots=True)
class ZoneFigures:
    """One zone. `host_ratio` compares the NICs' bandwidth with that of all CTSW uplinks; `spare` CTSWs may fail with full bisection left."""

    number: int
    profile: str
    racks: int
    hosts: int
    gpus: int
    ctsws: int
    rtsw: TierFigures
    ctsw: TierFigures
    host_ratio: Fraction | None
    spare: int
    ctsw_ports_used: int
    ctsw_ports: int
    rack_watts: int | None
    rack_watts_whole: bool
    rack_budget_watts: int

    @property
    def power(self) -> str:
        """Power of a rack in words: what is known to be drawn, of what it delivers."""
        drawn = "?" if self.rack_watts is None else f"{self.rack_watts / 1000:g}"
        return f"{drawn} of {self.rack_budget_watts / 1000:g} kW"


@dataclass(frozen=True, slots=True)
class Figures:
    """The cluster."""

    gpus: int
    hosts: int
    racks: int
    switches: dict[str, int]
    links: dict[str, int]
    sessions: int
    atsw_ports_used: int
    atsw_ports: int
    paths_in_zone: int
    paths_across_zones: int
    cables: dict[str, int]
    zones: tuple[ZoneFigures, ...]


def figures(fabric: Fabric) -> Figures:
    """All figures, by arithmetic from the counts (no link is enumerated)."""
    zones = tuple(_zone(fabric, plan) for plan in fabric.zones.values())
    backend, wiring = fabric.spec.roce, fabric.wiring
    uplinks = backend.ctsw.uplinks if backend.ctsw and wiring else 0
    nics = fabric.platform.backend_nics.value
    links = {
        "host": sum(zone.hosts for zone in zones) * nics,
        "rtsw": sum(zone.racks * zone.ctsws for zone in zones),
        "ctsw": sum(zone.ctsws for zone in zones) * uplinks,
    }
    counts = Counter(switch.role for switch in fabric.switches)
    families = 2 if fabric.spec.plan.family == "dual" else 1
    smallest = min(zone.ctsws for zone in zones)
    used, across = 0, 0
    if wiring is not None and backend.atsw is not None and uplinks:
        parallel = uplinks // backend.atsw.count
        members = sum(zone.ctsws for zone in zones) // wiring.planes
        used = parallel * members
        across = smallest * uplinks * (parallel * smallest // wiring.planes)
    return Figures(
        gpus=sum(zone.gpus for zone in zones),
        hosts=sum(zone.hosts for zone in zones),
        racks=sum(zone.racks for zone in zones),
        switches={role: counts.get(role, 0) for role in ("rtsw", "ctsw", "atsw")},
        links=links,
        sessions=families * (links["rtsw"] + links["ctsw"]),
        atsw_ports_used=used,
        atsw_ports=len(fabric.atsw_down),
        paths_in_zone=smallest,
        paths_across_zones=across,
        cables=_cables(fabric, uplinks),
        zones=zones,
    )


def _zone(fabric: Fabric, plan: ZonePlan) -> ZoneFigures:
    ports, profile, backend = plan.ports, plan.profile, fabric.spec.roce
    nics = fabric.platform.backend_nics.value
    down = profile.hosts * nics
    ctsws = profile.uplinks if backend.ctsw else 0
    uplinks = backend.ctsw.uplinks if backend.ctsw and fabric.wiring else 0
    rtsw = TierFigures("rtsw", down, ctsws, down * ports.host_speed_gbps, ctsws * ports.uplink_speed_gbps)
    spine = fabric.spine_speed if uplinks else 0
    ctsw = TierFigures("ctsw", plan.racks, uplinks, plan.racks * ports.uplink_speed_gbps, uplinks * spine)
    hosts_gbps = plan.racks * rtsw.gbps_down
    needed = -(-rtsw.gbps_down // ports.uplink_speed_gbps)
    watts, whole = rack_power_w(fabric, plan)
    return ZoneFigures(
        number=plan.number,
        profile=plan.profile_name,
        racks=plan.racks,
        hosts=plan.racks * profile.hosts,
        gpus=plan.racks * profile.hosts * fabric.platform.gpus.value,
        ctsws=ctsws,
        rtsw=rtsw,
        ctsw=ctsw,
        host_ratio=Fraction(hosts_gbps, ctsws * ctsw.gbps_up) if ctsws and ctsw.gbps_up else None,
        spare=max(0, ctsws - needed),
        ctsw_ports_used=plan.racks + uplinks if ctsws else 0,
        ctsw_ports=len(fabric.ctsw_down.get(ports.uplink_speed_gbps, ())),
        rack_watts=watts,
        rack_watts_whole=whole,
        rack_budget_watts=rack_budget_w(plan),
    )


def _cables(fabric: Fabric, uplinks: int) -> dict[str, int]:
    """Cables by model."""
    found: Counter[str] = Counter()
    nics = fabric.platform.backend_nics.value
    for plan in fabric.zones.values():
        found[fabric.cable_of("host", plan)[0].cable] += plan.racks * plan.profile.hosts * nics
        if fabric.spec.roce.ctsw is not None:
            found[fabric.cable_of("rtsw", plan)[0].cable] += plan.racks * plan.profile.uplinks
            if uplinks:
                found[fabric.spec.cabling.ctsw.cable] += plan.profile.uplinks * uplinks
    return dict(sorted(found.items()))


def optics(cables: dict[str, int]) -> dict[str, int]:
    """Transceivers by cable model: two an optical link, none for copper."""
    return {name: 2 * count for name, count in cables.items() if catalog().cable(name).medium == "optical"}
