"""Load balancing of agent.conf: ECMP hash with the RoCE destination queue pair, flowlets (DLB), and the ACLs that they need."""

from __future__ import annotations

from fabric.design.ip import pow2
from fabric.spec.forwarding import Flowlets
from fabric.targets.fboss.agent_qos import POLICY
from fabric.targets.fboss.box import Box, Json
from fabric.targets.fboss.schema import enum_value

FLOWLET_CONFIG = "uplink_flowlet"
"""Name of the port flowlet configuration of uplinks."""

ROCE_UDP_PORT = 4791
_MATCHER = "l4UdpRoce"
_GROUP = "dstQueuePair"
_FLOWLET_ACL = "flowlet-enable"
_UDP = 17
_PER_PACKET_TABLE = 256  # fboss.md section 7: flowletTableSize is 256 when every packet moves


def udf_config() -> Json:
    """`udfConfig`: the 3 bytes of the destination QP, 13 bytes into the L4 header (8 of UDP, 5 into the BTH)."""
    group = {
        "name": _GROUP,
        "header": enum_value("UdfBaseHeaderType.UDF_L4_HEADER"),
        "startOffsetInBytes": 13,
        "fieldSizeInBytes": 3,
        "udfPacketMatcherIds": [_MATCHER],
        "type": enum_value("UdfGroupType.HASH"),  # optional in the IDL, but the SAI build aborts without it
    }
    matcher = {
        "name": _MATCHER,
        "l2PktType": enum_value("UdfMatchL2Type.UDF_L2_PKT_TYPE_ANY"),
        "l3pktType": enum_value("UdfMatchL3Type.UDF_L3_PKT_TYPE_ANY"),
        "l4PktType": enum_value("UdfMatchL4Type.UDF_L4_PKT_TYPE_UDP"),
        "UdfL4DstPort": ROCE_UDP_PORT,
    }
    return {"udfGroups": {_GROUP: group}, "udfPacketMatcher": {_MATCHER: matcher}}


def load_balancers(seed: int, *, queue_pair: bool) -> list[Json]:
    """`loadBalancers` for ECMP and (unused here, but programmed) for aggregate ports."""
    return [
        _balancer("ECMP", seed, ["SOURCE_PORT", "DESTINATION_PORT"], [_GROUP] if queue_pair else []),
        _balancer("AGGREGATE_PORT", seed, [], []),
    ]


def _balancer(kind: str, seed: int, ports: list[str], udf: list[str]) -> Json:
    ends = ("SOURCE_ADDRESS", "DESTINATION_ADDRESS")
    fields = {
        "ipv4Fields": [enum_value(f"IPv4Field.{name}") for name in ends],
        "ipv6Fields": [enum_value(f"IPv6Field.{name}") for name in ends],
        "transportFields": [enum_value(f"TransportField.{name}") for name in ports],
        "mplsFields": [],
        "udfGroups": udf,
    }
    return {
        "id": enum_value(f"LoadBalancerID.{kind}"),
        "algorithm": enum_value("HashingAlgorithm.CRC16_CCITT"),
        "seed": seed,
        "fieldSelection": fields,
    }


def flowlet_switching(flowlets: Flowlets, box: Box, uplinks: int, *, sai: bool) -> Json:
    """`flowletSwitchingConfig`. Thresholds and exponents: FBOSS's own tests (fboss.md section 7); under SAI the exponents count
    from 1 and the sample rate is 1000, under the native SDK from 0 and 1000000.
    """
    per_packet = flowlets.mode == "per-packet"
    base = 0 if sai else -1
    return {
        "inactivityIntervalUsecs": flowlets.inactivity_us,
        "flowletTableSize": _PER_PACKET_TABLE if per_packet else flowlets.table_size,
        "dynamicEgressLoadExponent": 3 + base,
        "dynamicQueueExponent": 3 + base,
        "dynamicPhysicalQueueExponent": 4 + base,
        "dynamicQueueMinThresholdBytes": 1000,
        "dynamicQueueMaxThresholdBytes": 10000,
        "dynamicSampleRate": 1000 if sai else 1_000_000,
        "dynamicEgressMinThresholdBytes": 1000,
        "dynamicEgressMaxThresholdBytes": 10000,
        "maxLinks": min(max(pow2(uplinks), 32), box.asic.ars_width),
        "switchingMode": enum_value(f"SwitchingMode.{'PER_PACKET_QUALITY' if per_packet else 'FLOWLET_QUALITY'}"),
        "backupSwitchingMode": enum_value("SwitchingMode.FIXED_ASSIGNMENT"),
    }


def port_flowlets(*, sai: bool) -> Json:
    """`portFlowletConfigs`: the scale of a port's load differs between SAI and the native SDK."""
    return {FLOWLET_CONFIG: {"scalingFactor": 10 if sai else 100, "loadWeight": 70, "queueWeight": 30}}


def flowlet_acls() -> list[Json]:
    """Traffic opts in to flowlets by this ACL: RoCE v2."""
    permit = enum_value("AclActionType.PERMIT")
    return [{"name": _FLOWLET_ACL, "actionType": permit, "proto": _UDP, "l4DstPort": ROCE_UDP_PORT}]


def traffic_counters(*, dlb: bool) -> list[Json]:
    """`trafficCounters` that the ACLs name."""
    kinds = [enum_value("CounterType.PACKETS"), enum_value("CounterType.BYTES")]
    return [{"name": _FLOWLET_ACL, "types": kinds}] if dlb else []


def data_policy(*, dlb: bool) -> Json:
    """`dataPlaneTrafficPolicy`."""
    action = {"flowletAction": enum_value("FlowletAction.FORWARD"), "counter": _FLOWLET_ACL}
    return {"defaultQosPolicy": POLICY, "matchToAction": [{"matcher": _FLOWLET_ACL, "action": action}] if dlb else []}


def acl_groups(entries: list[Json]) -> list[Json]:
    """`aclTableGroups`: one ingress group with one table; empty qualifiers and actions mean SAI's defaults."""
    table = {
        "name": "AclTable1",
        "priority": 0,
        "actionTypes": [],
        "qualifiers": [],
        "udfGroups": [],
        "aclEntries": entries,
    }
    return [{"name": "acl-table-group-ingress", "stage": enum_value("AclStage.INGRESS"), "aclTables": [table]}]
