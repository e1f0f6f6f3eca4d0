"""What reaches the switch's own CPU: its queues, the queue of each kind of punted packet, and the ACLs that police it."""

from __future__ import annotations

from fabric.design.qos import QosPlan
from fabric.targets.fboss.agent_qos import POLICY
from fabric.targets.fboss.box import Json
from fabric.targets.fboss.schema import enum_value

_HIGH, _MID, _DEFAULT, _LOW = 9, 2, 1, 0
_LINK_LOCAL = "fe80::/10"
_MID_ACL = "cpuPolicing-mid-linkLocal-v6"
_HIGH_ACL = "cpuPolicing-high-NetworkControl-linkLocal-v6"

# Queues and order of reasons: FBOSS source, the Darwin (Tomahawk 3) link-test sample (fboss.md section 5).
_QUEUES: tuple[tuple[int, int, str, int | None], ...] = (
    (_HIGH, 4, "cpuQueue-high", None),
    (_MID, 2, "cpuQueue-mid", None),
    (_DEFAULT, 1, "cpuQueue-default", 1000),
    (_LOW, 1, "cpuQueue-low", 500),
)
_REASONS: tuple[tuple[str, int], ...] = (
    ("NDP", _HIGH),
    ("ARP", _HIGH),
    ("ARP_RESPONSE", _HIGH),
    ("BGP", _HIGH),
    ("BGPV6", _HIGH),
    ("LACP", _HIGH),
    ("LLDP", _MID),
    ("CPU_IS_NHOP", _MID),
    ("DHCP", _MID),
    ("DHCPV6", _MID),
    ("TTL_1", _LOW),
    ("L3_MTU_ERROR", _LOW),
    ("UNMATCHED", _DEFAULT),
)


def cpu_queues() -> list[Json]:
    """`cpuQueues`; they are of the multicast kind, any other is ignored silently."""
    made = []
    for number, weight, name, most_pps in _QUEUES:
        queue: Json = {
            "id": number,
            "streamType": enum_value("StreamType.MULTICAST"),
            "weight": weight,
            "scheduling": enum_value("QueueScheduling.WEIGHTED_ROUND_ROBIN"),
            "name": name,
        }
        if most_pps is not None:
            queue["portQueueRate"] = {"pktsPerSec": {"minimum": 0, "maximum": most_pps}}
        made.append(queue)
    return made


def _high_acls(plan: QosPlan) -> list[tuple[str, int]]:
    """One ACL a DSCP of the control class, as an ACL matches a single DSCP."""
    dscps = plan.control.dscps
    return [(_HIGH_ACL if number == 0 else f"{_HIGH_ACL}-{dscp}", dscp) for number, dscp in enumerate(dscps)]


def cpu_acls(plan: QosPlan) -> list[Json]:
    """The ACL entries that `cpu_policy` names, first match first."""
    permit = enum_value("AclActionType.PERMIT")
    high = [{"name": name, "actionType": permit, "dstIp": _LINK_LOCAL, "dscp": dscp} for name, dscp in _high_acls(plan)]
    return [*high, {"name": _MID_ACL, "actionType": permit, "dstIp": _LINK_LOCAL}]


def cpu_policy(plan: QosPlan) -> Json:
    """`cpuTrafficPolicy`."""
    actions = [_to_queue(name, _HIGH) for name, _ in _high_acls(plan)]
    return {
        "trafficPolicy": {"defaultQosPolicy": POLICY, "matchToAction": [*actions, _to_queue(_MID_ACL, _MID)]},
        "rxReasonToQueueOrderedList": [
            {"rxReason": enum_value(f"PacketRxReason.{reason}"), "queueId": queue} for reason, queue in _REASONS
        ],
    }


def _to_queue(matcher: str, queue: int) -> Json:
    action = {
        "sendToQueue": {"queueId": queue},
        "toCpuAction": enum_value("ToCpuAction.COPY"),
        "setTc": {"tcValue": queue},
        "userDefinedTrap": {"queueId": queue},
    }
    return {"matcher": matcher, "action": action}
