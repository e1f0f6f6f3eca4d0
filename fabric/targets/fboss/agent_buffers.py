"""Buffers of agent.conf: the one ingress pool, the PG configurations of uplinks and downlinks, the PFC watchdog.

The catalog counts in cells of one ITM (memory half), which is how FBOSS counts too; FBOSS wants bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric.design.qos import QosPlan
from fabric.spec.qos import PfcWatchdog
from fabric.targets.fboss.agent_qos import priority_groups
from fabric.targets.fboss.box import Box, Json
from fabric.targets.fboss.schema import enum_value

POOL = "ingress_pool"
DOWNLINK_PG = "downlink_pg_config"
UPLINK_PG = "uplink_pg_config"
"""FBOSS tells uplinks and downlinks of an RTSW apart by these words in the name of the PG configuration (fboss.md section 6)."""

_STEPS = 15
_GRANULARITIES_MS = (1, 10, 100)


def buffer_pools(box: Box) -> Json:
    """`bufferPoolConfigs`: bytes of one ITM (the hardware gets both halves)."""
    buffers, cell = box.buffers, box.asic.cell_bytes
    return {
        POOL: {"sharedBytes": buffers.shared_pool.value * cell, "headroomBytes": buffers.headroom_pool.value * cell}
    }


def pg_configs(box: Box, plan: QosPlan, *, uplinks: bool) -> dict[str, list[Json]]:
    """`portPgConfigs`: the downlink set, and the uplink set (longer cables, more headroom) when the box has uplinks."""
    made = {DOWNLINK_PG: _groups(box, plan, box.buffers.headroom_downlink.value)}
    if uplinks:
        made[UPLINK_PG] = _groups(box, plan, box.buffers.headroom_uplink.value)
    return made


def _groups(box: Box, plan: QosPlan, headroom_cells: int) -> list[Json]:
    buffers, cell = box.buffers, box.asic.cell_bytes
    groups: list[Json] = []
    for group in sorted(priority_groups(plan).values()):
        lossless = group == plan.priority
        made: Json = {
            "id": group,
            "name": f"pg{group}.{'rdma' if lossless else 'lossy'}",
            "bufferPoolName": POOL,
            "minLimitBytes": buffers.pg_min.value * cell,
            "headroomLimitBytes": headroom_cells * cell if lossless else 0,
        }
        if lossless:
            made["resumeOffsetBytes"] = buffers.resume_offset.value * cell
        made["scalingFactor"] = buffers.scaling_factor.value
        groups.append(made)
    return groups


@dataclass(frozen=True, slots=True)
class Detection:
    """How the hardware counts a detection time: 1 to 15 steps of `granularity_ms`; `actual_ms` is what comes out."""

    granularity_ms: int
    actual_ms: int


def detection(asked_ms: int) -> Detection:
    """The nearest time not above `asked_ms` that the 4-bit timer can count (fboss.md section 6), with its finest granularity."""
    best = Detection(_GRANULARITIES_MS[0], 0)
    for granularity in _GRANULARITIES_MS:
        actual = min(granularity * (asked_ms // granularity), granularity * _STEPS)
        if actual > best.actual_ms:
            best = Detection(granularity, actual)
    return best


def port_pfc(name: str, watchdog: PfcWatchdog | None) -> Json:
    """`Port.pfc` with the PG configuration `name`. The detection time is the one that the hardware counts, so that the file says
    what happens.
    """
    made: Json = {"tx": True, "rx": True, "portPgConfigName": name}
    if watchdog is not None:
        action = "DROP" if watchdog.action == "drop" else "NO_DROP"
        made["watchdog"] = {
            "detectionTimeMsecs": detection(watchdog.detect_ms).actual_ms,
            "recoveryTimeMsecs": watchdog.recover_ms,
            "recoveryAction": enum_value(f"PfcWatchdogRecoveryAction.{action}"),
        }
    return made
