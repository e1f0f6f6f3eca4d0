"""A starter spec for a number of GPUs: sized by the same rules that check it."""

from __future__ import annotations

from dataclasses import dataclass

from fabric.design.ip import pow2
from fabric.errors import FabricError
from fabric.templating import environment

GPUS_PER_HOST = 8
HOSTS_PER_UNIT = 32  # NVIDIA DGX SuperPOD reference architecture
UNITS_MOST = 144  # 36,864 endpoints, spines and cores leave room below 49,151 LIDs
HOSTS_PER_RACK = 2
RACKS_PER_ZONE = 192  # The Llama 3 Herd of Models, section 3.3.1
UPLINKS = 18  # FBOSS source: BcmMmuTests.cpp, setupPortsForGrandTeton
CTSW_UPLINKS = 28  # derived in the same place as the published 1:7
CHASSIS = ((144, "arista-7804r3"), (288, "arista-7808r3"), (432, "arista-7812r3"), (576, "arista-7816r3"))
FIRST_TOP_ZONES = 8  # 8 zones x 18 CTSWs fill a 7804R3


@dataclass(frozen=True, slots=True)
class RoceSize:
    """Counts and pool sizes of a RoCE starter."""

    gpus: int
    racks_full: int
    full_zones: int
    racks_last: int
    zones: int
    zone_slots: int
    rack_slots: int
    planes: int
    members: int
    atsw_model: str
    atsws: int
    pools: dict[str, str]
    max_routes: int


def starter(kind: str, gpus: int, name: str) -> str:
    """The text of a starter spec; FabricError when so many GPUs cannot be built."""
    templates = environment("starter")
    if kind == "infiniband":
        hosts = -(-gpus // GPUS_PER_HOST)
        units = -(-hosts // HOSTS_PER_UNIT)
        return templates.get_template("infiniband.yaml.j2").render(name=name, hosts=hosts, units=_units(units))
    return templates.get_template("roce.yaml.j2").render(
        name=name, size=roce_size(gpus), uplinks=UPLINKS, ctsw_uplinks=CTSW_UPLINKS
    )


def _units(units: int) -> int:
    """Room to grow: a third more, in whole blocks of 4 units (a pod), within the LIDs of a subnet; none for a cluster of two."""
    if units < 3:
        return units
    return max(units, min(UNITS_MOST, -(-(units + units // 3) // 4) * 4))


def roce_size(gpus: int) -> RoceSize:
    """Zones of 192 racks as long as GPUs last, the last one with what is left; planes as many as the ATSW chassis asks for."""
    racks = -(-gpus // (GPUS_PER_HOST * HOSTS_PER_RACK))
    full, rest = divmod(racks, RACKS_PER_ZONE)
    zones = full + bool(rest)
    slots = max(FIRST_TOP_ZONES, pow2(zones))
    planes, model = _top(zones)
    return RoceSize(
        gpus=racks * GPUS_PER_HOST * HOSTS_PER_RACK,
        racks_full=RACKS_PER_ZONE if full else 0,
        full_zones=full,
        racks_last=rest,
        zones=zones,
        zone_slots=slots,
        rack_slots=pow2(RACKS_PER_ZONE),
        planes=planes,
        members=UPLINKS // planes,
        atsw_model=model,
        atsws=CTSW_UPLINKS * planes,
        pools=_pools(slots, CTSW_UPLINKS * planes),
        max_routes=_routes(racks, zones, CTSW_UPLINKS * planes),
    )


def _routes(racks: int, zones: int, atsws: int) -> int:
    """A bound with a third to spare, in whole thousands; at least the default of 12,000."""
    routes = 2 * racks + zones * UPLINKS + atsws
    return max(12_000, -(-routes * 4 // 3 // 1000) * 1000)


def _top(zones: int) -> tuple[int, str]:
    """(planes, chassis): the fewest planes, then the smallest chassis, that join so many zones."""
    for planes in (1, 2, 3, 6, 9, 18):
        for ports, model in CHASSIS:
            if zones * (UPLINKS // planes) <= ports:
                return planes, model
    raise FabricError(f"{zones} zones do not fit below one tier of ATSWs", hint="fewer GPUs")


def _pools(zones: int, atsws: int) -> dict[str, str]:
    """Pools that hold the growth slots: 256 racks a zone, 16 NIC links, 32 uplinks a rack, 32 CTSWs a zone with 32 uplinks each."""
    host_64s = zones * 256 * 16
    numbers = -(-(atsws + 1) // 512) * 512 + zones * 512
    return {
        "host6": f"2001:db8:8000::/{64 - (host_64s - 1).bit_length()}",
        "router_ids": f"172.16.0.0/{32 - (numbers - 1).bit_length()}",
        "management": f"10.0.0.0/{32 - (numbers + 256).bit_length()}",
    }
