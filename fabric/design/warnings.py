"""What can be built but is worth a second look: `fabric check` prints these after the errors; they refuse nothing."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from fabric.catalog import catalog
from fabric.design.alike import polarised
from fabric.design.fabric import Fabric, matches
from fabric.design.figures import Figures, figures
from fabric.design.fit_settings import needed_ecmp
from fabric.design.hosts.remarks import host_remarks
from fabric.design.remark import Remark
from fabric.design.suggest import near
from fabric.design.unused import unused
from fabric.words import counted, verb


def warnings(fabric: Fabric) -> list[Remark]:
    """All remarks, in a stable order."""
    known = figures(fabric)
    return [
        *_polarisation(fabric),
        *_ratios(known),
        *_spare(known),
        *_speeds(fabric),
        *_power(known),
        *_names(fabric),
        *_matches(fabric),
        *_asns(fabric),
        *_rooms(fabric, known),
        *unused(fabric),
        *host_remarks(fabric.spec),
    ]


def _polarisation(fabric: Fabric) -> Iterator[Remark]:
    """Neighbouring tiers that hash alike over group sizes with a common divisor choose the same member again."""
    for pair in polarised(fabric):
        why = "the same hash seed" if pair.why == "declared" else "no evidenced way to set a seed on EOS"
        lower, upper = map(_list, pair.sizes)
        yield Remark(
            ("load_balancing", "seeds"),
            "polarisation",
            f"{pair.lower} and {pair.upper} have {why}, and group sizes {lower} and {upper} share the divisor {pair.shared}: "
            f"{pair.upper}s may use only {pair.width // pair.shared} of their {pair.width} paths, "
            f"which leaves {pair.left:.3g} % of what could cross them (predicted)",
        )


def _list(values: tuple[int, ...]) -> str:
    return "/".join(str(value) for value in values)


def _ratios(known: Figures) -> Iterator[Remark]:
    """A ratio near the published 1:7 that is not exactly reachable; a rack tier that is oversubscribed."""
    seen: set[tuple[int, int]] = set()
    for zone in known.zones:
        ratio, key = zone.ctsw.by_port, (zone.ctsw.ports_down, zone.ctsw.ports_up)
        if ratio is not None and key not in seen and 6 <= ratio <= 8 and ratio.denominator != 1:
            seen.add(key)
            yield Remark(
                ("backend", "ctsw", "uplinks"),
                "ratio",
                f"{counted(zone.racks, 'rack')} over {counted(zone.ctsw.ports_up, 'uplink')} "
                f"{verb(zone.racks, 'is', 'are')} 1:{float(ratio):.2f}; "
                f"1:7 exactly needs a number of racks that 7 divides (here {zone.racks - zone.racks % 7} or {zone.racks + 7 - zone.racks % 7})",
            )
        rack = zone.rtsw.by_bandwidth
        if rack is not None and rack > 1 and (zone.rtsw.gbps_down, zone.rtsw.gbps_up) not in seen:
            seen.add((zone.rtsw.gbps_down, zone.rtsw.gbps_up))
            yield Remark(
                ("backend", "rack_profiles", zone.profile, "uplinks"),
                "oversubscribed",
                f"racks of {zone.profile} are oversubscribed 1:{float(rack):.2f}: {zone.rtsw.gbps_down}G down, {zone.rtsw.gbps_up}G up",
            )


def _spare(known: Figures) -> Iterator[Remark]:
    for zone in {zone.profile: zone for zone in known.zones}.values():
        if zone.ctsws and zone.spare == 0 and (zone.rtsw.by_bandwidth or Fraction(0)) <= 1:
            yield Remark(
                ("backend", "rack_profiles", zone.profile, "uplinks"),
                "no-spare",
                f"racks of {zone.profile} have no spare uplink: one CTSW in maintenance takes the zone below full bisection",
            )


def _speeds(fabric: Fabric) -> Iterator[Remark]:
    nic = fabric.platform.backend_speed_gbps.value
    for plan in {plan.profile_name: plan for plan in fabric.zones.values()}.values():
        if plan.ports.host_speed_gbps < nic:
            yield Remark(
                ("backend", "rack_profiles", plan.profile_name, "port_map"),
                "slow-nic",
                f"port map {plan.ports.map_name} runs the {nic}G NICs at {plan.ports.host_speed_gbps}G",
            )


def _power(known: Figures) -> Iterator[Remark]:
    for zone in {zone.profile: zone for zone in known.zones}.values():
        if not zone.rack_watts_whole:
            who = "the GPUs alone draw" if zone.rack_watts is not None else "nothing is known of what the hosts draw:"
            text = f"racks of {zone.profile}: {who} {zone.power}; set hosts.power_w to have the whole checked"
            yield Remark(("hosts", "power_w"), "power-unknown", text)
            return


def _names(fabric: Fabric) -> Iterator[Remark]:
    """FBOSS compares LLDP names by substring, so a name inside another hides a miscabling."""
    backend = fabric.spec.roce
    if not any(plan.profile.nos == "fboss" for plan in fabric.zones.values()) and not (
        backend.ctsw and backend.ctsw.nos == "fboss"
    ):
        return
    names = sorted(fabric.by_name)
    lengths = {len(name) for name in names}
    if len(lengths) == 1:
        return
    known = set(names)
    for name in names:
        inner = next(
            (
                name[i:j]
                for i, j in combinations(range(len(name) + 1), 2)
                if j - i in lengths and name[i:j] in known and name[i:j] != name
            ),
            None,
        )
        if inner is not None:
            yield Remark(
                ("naming",),
                "substring",
                f"{inner!r} is part of {name!r}; FBOSS compares LLDP names by substring and would not tell them apart",
            )
            return


def _matches(fabric: Fabric) -> Iterator[Remark]:
    """Overrides and states that match no device."""
    hosts = [host.name for host in fabric.hosts()] if fabric.spec.state else []
    for section in ("overrides", "state"):
        for index, entry in enumerate(getattr(fabric.spec, section)):
            match = entry.match
            if any(matches(match, switch.name, switch.role, switch.zone) for switch in fabric.switches):
                continue
            if section == "state" and any(matches(match, host.name, "host", host.zone) for host in fabric.hosts()):
                continue
            hint = near(match.name, [*fabric.by_name, *hosts]) if match.name else ""
            said = f", so it changes nothing{'; ' + hint if hint.startswith('did') else ''}"
            yield Remark((section, index, "match"), "matches-nothing", f"matches no device{said}")


def _asns(fabric: Fabric) -> Iterator[Remark]:
    asn, growth = fabric.spec.bgp.asn, fabric.spec.roce.growth
    counts = {"rtsw": growth.zones * growth.racks_per_zone, "ctsw": growth.zones, "atsw": 1}
    for tier, count in counts.items():
        first = getattr(asn, tier)
        last = first + count - 1
        if not (first >= 64512 and last <= 65534) and not (first >= 4_200_000_000 and last <= 4_294_967_294):
            yield Remark(
                ("bgp", "asn", tier),
                "public-asn",
                f"AS {first} to {last} are not all private (64512-65534, 4200000000-4294967294)",
            )


def _rooms(fabric: Fabric, known: Figures) -> Iterator[Remark]:
    """ECMP wider than ordinary groups; chassis without a free port for growth."""
    width = fabric.spec.bgp.ecmp_width or needed_ecmp(fabric)
    for plan in {plan.profile.switch: plan for plan in fabric.zones.values()}.values():
        if plan.profile.nos == "fboss" and width > 64:
            asic = catalog().switch(plan.profile.switch).asic
            yield Remark(
                ("bgp", "ecmp_width"),
                "wide-ecmp",
                f"{width} paths need wide ECMP groups on {asic}; FBOSS's default width is 64",
            )
    if known.atsw_ports and known.atsw_ports_used == known.atsw_ports:
        yield Remark(
            ("backend", "atsw", "model"),
            "full",
            f"every port of an ATSW is used ({known.atsw_ports} of {known.atsw_ports}): no further zone fits",
        )


__all__ = ["Remark", "warnings"]
