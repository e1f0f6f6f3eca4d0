"""The keys that only NVIDIA's OpenSM has: adaptive routing, SHIELD, pFRN, SHARP, congestion control, speed of the SM.

None of them can be exercised on a simulated fabric: only their names are checked, against a list.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabric.design.ib.model import Subnet
from fabric.spec.ib_subnet import AdaptiveRouting, SubnetManagement
from fabric.targets.opensm import paths

RECIPE = (
    ("routing_threads_num", "24"),
    ("use_ucast_cache", "TRUE"),
    ("max_wire_smps_per_device", "2"),
    ("enable_inc_mc_routing", "TRUE"),
    ("virt_max_ports_in_process", "512"),
    ("max_msg_fifo_timeout", "60000"),
)
"""NVIDIA's recipe for a large rail-optimised cluster (public repository kobibar/OpenAI.recipe.old)."""
SHIELD_MODES = {"off": "0", "shield": "2"}
"""NVIDIA documentation; the value that switches pFRN on is not public, so that the SM's own default stands there."""
PFRN_TIMEOUTS = (("pfrn_mask_clear_timeout", "180"), ("pfrn_mask_force_clear_timeout", "720"))
"""NVIDIA documentation."""
SHARP_ON = "2"
"""`sharp_enabled`: 0 ignore, 1 disable, 2 enable (unverified)."""
CONGESTION = {False: "1", True: "2"}
"""`mlnx_congestion_control`: 0 ignore, 1 off, 2 on."""

Pairs = list[tuple[str, str]]


def nvidia_sections(subnet: Subnet, declared: SubnetManagement) -> Iterator[tuple[str, Pairs]]:
    """Heading and keys of each section."""
    options = {*subnet.routing.options, *declared.options}
    yield "large fabrics (NVIDIA's recipe)", [pair for pair in RECIPE if pair[0] not in options]
    if subnet.qos is not None:
        yield "one packet for the SL2VL tables of all ports", [("use_optimized_slvl", "TRUE")]
    yield (
        "port groups and the cables that may join",
        [
            ("pgrp_policy_file", paths.GROUPS),
            ("topo_config_file", paths.TOPOLOGY),
            ("topo_config_enabled", "TRUE"),
        ],
    )
    if declared.adaptive_routing is not None:
        yield "adaptive routing, SHIELD, pFRN", list(_adaptive(declared.adaptive_routing))
    if declared.sharp:
        yield "SHARP", [("sharp_enabled", SHARP_ON)]
    yield "congestion control", [("mlnx_congestion_control", CONGESTION[declared.congestion_control])]


def _adaptive(adaptive: AdaptiveRouting) -> Iterator[tuple[str, str]]:
    yield "ar_sl_mask", f"{adaptive.sl_mask:#06x}"
    if adaptive.asymmetric_flow is not None:
        yield "ar_tree_asymmetric_flow", str(adaptive.asymmetric_flow)
    if adaptive.shield != "pfrn":
        yield "shield_mode", SHIELD_MODES[adaptive.shield]
        return
    if adaptive.pfrn_sl is not None:
        yield "pfrn_sl", str(adaptive.pfrn_sl)
    yield from PFRN_TIMEOUTS
