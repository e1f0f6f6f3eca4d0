"""QoS in EOS's terms: DSCP maps, one qos profile, and on a shared-buffer box the buffer profile.

EOS keeps traffic class 7 and its queue for its own control plane, so neither is mapped nor scheduled here. DSCPs are not rewritten:
a class has many, and EOS's rewrite map has one a traffic class, so the next switch would no longer know them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from fabric.catalog import catalog
from fabric.design.qos import DSCPS, QosPlan, plan_qos
from fabric.errors import FabricError
from fabric.spec.qos import PfcWatchdog, Qos

CONTROL_PLANE = 7
"""Traffic class and queue that EOS keeps. Source: Arista's TOI index (quoted)."""

DEFAULT_CLASSES: dict[int, int] = {
    **dict.fromkeys(range(8), 1),
    **dict.fromkeys(range(8, 16), 0),
    **dict.fromkeys(range(24, 32), 3),
    **dict.fromkeys(range(48, 56), 6),
}
"""DSCP -> traffic class as EOS has it without configuration, as far as it is known. Source: a blog that cites the EOS manual."""


@dataclass(frozen=True, slots=True)
class EcnView:
    """WRED thresholds in kbytes, probability in percent."""

    minimum: int
    maximum: int
    probability: int


@dataclass(frozen=True, slots=True)
class QueueView:
    """One queue of the profile; `percent` counts when it is not strict."""

    number: int
    strict: bool
    percent: int
    ecn: EcnView | None


@dataclass(frozen=True, slots=True)
class WatchdogView:
    """PFC watchdog: times in seconds as texts."""

    timeout: str
    recovery: str
    polling: str
    action: str


@dataclass(frozen=True, slots=True)
class MmuView:
    """Buffers of a shared-buffer box, in bytes (the unit that EOS takes when none is named; AVD schema)."""

    headroom: int
    resume: int
    reserved: int
    ingress_threshold: str
    egress_threshold: str
    headroom_pool: int


@dataclass(frozen=True, slots=True)
class QosView:
    """QoS of a switch. `dscp_maps`, `queue_maps` are what follows `qos map dscp` and `qos map traffic-class`."""

    profile: str
    queue_word: str
    priority: int
    lossless_queue: int
    dscp_maps: list[str]
    queue_maps: list[str]
    queues: list[QueueView]
    watchdog: WatchdogView | None
    ecn: bool
    mmu: MmuView | None


def qos_view(qos: Qos, model: str, family: str) -> QosView:
    """The QoS view of a switch model of family `sand` or `trident`."""
    plan = plan_qos(qos)
    ecn = (
        None if qos.ecn is None else EcnView(qos.ecn.min_bytes // 1000, qos.ecn.max_bytes // 1000, qos.ecn.probability)
    )
    return QosView(
        profile="ROCE",
        queue_word="tx-queue" if family == "sand" else "uc-tx-queue",
        priority=plan.priority,
        lossless_queue=plan.lossless.number,
        dscp_maps=_dscp_maps(plan),
        queue_maps=_queue_maps(plan),
        queues=[
            QueueView(queue.number, queue.strict, queue.weight, ecn if queue.lossless else None)
            for queue in plan.queues
            if queue.number != CONTROL_PLANE
        ],
        watchdog=_watchdog(qos.pfc_watchdog),
        ecn=ecn is not None,
        mmu=mmu_view(model) if family == "trident" else None,
    )


def _dscp_maps(plan: QosPlan) -> list[str]:
    """One entry a traffic class, by lowest DSCP; DSCPs that EOS has there anyway are left out, as EOS hides them."""
    groups: dict[int, list[int]] = {}
    table = plan.traffic_class_of()
    for dscp in range(DSCPS):
        if DEFAULT_CLASSES.get(dscp) != table[dscp]:
            groups.setdefault(table[dscp], []).append(dscp)
    return [f"{' '.join(map(str, dscps))} to traffic-class {number}" for number, dscps in groups.items()]


def _queue_maps(plan: QosPlan) -> list[str]:
    pairs = sorted((queue.traffic_class, queue.number) for queue in plan.queues)
    return [f"{number} to tx-queue {queue}" for number, queue in pairs if CONTROL_PLANE not in (number, queue)]


def _watchdog(spec: PfcWatchdog | None) -> WatchdogView | None:
    if spec is None:
        return None
    # polling interval: at most half of the shorter time (Arista's rule, quoted), and never below 5 ms (AVD schema)
    polling = max(min(spec.detect_ms, spec.recover_ms) / 2000, 0.005)
    return WatchdogView(
        f"{spec.detect_ms / 1000:g}",
        f"{spec.recover_ms / 1000:g}",
        f"{polling:g}",
        "drop" if spec.action == "drop" else "notify-only",
    )


@lru_cache(maxsize=16)
def mmu_view(model: str) -> MmuView:
    """Buffer numbers of a trident box from the catalog's cells; FabricError when it has none.

    The cells are those of FBOSS's tests for the same ASIC. What is not sure: whether EOS takes `ingress headroom` for one port's
    priority group (as here: the uplink's, the larger one) and `headroom-pool limit` for the whole chip (as here) or one memory
    half. Thresholds: 1 is FBOSS's scaling factor ONE; 8 on egress, the largest, so that a full queue pauses before it drops.
    """
    box = catalog().switch(model)
    memory = None if box.asic is None else catalog().asic(box.asic).memory
    if memory is None:
        raise FabricError(f"{model}: the catalog has no packet memory for its ASIC")
    cells, size = catalog().buffers(model), memory.cell_bytes.value
    return MmuView(
        headroom=cells.headroom_uplink.value * size,
        resume=cells.resume_offset.value * size,
        reserved=cells.pg_min.value * size,
        ingress_threshold="1",
        egress_threshold="8",
        headroom_pool=cells.headroom_pool.value * size * memory.itms.value,
    )
