"""The smallest configurations that FBOSS and BGP++ take, for tests that break one thing in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fabric.targets.fboss.inventory import PortEntry, PortInventory
from fabric.targets.fboss.refusals_agent import check_agent

Json = dict[str, Any]
DELETE = object()


def minimal_agent() -> Json:
    """Two enabled ports (1 and 5) on VLANs 2001 and 4001, one lossless PG, queues, a mirror, an ACL; native (no saiSdk)."""
    return {
        "defaultCommandLineArgs": {"enable_acl_table_group": "true", "flowletSwitchingEnable": "true"},
        "sw": {
            "ports": [_port(1, "eth1/1/1", 2001), _port(5, "eth1/2/1", 4001)],
            "vlans": [{"id": vlan, "name": f"vlan{vlan}"} for vlan in (2001, 4001, 4094)],
            "vlanPorts": [{"vlanID": 2001, "logicalPort": 1}, {"vlanID": 4001, "logicalPort": 5}],
            "defaultVlan": 4094,
            "interfaces": [
                {"intfID": 2001, "vlanID": 2001, "ipAddresses": ["10.0.0.0/31", "fe80::1/64"], "ndp": {}},
                {"intfID": 4001, "vlanID": 4001, "ipAddresses": ["10.1.0.0/31", "fe80::1/64"]},
            ],
            "switchSettings": {
                "switchIdToSwitchInfo": {
                    "0": {"switchType": 0, "asicType": 5, "portIdRange": {"minimum": 0, "maximum": 2047}}
                }
            },
            "qosPolicies": [{"name": "qos", "rules": [], "qosMap": _qos_map()}],
            "portQueueConfigs": {"queues": [{"id": 0, "aqms": []}, {"id": 2, "aqms": [_ecn()]}]},
            "cpuQueues": [{"id": 9, "streamType": 1}],
            "portPgConfigs": {"pgs": [_group(0, 0), _group(2, 2540)], "lossy": [_group(0, 0)]},
            "bufferPoolConfigs": {"pool": {"sharedBytes": 254000, "headroomBytes": 25400}},
            "dataPlaneTrafficPolicy": {
                "defaultQosPolicy": "qos",
                "matchToAction": [{"matcher": "roce", "action": {"counter": "roce", "flowletAction": 1}}],
            },
            "cpuTrafficPolicy": {
                "trafficPolicy": {"defaultQosPolicy": "qos"},
                "rxReasonToQueueOrderedList": [{"rxReason": 6, "queueId": 0}],
            },
            "trafficCounters": [{"name": "roce"}],
            "aclTableGroups": [
                {
                    "name": "group",
                    "stage": 0,
                    "aclTables": [{"name": "table", "aclEntries": [{"name": "roce", "proto": 17}]}],
                }
            ],
            "udfConfig": {
                "udfGroups": {"qp": {"name": "qp", "header": 3, "udfPacketMatcherIds": ["udp"], "type": 0}},
                "udfPacketMatcher": {"udp": {"name": "udp"}},
            },
            "loadBalancers": [{"id": 1, "algorithm": 1, "fieldSelection": {"udfGroups": ["qp"]}}],
            "flowletSwitchingConfig": {"switchingMode": 0},
            "portFlowletConfigs": {"flowlet": {"scalingFactor": 10}},
            "mirrors": [
                {
                    "name": "sflow",
                    "destination": {"tunnel": {"sflowTunnel": {"ip": "192.0.2.1", "udpSrcPort": 1, "udpDstPort": 2}}},
                }
            ],
        },
    }


def _port(logical: int, name: str, vlan: int) -> Json:
    return {
        "logicalID": logical,
        "name": name,
        "state": 2,
        "speed": 200000,
        "profileID": 24,
        "ingressVlan": vlan,
        "pause": {"tx": False, "rx": False},
        "pfc": {
            "tx": True,
            "rx": True,
            "portPgConfigName": "pgs",
            "watchdog": {"detectionTimeMsecs": 150, "recoveryTimeMsecs": 400, "recoveryAction": 0},
        },
        "portQueueConfigName": "queues",
    }


def _ecn() -> Json:
    return {"detection": {"linear": {"minimumLength": 1, "maximumLength": 2}}, "behavior": 1}


def _group(number: int, headroom: int) -> Json:
    return {"id": number, "bufferPoolName": "pool", "headroomLimitBytes": headroom}


def _qos_map() -> Json:
    rdma = [*range(50, 60)]
    return {
        "dscpMaps": [
            {"internalTrafficClass": 0, "fromDscpToTrafficClass": [dscp for dscp in range(64) if dscp not in rdma]},
            {"internalTrafficClass": 2, "fromDscpToTrafficClass": rdma},
        ],
        "trafficClassToQueueId": {"0": 0, "2": 2},
        "trafficClassToPgId": {"0": 0, "2": 2},
        "pfcPriorityToPgId": {"0": 0, "2": 2},
        "pfcPriorityToQueueId": {"0": 0, "2": 2},
    }


def minimal_inventory() -> PortInventory:
    """A made-up box: ports 1..8, two profiles; profile 35 of port 1 subsumes 2, of port 5 overlaps 6."""
    ports = {logical: PortEntry(f"eth1/{logical}/9", {22: (), 24: ()}) for logical in (2, 3, 6, 7)}
    ports[1] = PortEntry("eth1/1/1", {22: (), 24: (), 35: (2,)}, core=0, first_lane=0)
    ports[5] = PortEntry("eth1/2/1", {22: (), 24: (), 35: ()}, {35: (6,)}, core=1, first_lane=4)
    return PortInventory("testbox", ports, {22: 100000, 24: 200000, 35: 400000, 26: 400000})


def minimal_bgp() -> Json:
    """One peer of one group, one network, one policy with every kind of list."""
    return {
        "router_id": "10.0.0.1",
        "local_as_4_byte": 4200000001,
        "networks4": [{"prefix": "10.0.0.0/24"}],
        "networks6": [],
        "peer_groups": [
            {
                "name": "UP",
                "ingress_policy_name": "IN",
                "bgp_peer_timers": {"hold_time_seconds": 30, "keep_alive_seconds": 10, "out_delay_seconds": 0},
                "remote_as_4_byte": 4200000002,
                "pre_filter": {"max_routes": 100, "warning_limit": 90},
            }
        ],
        "peers": [
            {
                "peer_group_name": "UP",
                "peer_addr": "2001:db8::",
                "local_addr": "2001:db8::1",
                "next_hop4": "10.0.0.1",
                "next_hop6": "2001:db8::1",
            }
        ],
        "policies": {
            "bgp_policy_statements": [{"name": "IN", "policy_entries": [_term(), {"name": "rest"}]}],
            "prefix_lists": [{"name": "POOLS", "prefixes": [{"base_prefix": "10.0.0.0/8"}]}],
            "community_lists": [{"name": "TAGS", "communities": ["1:1"]}],
            "aspath_lists": [{"name": "PATHS"}],
        },
    }


def _term() -> Json:
    return {
        "name": "fabric",
        "policy_match_entries": {
            "match_entries": [
                {"type": 5, "prefix_filters": {"prefix_list_names": ["POOLS"]}},
                {"type": 3, "communities_filter": {"community_list_names": ["TAGS"]}},
            ]
        },
        "policy_action_entries": [
            {"type": 2, "community_action": {"action_type": 1, "communities": ["1:2"]}},
            {"type": 5},
        ],
    }


Change = tuple[str, object]
"""A dotted place (list positions as numbers, "+" = append) and the new value there, or DELETE."""


def changed(conf: Json, changes: Iterable[Change]) -> Json:
    """`conf` after the changes (a copy)."""
    conf = json.loads(json.dumps(conf))
    for place, value in changes:
        *parents, last = place.split(".")
        holder: Any = conf
        for step in parents:
            holder = holder[int(step)] if isinstance(holder, list) else holder.setdefault(step, {})
        if isinstance(holder, list) and last == "+":
            holder.append(value)
        elif value is DELETE:
            del holder[int(last) if isinstance(holder, list) else last]
        else:
            holder[int(last) if isinstance(holder, list) else last] = value
    return conf


def reference_inventory(folder: Path, name: str) -> PortInventory:
    """A port inventory of the reference folder, such as "ports-wedge400.json"."""
    raw = json.loads((folder / "fboss" / name).read_text(encoding="utf-8"))
    ids = {port["name"]: port["id"] for port in raw["ports"]}
    ports = {port["id"]: _entry(port, ids) for port in raw["ports"]}
    return PortInventory(raw["platform"], ports, {int(pid): row["speedMbps"] for pid, row in raw["profiles"].items()})


def _entry(port: Json, ids: Mapping[str, int]) -> PortEntry:
    overlaps = port.get("laneOverlapNotDeclaredAsSubsumed", {})
    return PortEntry(
        name=port["name"],
        profiles={int(pid): tuple(row.get("subsumes", ())) for pid, row in port["profiles"].items()},
        overlaps={int(pid): tuple(ids[name] for name in names) for pid, names in overlaps.items()},
        core=int(port["core"].removeprefix("BC")),
        first_lane=min(lane for row in port["profiles"].values() for lane in row["lanes"]),
    )


Row = tuple[list[Change], str, str, str]
"""Changes to the minimal agent.conf, and the problem that they make: dotted place, part of the message, level."""


def row(path: str, message: str, *changes: Change, level: str = "error") -> Row:
    """A row of a table of refusals."""
    return list(changes), path, message, level


def silent(path: str, message: str, *changes: Change) -> Row:
    """A row of what FBOSS takes and does not do."""
    return row(path, message, *changes, level="silent")


def assert_problem(case: Row) -> None:
    """The minimal agent.conf with the changes of the row has that problem, at exactly that place."""
    changes, path, message, level = case
    conf = changed(minimal_agent(), changes)
    found = check_agent(conf, minimal_inventory(), "TOMAHAWK3")
    place = bracketed(conf, path)
    assert any(p.path == place and message in p.message and p.level == level for p in found), (place, found)


def bracketed(conf: Json, place: str) -> str:
    """A dotted place as a problem's path: `[n]` behind a list."""
    made = ""
    holder: Any = conf
    for step in place.split("."):
        made += f"[{step}]" if isinstance(holder, list) else f".{step}" if made else step
        try:
            holder = holder[int(step)] if isinstance(holder, list) else holder[step]
        except (KeyError, IndexError, TypeError):
            holder = {}
    return made
