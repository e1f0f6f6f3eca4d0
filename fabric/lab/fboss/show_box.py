"""`fboss2 show product|agent boot-type|hw-agent|config running agent` and `fboss2-dev config applied-info` (device-answers.md B7, B9)."""

from __future__ import annotations

import json
from typing import Any

from fabric.lab.fboss.box import Box
from fabric.lab.fboss.node import FRUID

Json = dict[str, Any]

_SYNC = (
    "linkSyncActive", "linkActiveSyncActive", "statsSyncActive", "fdbSyncActive", "rxPktSyncActive", "txPktSyncActive",
    "switchReachabilityChangeSyncActive",
)  # fmt: skip
_EVENTS = (
    "linkEventsSent", "linkEventsReceived", "txPktEventsReceived", "txPktEventsSent", "rxPktEventsSent", "rxPktEventsReceived",
    "fdbEventsSent", "fdbEventsReceived", "switchReachabilityChangeEventsSent", "switchReachabilityChangeEventsReceived",
    "HwSwitchStatsEventsSent", "HwSwitchStatsEventsReceived",
)  # fmt: skip


def product(box: Box, _words: list[str]) -> Json:
    """`show product`, from fruid.json."""
    try:
        found = json.loads(box.node.path(FRUID).read_text(encoding="utf-8"))["Information"]
    except (OSError, ValueError, KeyError, TypeError):
        found = {}
    return {
        "product": str(found.get("Product Name", "")),
        "oem": str(found.get("System Manufacturer", "")),
        "serial": str(found.get("Product Serial Number", "")),
    }


def boot_type(box: Box, _words: list[str]) -> Json:
    """`show agent boot-type`."""
    kind = box.state.get("bootType", "UNINITIALIZED")
    if not box.node.split:
        return {"bootTypeEntries": [{"agentName": "wedge_agent", "bootType": kind}]}
    hardware = {"agentName": "hw_agent", "switchIndex": 0, "bootType": kind}
    return {"bootTypeEntries": [{"agentName": "sw_agent", "bootType": kind}, hardware]}


def hw_agent(box: Box, _words: list[str]) -> Json:
    """`show hw-agent`."""
    _ = box.state  # nobody answers when the agent is down
    entry = {
        "switchIndex": 0,
        "switchId": 0,
        "runState": "CONFIGURED",
        **dict.fromkeys(_SYNC, 1),
        **dict.fromkeys(_EVENTS, 0),
    }
    return {"hwAgentStatusEntries": [entry]}


def running_agent(box: Box, _words: list[str]) -> Json:
    """`show config running agent`: what the agent has in force."""
    found: Json = box.state["conf"]
    return found


def applied_info(box: Box, _words: list[str]) -> Json:
    """`config applied-info`."""
    made = {"lastAppliedInMs": box.state["lastAppliedInMs"]}
    if "lastColdbootAppliedInMs" in box.state:
        made["lastColdbootAppliedInMs"] = box.state["lastColdbootAppliedInMs"]
    return made
