"""QoS of agent.conf, as the agent runs it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fabric.targets.fboss.schema import enum_value
from fabric.verify.qos_reading import Marking, QosReading, QueueReading, UnreadableError, Watchdog, digest

Json = Mapping[str, Any]
_QOS = ("qosPolicies", "portQueueConfigs", "defaultPortQueues", "dataPlaneTrafficPolicy")
_BUFFERS = ("portPgConfigs", "bufferPoolConfigs")


def read_fboss(content: bytes, ports: Sequence[str]) -> QosReading:
    """The reading of an agent.conf; `ports` are the fabric ports. Raises UnreadableError for what is no such file."""
    try:
        whole = json.loads(content)
        return _read(whole["sw"], ports)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise UnreadableError(f"agent.conf is not understood: {type(error).__name__} at {str(error)[:60]!r}") from error


def _read(sw: Json, ports: Sequence[str]) -> QosReading:
    qos = _policy(sw)
    rows = {row.get("name"): row for row in sw["ports"]}
    mine = {port: rows[port] for port in ports if port in rows}
    kinds = Counter(_kind(row) for row in mine.values() if _has_pfc(row))
    groups = {name: {group["id"]: group for group in found} for name, found in sw.get("portPgConfigs", {}).items()}
    good = {name for name in groups if _protects(groups[name])}
    queue_names = Counter(row.get("portQueueConfigName") for row in mine.values())
    queues = queue_names.most_common(1)[0][0] if queue_names else None
    bare = [port for port in ports if port not in mine or not _whole(mine[port], good, queues)]
    mtu = {row.get("vlanID"): row.get("mtu", 0) for row in sw.get("interfaces", ())}
    lossless = {
        group for name in {_kind(row) for row in mine.values()} if name in groups for group, row in groups[name].items()
        if row.get("headroomLimitBytes", 0)
    }  # fmt: skip
    return QosReading(
        dscp={int(dscp): row["internalTrafficClass"] for row in qos.get("dscpMaps", ()) for dscp in row["fromDscpToTrafficClass"]},
        queue_of=_ints(qos.get("trafficClassToQueueId", {})),
        groups=_ints(qos.get("trafficClassToPgId", {})),
        lossless=frozenset(
            int(priority) for priority, group in qos.get("pfcPriorityToPgId", {}).items() if kinds and group in lossless
        ),
        queues={row["id"]: _queue(row) for row in sw.get("portQueueConfigs", {}).get(queues, ())},
        watchdogs=_watchdogs(mine),
        bare=tuple(bare),
        mtus={port: int(mtu.get(row.get("ingressVlan"), 0)) for port, row in mine.items()},
        qos_hash=digest(_text(sw, _QOS)),
        buffers_hash=digest(_text(sw, _BUFFERS)),
    )  # fmt: skip


def _policy(sw: Json) -> Json:
    """The QoS map that ports use: that of the default policy, the first one when none is named."""
    policies = {row.get("name"): row for row in sw.get("qosPolicies", ())}
    name = (sw.get("dataPlaneTrafficPolicy") or {}).get("defaultQosPolicy")
    chosen: Json = policies.get(name) or next(iter(policies.values()), {})
    found: Json = chosen.get("qosMap", {})
    return found


def _ints(mapping: Json) -> dict[int, int]:
    return {int(key): int(value) for key, value in mapping.items()}


def _kind(row: Json) -> str:
    return str((row.get("pfc") or {}).get("portPgConfigName", ""))


def _has_pfc(row: Json) -> bool:
    pfc = row.get("pfc") or {}
    return bool(pfc.get("tx")) and bool(pfc.get("rx"))


def _protects(groups: Mapping[int, Json]) -> bool:
    return any(group.get("headroomLimitBytes", 0) for group in groups.values())


def _whole(row: Json, good: set[str], queues: str | None) -> bool:
    return _has_pfc(row) and _kind(row) in good and queues is not None and row.get("portQueueConfigName") == queues


def _queue(row: Json) -> QueueReading:
    strict = row.get("scheduling") == enum_value("QueueScheduling.STRICT_PRIORITY")
    ecn: Marking | None = None
    for aqm in row.get("aqms", ()):
        if aqm.get("behavior") == enum_value("QueueCongestionBehavior.ECN"):
            linear = aqm["detection"]["linear"]
            ecn = Marking(linear["minimumLength"], linear["maximumLength"], linear.get("probability", 100))
    return QueueReading(strict, None if strict else row.get("weight"), ecn)


def _watchdogs(mine: Mapping[str, Json]) -> dict[str, Watchdog | None]:
    """The watchdog that most ports have, and each port that has another one."""
    found = {port: _watchdog((row.get("pfc") or {}).get("watchdog")) for port, row in mine.items()}
    if not found:
        return {}
    common = Counter(found.values()).most_common(1)[0][0]
    return {"of the ports": common, **{f"of {port}": dog for port, dog in found.items() if dog != common}}


def _watchdog(row: Json | None) -> Watchdog | None:
    if row is None:
        return None
    drops = row.get("recoveryAction") == enum_value("PfcWatchdogRecoveryAction.DROP")
    return Watchdog(row["detectionTimeMsecs"], row["recoveryTimeMsecs"], "drop" if drops else "none")


def _text(sw: Json, keys: Sequence[str]) -> list[str]:
    return [f"{key} {json.dumps(sw.get(key), sort_keys=True)}" for key in keys]
