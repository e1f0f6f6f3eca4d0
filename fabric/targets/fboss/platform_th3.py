"""`platform.chip.bcm.config` of Tomahawk 3 boxes (wedge400): the port map by rule, and the settings of a lossless fabric."""

from __future__ import annotations

from fabric.errors import FabricError
from fabric.targets.fboss.box import Box, Json, first_lane

_LANES_A_CORE = 8
_SPAN = "100:4"  # gigabits:lanes of every entry in the published section; the port is re-cut to its profile afterwards

LOSSLESS: dict[str, str] = {
    "mmu_lossless": "0x2",
    "buf.mqueue.guarantee.0": "0C",
    "mmu_config_override": "0",
    "buf.prigroup7.guarantee": "0C",
}
"""FBOSS source: NetworkAITestUtils.cpp, applyBackendAsicConfig, branch for Tomahawk 3."""

QGROUP = {"buf.qgroup.guarantee": "0", "buf.qgroup.guarantee_mc": "0"}
"""Same, when queue group guarantees are on (flag qgroup_guarantee_enable)."""

MINIMAL: dict[str, str] = {"l3_alpm_enable": "2"}
"""What our own base holds besides ports: longest-prefix tables in ALPM mode (value of the published wedge400 section)."""


def port_map(box: Box) -> dict[str, str]:
    """`portmap_<id>` and `dport_map_port_<id>` of every cage's controlling port.

    lane = 8 x core + first lane + 1; the display number is the rank in front-panel order among all ports (fboss.md section 3).
    """
    made: dict[str, str] = {}
    for rank, port in enumerate(box.ports, start=1):
        if port.logical_id == port.controlling_port and port.core is not None:
            lane = _LANES_A_CORE * port.core + first_lane(port) + 1
            made[f"portmap_{port.logical_id}"] = f"{lane}:{_SPAN}"
            made[f"dport_map_port_{port.logical_id}"] = str(rank)
    return made


def edit(box: Box, config: Json, *, qgroup: bool, add_ports: bool) -> Json:
    """`config` with the missing entries of the port map (`add_ports`) and the lossless settings.

    An entry that is there and starts at another lane means that the file is of another box: FabricError.
    """
    rules = port_map(box)
    for key, value in rules.items():
        found = config.get(key)
        if found is not None and str(found).partition(":")[0] != value.partition(":")[0]:
            wanted = value.partition(":")[0]
            raise FabricError(f"{key} is {found!r}, but on {box.model} it is at {wanted}: the file is of another box")
    return {**(rules if add_ports else {}), **config, **LOSSLESS, **(QGROUP if qgroup else {})}
