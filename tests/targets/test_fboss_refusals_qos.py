"""Every refusal of queues, QoS and PFC: the minimal configuration, one change, the expected problem."""

from __future__ import annotations

import pytest

from tests.targets.fboss_minimal import DELETE, Row, assert_problem, row, silent

SET = "sw.switchSettings"
PORT = "sw.ports.0"
QOS = "sw.qosPolicies.0.qosMap"
PG = "sw.portPgConfigs.pgs.1"


QUEUES = [
    row(
        "sw.portQueueConfigs.queues.0.id",
        "queue 8: this kind of port has queues 0..7",
        ("sw.portQueueConfigs.queues.0.id", 8),
    ),
    row("sw.defaultPortQueues.0.id", "queue -1", ("sw.defaultPortQueues", [{"id": -1}])),
    row("sw.cpuQueues.0.id", "queue 10: this kind of port has queues 0..9", ("sw.cpuQueues.0.id", 10)),
    silent("sw.cpuQueues.0.streamType", "have streamType 1", ("sw.cpuQueues.0.streamType", 0)),
    silent(
        "sw.portQueueConfigs.queues.0.streamType", "have streamType 0", ("sw.portQueueConfigs.queues.0.streamType", 1)
    ),
    silent("sw.portQueueConfigs.queues.1.id", "queue 0 is listed twice", ("sw.portQueueConfigs.queues.1.id", 0)),
    row("sw.cpuQueues.0.bufferPoolName", "'x' is not in bufferPoolConfigs", ("sw.cpuQueues.0.bufferPoolName", "x")),
    row(
        "sw.portQueueConfigs.queues.1.aqms.0.detection",
        "method is needed",
        ("sw.portQueueConfigs.queues.1.aqms.0.detection", DELETE),
    ),
    row(
        "sw.portQueueConfigs.queues.1.aqms.1.behavior",
        "two entries with behaviour 1",
        ("sw.portQueueConfigs.queues.1.aqms.+", {"detection": {"linear": {}}, "behavior": 1}),
    ),
    *(
        row(
            "sw.portQueueConfigs.queues.1.aqms.0.detection.linear.probability",
            "1..100",
            ("sw.portQueueConfigs.queues.1.aqms.0.detection.linear.probability", bad),
        )
        for bad in (0, 101)
    ),
    row("sw.qosPolicies.1.name", "'qos' is declared twice", ("sw.qosPolicies.+", {"name": "qos"})),
    row("sw.qosPolicies.0.rules.0.dscp", "must not be empty", ("sw.qosPolicies.0.rules", [{"queueId": 1}])),
    row("sw.qosPolicies.0.rules.0.dscp.0", "DSCP 64", ("sw.qosPolicies.0.rules", [{"dscp": [64]}])),
    row(f"{QOS}.pfcPriorityToQueueId.8", "PFC priority 8", (f"{QOS}.pfcPriorityToQueueId.8", 0)),
    row(f"{QOS}.pfcPriorityToPgId.8", "PFC priority 8", (f"{QOS}.pfcPriorityToPgId.8", 0)),
    row(f"{QOS}.pfcPriorityToPgId.0", "priority group 8", (f"{QOS}.pfcPriorityToPgId.0", 8)),
    row(f"{QOS}.trafficClassToPgId.0", "priority group -1", (f"{QOS}.trafficClassToPgId.0", -1)),
    row(f"{QOS}.dscpMaps.1.fromDscpToTrafficClass.0", "DSCP 64", (f"{QOS}.dscpMaps.1.fromDscpToTrafficClass.0", 64)),
    row(
        f"{QOS}.dscpMaps",
        "all 64 DSCPs must be mapped: 10 are not (50, 51, 52, 53, 54, 55, 56, 57, ...)",
        (f"{QOS}.dscpMaps.1", DELETE),
    ),
    row(
        "sw.dataPlaneTrafficPolicy.defaultQosPolicy",
        "no QoS policy 'x'",
        ("sw.dataPlaneTrafficPolicy.defaultQosPolicy", "x"),
    ),
    row(
        "sw.dataPlaneTrafficPolicy.portIdToQosPolicy.1",
        "no QoS policy 'x'",
        ("sw.dataPlaneTrafficPolicy.portIdToQosPolicy", {"1": "x"}),
    ),
    row(
        "sw.cpuTrafficPolicy.trafficPolicy.defaultQosPolicy",
        "no QoS policy 'x'",
        ("sw.cpuTrafficPolicy.trafficPolicy.defaultQosPolicy", "x"),
    ),
    row("sw.dataPlaneTrafficPolicy.defaultQosPolicy", "needs a DSCP or PCP map", (f"{QOS}.trafficClassToQueueId", {})),
    row("sw.dataPlaneTrafficPolicy.defaultQosPolicy", "needs a DSCP or PCP map", (f"{QOS}.dscpMaps", [])),
    row(
        "sw.cpuTrafficPolicy.rxReasonToQueueOrderedList",
        "TTL_0 and TTL_1",
        ("sw.cpuTrafficPolicy.rxReasonToQueueOrderedList.+", {"rxReason": 19}),
    ),
    silent(f"{PORT}.pfc", "PFC is on without a portPgConfigName", (f"{PORT}.pfc", {"rx": True})),
    silent(f"{PORT}.pfc.portPgConfigName", "no PG of 'lossy' has headroom", (f"{PORT}.pfc.portPgConfigName", "lossy")),
    silent(
        f"{QOS}.pfcPriorityToQueueId.2",
        "priority 2 pauses queue 3, but the traffic of lossless PG 2 uses queue 2",
        (f"{QOS}.pfcPriorityToQueueId.2", 3),
    ),
    silent(f"{QOS}.pfcPriorityToQueueId.2", "priority 2 pauses no queue", (f"{QOS}.pfcPriorityToQueueId.2", DELETE)),
    silent(
        f"{SET}.pfcWatchdogTimerGranularityMsec", "5 is not 1, 10 or 100", (f"{SET}.pfcWatchdogTimerGranularityMsec", 5)
    ),
    silent(
        f"{PORT}.pfc.watchdog.detectionTimeMsecs",
        "150 ms becomes 100 ms",
        (f"{SET}.pfcWatchdogTimerGranularityMsec", 100),
    ),
    silent(
        f"{PORT}.pfc.watchdog.detectionTimeMsecs",
        "155 ms becomes 100 ms",
        (f"{PORT}.pfc.watchdog.detectionTimeMsecs", 155),
    ),
    silent(
        f"{PORT}.pfc.watchdog.detectionTimeMsecs", "150 ms becomes 15 ms", (f"{SET}.pfcWatchdogTimerGranularityMsec", 1)
    ),
]


@pytest.mark.parametrize("case", [*QUEUES])
def test_one_change_one_problem(case: Row) -> None:
    assert_problem(case)
