"""Do the cables fit the ports: speed, medium, reach, and the PFC headroom that their length needs; and does the rack
have the power.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabric.catalog import BufferSet, CableModel, HeadroomTable, catalog
from fabric.design.fabric import Fabric, ZonePlan
from fabric.errors import DesignError, FabricError
from fabric.spec.forwarding import Cable

Path = tuple[str | int, ...]
_NS_PER_M = 5  # propagation in fibre and copper, meta-clusters.md section 8


def cabling_problems(fabric: Fabric) -> Iterator[DesignError]:
    """Cable problems of each tier, then power problems of each rack profile."""
    for plan in {plan.profile_name: plan for plan in reversed(fabric.zones.values())}.values():
        ports = plan.ports
        yield from _cable(
            fabric.cable_of("host", plan), ports.host_speed_gbps, ports.host_medium, f"port map {ports.map_name}"
        )
        if fabric.spec.roce.ctsw is not None:
            yield from _cable(
                fabric.cable_of("rtsw", plan),
                ports.uplink_speed_gbps,
                ports.uplink_medium,
                f"port map {ports.map_name}",
            )
            yield from _rtsw_headroom(fabric, plan)
        yield from _power(fabric, plan)
    if fabric.wiring is not None:
        yield from _cable(fabric.cable_of("ctsw"), fabric.spine_speed, "optical", "the CTSW and ATSW ports")
    yield from _spine_headroom(fabric)


def _cable(where: tuple[Cable, Path], speed: int, medium: str, who: str) -> Iterator[DesignError]:
    declared, path = where
    try:
        model = catalog().cable(declared.cable)
    except FabricError as error:
        yield DesignError((*path, "cable"), error.message, hint=error.hint)
        return
    if model.technology != "ethernet":
        yield DesignError((*path, "cable"), f"{declared.cable} is an InfiniBand cable")
    elif model.speed_gbps.value != speed:
        yield DesignError(
            (*path, "cable"),
            f"{declared.cable} runs at {model.speed_gbps.value}G, {who} at {speed}G",
            hint=_fitting(speed, medium),
        )
    elif model.medium != medium:
        yield DesignError(
            (*path, "cable"), f"{declared.cable} is {model.medium}, {who} wants {medium}", hint=_fitting(speed, medium)
        )
    yield from _reach(model, declared, path)


def _reach(model: CableModel, declared: Cable, path: Path) -> Iterator[DesignError]:
    reach = model.max_length_m.value if model.max_length_m else None
    if reach is not None and declared.length_m > reach:
        yield DesignError(
            (*path, "length_m"), f"{declared.length_m:g} m is more than the {reach} m that {declared.cable} reaches"
        )


def _fitting(speed: int, medium: str) -> str:
    known = [catalog().cable(name) for name in catalog().names("cable")]
    names = [c.name for c in known if c.technology == "ethernet" and c.speed_gbps.value == speed and c.medium == medium]
    return "one of " + ", ".join(names) if names else f"the catalog has no {speed}G {medium} cable"


def reach_of(buffers: BufferSet, cell_bytes: int, speed_gbps: int) -> float:
    """Metres that the uplink headroom covers: what it has over the downlink's, at 2 x 5 ns a metre and the port's
    bytes a nanosecond.
    """
    extra = (buffers.headroom_uplink.value - buffers.headroom_downlink.value) * cell_bytes
    return extra / (2 * _NS_PER_M * speed_gbps / 8)


def _rtsw_headroom(fabric: Fabric, plan: ZonePlan) -> Iterator[DesignError]:
    """An RTSW's uplink priority group must absorb what is in flight on the cable after XOFF."""
    model = catalog().switch(plan.profile.switch)
    asic = catalog().asic(model.asic) if model.asic else None
    if model.fboss is None or asic is None or asic.memory is None:
        return
    buffers = catalog().buffers(plan.profile.switch)
    speed = plan.ports.uplink_speed_gbps
    reach = reach_of(buffers, asic.memory.cell_bytes.value, speed)
    declared, path = fabric.cable_of("rtsw", plan)
    length = declared.length_m
    if length > reach:
        extra = buffers.headroom_uplink.value - buffers.headroom_downlink.value
        yield DesignError(
            (*path, "length_m"),
            f"{length:g} m at {speed}G put 2 x {length:g} m x {_NS_PER_M} ns/m x {speed / 8:g} B/ns in flight after XOFF; "
            f"the uplink headroom of {plan.profile.switch} keeps {extra:,} cells of {asic.memory.cell_bytes.value} B for that, "
            f"enough for {reach:.0f} m",
        )


def _spine_headroom(fabric: Fabric) -> Iterator[DesignError]:
    """A chassis port's XOFF headroom is tabled by length; beyond the table nothing is known."""
    backend = fabric.spec.roce
    runs: dict[tuple[Path, str], float] = {}
    for box, tier in ((backend.ctsw, "rtsw"), (backend.ctsw if backend.atsw else None, "ctsw"), (backend.atsw, "ctsw")):
        if box is not None and box.line_card is not None:
            plans: list[ZonePlan | None] = [*fabric.zones.values()] if tier == "rtsw" else [None]
            for plan in plans:
                declared, path = fabric.cable_of(tier, plan)
                runs[(path, box.line_card)] = declared.length_m
    for (path, card), length in runs.items():
        table = _table(card)
        if table is not None and table.xoff_bytes(length) is None:
            yield DesignError(
                (*path, "length_m"),
                f"{length:g} m is beyond the {table.rows[-1].length_m} m for which PFC headroom of {card} is known",
            )


def _table(line_card: str) -> HeadroomTable | None:
    return catalog().asic(catalog().line_card(line_card).asic).headroom_by_length


def rack_power_w(fabric: Fabric, plan: ZonePlan) -> tuple[int | None, bool]:
    """(watts of the hosts in a rack, whether that is all they draw).

    Without `hosts.power_w` only the GPUs' TDP counts; None when the catalog does not know that either.
    """
    declared = fabric.spec.hosts.power_w
    if declared is not None:
        return declared * plan.profile.hosts, True
    if fabric.platform.gpu_tdp_w is None:
        return None, False
    return fabric.platform.gpu_tdp_w.value * fabric.platform.gpus.value * plan.profile.hosts, False


def rack_budget_w(plan: ZonePlan) -> int:
    """Watts that a rack delivers: the profile's own figure, else the rack standard's."""
    return round((plan.profile.power_kw or catalog().rack(plan.profile.rack).power_kw.value) * 1000)


def _power(fabric: Fabric, plan: ZonePlan) -> Iterator[DesignError]:
    watts, whole = rack_power_w(fabric, plan)
    budget = rack_budget_w(plan)
    if watts is not None and watts > budget:
        part = "hosts draw" if whole else "hosts' GPUs alone draw"
        yield DesignError(
            ("backend", "rack_profiles", plan.profile_name, "rack"),
            f"{plan.profile.hosts} {part} {watts / 1000:g} kW, {plan.profile.rack} delivers {budget / 1000:g} kW",
        )
