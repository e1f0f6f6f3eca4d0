"""What FBOSS refuses or silently drops of queues, QoS and the CPU policy (reference: fboss.md 12.4 and 12.6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from fabric.targets.fboss.problem import Problem, join
from fabric.targets.fboss.refusals_base import (
    Json,
    Rule,
    View,
    has,
    items,
    member,
    named_lists,
    number,
    rows,
    text,
    twice,
)
from fabric.targets.fboss.schema import enum_value

_DSCPS = range(64)
_PRIORITIES = range(8)


def queues(view: View) -> Iterator[Problem]:
    """All lists of queues: of ports (by name and default) and of the CPU."""
    sw, asic = view.sw, view.asic
    unicast, multicast = enum_value("StreamType.UNICAST"), enum_value("StreamType.MULTICAST")
    for _, path, found in named_lists(sw, "portQueueConfigs", "sw.portQueueConfigs"):
        yield from _queue_list(view, path, found, asic.port_queues, unicast)
    yield from _queue_list(view, "sw.defaultPortQueues", items(sw, "defaultPortQueues"), asic.port_queues, unicast)
    yield from _queue_list(view, "sw.cpuQueues", items(sw, "cpuQueues"), asic.cpu_queues, multicast)


def _queue_list(view: View, path: str, found: list[Json], limit: int, stream: int) -> Iterator[Problem]:
    pools = member(view.sw, "bufferPoolConfigs")
    ids = []
    for at, queue in enumerate(found):
        place, number_ = f"{path}[{at}]", number(queue, "id")
        if not 0 <= number_ < limit:
            yield Problem(f"{place}.id", f"queue {number_}: this kind of port has queues 0..{limit - 1}")
        if number(queue, "streamType") != stream:
            message = f"queues here have streamType {stream}: another one is ignored"
            yield Problem(f"{place}.streamType", message, "silent")
        else:
            ids.append((f"{place}.id", number_))
        if has(queue, "bufferPoolName") and queue["bufferPoolName"] not in pools:
            yield Problem(f"{place}.bufferPoolName", f"{queue['bufferPoolName']!r} is not in bufferPoolConfigs")
        if has(queue, "aqms"):
            yield from _aqms(place, queue)
    yield from twice(ids, lambda queue: f"queue {queue} is listed twice: the first one wins", "silent")


def _aqms(path: str, queue: Json) -> Iterator[Problem]:
    ecn = enum_value("QueueCongestionBehavior.ECN")
    behaviours = []
    for place, aqm in rows(queue, "aqms", f"{path}.aqms"):
        behaviour = number(aqm, "behavior")
        behaviours.append((f"{place}.behavior", behaviour))
        linear = member(member(aqm, "detection"), "linear")
        if not has(member(aqm, "detection"), "linear"):
            yield Problem(f"{place}.detection", "a detection method is needed")
        elif behaviour == ecn and not 1 <= number(linear, "probability", 100) <= 100:
            yield Problem(f"{place}.detection.linear.probability", "ECN takes a probability of 1..100")
    yield from twice(behaviours, lambda behaviour: f"two entries with behaviour {behaviour}")


def qos_policies(view: View) -> Iterator[Problem]:
    """Names, DSCP coverage, priorities and PGs of every QoS policy."""
    found = list(rows(view.sw, "qosPolicies", "sw.qosPolicies"))
    names = [(f"{path}.name", text(policy, "name")) for path, policy in found]
    yield from twice(names, lambda name: f"QoS policy {name!r} is declared twice")
    for path, policy in found:
        for place, rule in rows(policy, "rules", f"{path}.rules"):
            dscps = items(rule, "dscp")
            if not dscps:
                yield Problem(f"{place}.dscp", "must not be empty")
            yield from _outside(f"{place}.dscp", dscps)
        if has(policy, "qosMap"):
            yield from _qos_map(f"{path}.qosMap", policy["qosMap"])


def _outside(path: str, dscps: list[int]) -> Iterator[Problem]:
    for at, dscp in enumerate(dscps):
        if dscp not in _DSCPS:
            yield Problem(f"{path}[{at}]", f"DSCP {dscp} is outside 0..63")


def _qos_map(path: str, qos: Json) -> Iterator[Problem]:
    mapped: set[int] = set()
    for place, entry in rows(qos, "dscpMaps", f"{path}.dscpMaps"):
        dscps = items(entry, "fromDscpToTrafficClass")
        yield from _outside(f"{place}.fromDscpToTrafficClass", dscps)
        mapped.update(dscps)
    missing = [dscp for dscp in _DSCPS if dscp not in mapped]
    if items(qos, "dscpMaps") and missing:
        some = ", ".join(map(str, missing[:8])) + (", ..." if missing[8:] else "")
        yield Problem(f"{path}.dscpMaps", f"all 64 DSCPs must be mapped: {len(missing)} are not ({some})")
    for key in ("pfcPriorityToQueueId", "pfcPriorityToPgId"):
        for priority in member(qos, key):
            if int(priority) not in _PRIORITIES:
                yield Problem(join(f"{path}.{key}", priority), f"PFC priority {priority} is outside 0..7")
    for key in ("trafficClassToPgId", "pfcPriorityToPgId"):
        for source, group in member(qos, key).items():
            if group not in _PRIORITIES:
                yield Problem(join(f"{path}.{key}", source), f"priority group {group} is outside 0..7")


def policy_names(view: View) -> Iterator[Problem]:
    """Traffic policies name QoS policies that exist, and the data-plane default maps traffic to queues."""
    known = {text(policy, "name"): policy for policy in items(view.sw, "qosPolicies")}
    data, path = member(view.sw, "dataPlaneTrafficPolicy"), "sw.dataPlaneTrafficPolicy"
    cpu = member(member(view.sw, "cpuTrafficPolicy"), "trafficPolicy")
    named = [(f"{path}.defaultQosPolicy", data.get("defaultQosPolicy"))]
    named += [(join(f"{path}.portIdToQosPolicy", key), name) for key, name in member(data, "portIdToQosPolicy").items()]
    named.append(("sw.cpuTrafficPolicy.trafficPolicy.defaultQosPolicy", cpu.get("defaultQosPolicy")))
    for place, name in named:
        if name is not None and name not in known:
            yield Problem(place, f"there is no QoS policy {name!r}")
    default = data.get("defaultQosPolicy")
    if default in known and not _maps_to_queues(known[default]):
        yield Problem(f"{path}.defaultQosPolicy", f"{default!r} needs a DSCP or PCP map and trafficClassToQueueId")


def _maps_to_queues(policy: Json) -> bool:
    qos = member(policy, "qosMap")
    if not qos:
        return bool(items(policy, "rules"))
    marked = items(qos, "dscpMaps") or items(qos, "pcpMaps") or items(policy, "rules")
    return bool(marked and (member(qos, "trafficClassToQueueId") or items(policy, "rules")))


def rx_reasons(view: View) -> Iterator[Problem]:
    """TTL_0 and TTL_1 exclude each other in the CPU policy."""
    path = "sw.cpuTrafficPolicy.rxReasonToQueueOrderedList"
    reasons = {
        number(row, "rxReason") for row in items(member(view.sw, "cpuTrafficPolicy"), "rxReasonToQueueOrderedList")
    }
    if {enum_value("PacketRxReason.TTL_0"), enum_value("PacketRxReason.TTL_1")} <= reasons:
        yield Problem(path, "holds both TTL_0 and TTL_1")


def lossless_pgs(view: View) -> dict[str, set[int]]:
    """PG configuration name -> its lossless PGs (those with headroom)."""
    return {
        name: {number(group, "id") for group in found if number(group, "headroomLimitBytes")}
        for name, _, found in named_lists(view.sw, "portPgConfigs", "sw.portPgConfigs")
    }


def pfc_effect(view: View) -> Iterator[Problem]:
    """PFC that is on and does nothing: no PG configuration, or none of its PGs has headroom."""
    lossless = lossless_pgs(view)
    for path, port in view.ports:
        found = member(port, "pfc")
        if not (found.get("tx") or found.get("rx")):
            continue
        name = text(found, "portPgConfigName")
        if not name:
            yield Problem(f"{path}.pfc", "PFC is on without a portPgConfigName: no priority is enabled", "silent")
        elif name in lossless and not lossless[name]:
            message = f"no PG of {name!r} has headroom: no PFC priority is enabled"
            yield Problem(f"{path}.pfc.portPgConfigName", message, "silent")


def lossless_queues(view: View) -> Iterator[Problem]:
    """The priority that pauses a lossless PG pauses the queue that its traffic class uses."""
    lossless: set[int] = set().union(*lossless_pgs(view).values())
    for path, policy in rows(view.sw, "qosPolicies", "sw.qosPolicies"):
        qos = member(policy, "qosMap")
        if not has(qos, "pfcPriorityToQueueId"):
            continue
        paused = member(qos, "pfcPriorityToQueueId")
        for priority, group in member(qos, "pfcPriorityToPgId").items():
            used = _queues_of(qos, group)
            if group in lossless and used and paused.get(priority) not in used:
                what = f"queue {paused[priority]}" if has(paused, priority) else "no queue"
                uses = ", ".join(map(str, sorted(used)))
                message = f"priority {priority} pauses {what}, but the traffic of lossless PG {group} uses queue {uses}"
                yield Problem(join(f"{path}.qosMap.pfcPriorityToQueueId", priority), message, "silent")


def _queues_of(qos: Json, group: int) -> set[int]:
    to_queue = member(qos, "trafficClassToQueueId")
    classes: Iterable[str] = (cls for cls, pg in member(qos, "trafficClassToPgId").items() if pg == group)
    return {to_queue[cls] for cls in classes if has(to_queue, cls)}


def watchdog_times(view: View) -> Iterator[Problem]:
    """Watchdog times that the hardware rounds (a 4-bit timer; fboss.md section 6)."""
    granularity = member(view.sw, "switchSettings").get("pfcWatchdogTimerGranularityMsec")
    place = "sw.switchSettings.pfcWatchdogTimerGranularityMsec"
    if granularity is not None and granularity not in _GRANULARITIES:
        yield Problem(place, f"{granularity} is not 1, 10 or 100", "silent")
        return
    asic = view.asic
    seen: Counter[tuple[int, int]] = Counter()
    for path, port in view.ports:
        watchdog = member(member(port, "pfc"), "watchdog")
        times = number(watchdog, "detectionTimeMsecs"), number(watchdog, "recoveryTimeMsecs")
        seen[times] += 1
        if not watchdog or seen[times] > 1:  # one message a pair of times is enough
            continue
        real = _detection(times[0], granularity)
        if real != times[0]:
            message = f"{times[0]} ms becomes {real} ms in the hardware"
            yield Problem(f"{path}.pfc.watchdog.detectionTimeMsecs", message, "silent")
        step, most = asic.watchdog_recovery_step_ms, asic.watchdog_recovery_max_ms
        if step and (times[1] % step or not step <= times[1] <= most):
            message = f"{asic.name} takes {step}..{most} ms in steps of {step}, not {times[1]}"
            yield Problem(f"{path}.pfc.watchdog.recoveryTimeMsecs", message, "silent")


_GRANULARITIES = (1, 10, 100)
_TIMER_STEPS = 15


def _detection(asked: int, granularity: int | None) -> int:
    if granularity is None:
        granularity = next((g for g in _GRANULARITIES if g * _TIMER_STEPS >= asked), _GRANULARITIES[-1])
    return min(granularity * (asked // granularity), _TIMER_STEPS * granularity)


RULES: tuple[Rule, ...] = (
    queues,
    qos_policies,
    policy_names,
    rx_reasons,
    pfc_effect,
    lossless_queues,
    watchdog_times,
)
"""The rules of this module, in the order in which their problems are reported."""
