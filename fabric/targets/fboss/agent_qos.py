"""QoS of agent.conf: the DSCP map, the egress queues, and the priority groups (PGs) that the classes use."""

from __future__ import annotations

from fabric.design.qos import QosPlan, Queue
from fabric.spec.qos import Ecn
from fabric.targets.fboss.box import Json
from fabric.targets.fboss.schema import enum_value

POLICY = "network_ai_v2"
"""Name of the one QoS policy (the queue set of FBOSS source: NetworkAITestUtils.cpp)."""

QUEUES = "fabric_queue_config"
"""Name of the one port queue configuration."""

_NAMES = {"lossless": "rdma", "control": "nc"}
_TRAFFIC_CLASSES = range(8)


def priority_groups(plan: QosPlan) -> dict[int, int]:
    """Traffic class -> PG of every class in use: the lossless one has the PG of its PFC priority, every other the PG of its own
    number, or the lowest free one where the lossless class stands on it.
    """
    groups = {plan.lossless.traffic_class: plan.priority}
    lossy = [queue.traffic_class for queue in plan.queues if not queue.lossless]
    groups.update({cls: cls for cls in lossy if cls != plan.priority})
    for cls in lossy:
        if cls == plan.priority:
            groups[cls] = min(set(_TRAFFIC_CLASSES) - set(groups.values()))
    return dict(sorted(groups.items()))


def qos_policies(plan: QosPlan) -> list[Json]:
    """`qosPolicies`: all 64 DSCPs, and the same path for a class through queue, PG and PFC priority (priority n = PG n)."""
    groups = priority_groups(plan)
    queue_of = {queue.traffic_class: queue.number for queue in plan.queues}
    group_queue = {group: queue_of[cls] for cls, group in groups.items()}
    priorities = sorted(group_queue)
    qos_map = {
        "dscpMaps": [
            {"internalTrafficClass": queue.traffic_class, "fromDscpToTrafficClass": list(queue.dscps)}
            for queue in sorted(plan.queues, key=lambda queue: queue.traffic_class)
            if queue.dscps
        ],
        "expMaps": [],
        # a traffic class of no declared class carries nothing; it goes where the default class goes
        "trafficClassToQueueId": {str(cls): queue_of.get(cls, 0) for cls in _TRAFFIC_CLASSES},
        "trafficClassToPgId": {str(cls): group for cls, group in groups.items()},
        "pfcPriorityToPgId": {str(priority): priority for priority in priorities},
        "pfcPriorityToQueueId": {str(priority): group_queue[priority] for priority in priorities},
    }
    return [{"name": POLICY, "rules": [], "qosMap": qos_map}]


def port_queues(plan: QosPlan, ecn: Ecn | None) -> dict[str, list[Json]]:
    """`portQueueConfigs`: one entry a declared queue; ECN only on the lossless queue, and only when it is declared."""
    return {QUEUES: [_queue(queue, ecn) for queue in plan.queues]}


def _queue(queue: Queue, ecn: Ecn | None) -> Json:
    made: Json = {
        "id": queue.number,
        "streamType": enum_value("StreamType.UNICAST"),
        "scheduling": enum_value(f"QueueScheduling.{'STRICT_PRIORITY' if queue.strict else 'WEIGHTED_ROUND_ROBIN'}"),
        "name": f"queue{queue.number}.{_NAMES.get(queue.name, queue.name)}",
    }
    if not queue.strict:
        made["weight"] = queue.weight
    if queue.lossless and ecn is not None:
        linear = {"minimumLength": ecn.min_bytes, "maximumLength": ecn.max_bytes, "probability": ecn.probability}
        made["aqms"] = [{"detection": {"linear": linear}, "behavior": enum_value("QueueCongestionBehavior.ECN")}]
    return made
