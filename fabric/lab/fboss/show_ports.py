"""`fboss2 show interface|port|transceiver ...` in FBOSS's models (device-answers.md B4).

Counters are the kernel's; there is no PFC, no queue and no FEC below, so that those counters are 0 and optics are made up.
"""

from __future__ import annotations

from typing import Any

from fabric.lab.fboss import client
from fabric.lab.fboss.box import Box
from fabric.lab.fboss.desired import canonical
from fabric.lab.fboss.kernel import LinkState

Json = dict[str, Any]

_QUEUES = 8  # unicast queues of a front-panel port: fboss.md section 12.1
_DASH = "--"
_HOP_COUNTS = ("oneMinute", "tenMinute", "oneHour", "totalFlaps", "totalLinkFaults")


def speed(port: Json) -> str:
    """`400G`."""
    return f"{port.get('speed', 0) // 1000}G"


def _status(link: LinkState) -> str:
    return "up" if link.carrier else "down"


def interfaces(box: Box, names: list[str]) -> Json:
    """`show interface`."""
    rows = []
    for port in box.ports(names):
        svi, link = box.homes.get(port["logicalID"], {}), box.link(port)
        addresses = [canonical(text) for text in svi.get("ipAddresses", [])] + [
            f"{text}/64" for text in link.link_local
        ]
        row: Json = {
            "name": port.get("name", ""),
            "description": port.get("description", ""),
            "status": _status(link),
            "speed": speed(port),
            "vlan": port.get("ingressVlan") or port["logicalID"],
        }
        if svi:
            row["mtu"] = svi.get("mtu") or 1500
        row["prefixes"] = [
            {"ip": text.partition("/")[0], "prefixLength": int(text.partition("/")[2])} for text in addresses
        ]
        rows.append(
            {**row, "systemPortId": 0, "ips": [], "portType": port.get("portType", 0), "scope": port.get("scope", 0)}
        )
    return {"interfaces": rows}


def status(box: Box, names: list[str]) -> Json:
    """`show interface status`; needs qsfp_service."""
    _need_qsfp(box)
    rows = []
    for port in box.ports(names):
        present = port.get("name") in box.node.ports
        rows.append(
            {
                "name": port.get("name", ""),
                "description": port.get("description", ""),
                "status": _status(box.link(port)),
                "vlan": port.get("ingressVlan") or port["logicalID"],
                "speed": speed(port),
                "vendor": "fabric lab" if present else "Not Present",
                "mpn": "VETH" if present else "Not Present",
            }
        )
    return {"interfaces": sorted(rows, key=lambda row: str(row["name"]))}


def counters(box: Box, names: list[str]) -> Json:
    """`show interface counters`: bytes and packets of the veth; the kernel does not tell broadcasts apart."""
    rows = []
    for port in box.ports(names):
        link = box.link(port)
        multicast = link.rx.get("multicast", 0)
        rows.append(
            {
                "interfaceName": port.get("name", ""),
                "inputBytes": link.rx.get("bytes", -1),
                "inputUcastPkts": link.rx["packets"] - multicast if link.rx else -1,
                "inputMulticastPkts": multicast if link.rx else -1,
                "inputBroadcastPkts": 0 if link.rx else -1,
                "outputBytes": link.tx.get("bytes", -1),
                "outputUcastPkts": link.tx.get("packets", -1),
                "outputMulticastPkts": 0 if link.tx else -1,
                "outputBroadcastPkts": 0 if link.tx else -1,
            }
        )
    return {"int_counters": rows}


def errors(box: Box, names: list[str]) -> Json:
    """`show interface errors`."""
    rows = []
    for port in box.ports(names):
        link = box.link(port)
        rows.append(
            {
                "interfaceName": port.get("name", ""),
                "inputErrors": link.rx.get("errors", -1),
                "inputDiscards": link.rx.get("dropped", -1),
                "outputErrors": link.tx.get("errors", -1),
                "outputDiscards": link.tx.get("dropped", -1),
            }
        )
    return {"error_counters": rows}


def flaps(box: Box, names: list[str]) -> Json:
    """`show interface flaps`: not counted here, always 0."""
    return {
        "flap_counters": [
            {"interfaceName": port.get("name", ""), **dict.fromkeys(_HOP_COUNTS, 0)} for port in box.ports(names)
        ]
    }


def ports(box: Box, names: list[str]) -> Json:
    """`show port`."""
    if not box.qsfp():
        box.notes.append("Cannot connect to qsfp_service")
    heard = {one.port: one for one in box.neighbours()}
    rows = [
        _port(box, at, port, heard) for at, port in enumerate(box.ports()) if not names or port.get("name") in names
    ]
    return {"portEntries": rows}


def _port(box: Box, at: int, port: Json, heard: dict[str, Any]) -> Json:
    from fabric.lab.fboss.bgp_policy import name_of

    name, link = port.get("name", ""), box.link(port)
    admin = name in box.state["opened"] or (port.get("state") == 2 and name not in box.state["shut"])
    pfc, pause = port.get("pfc"), port.get("pause") or {}
    flow = {"pfc": _flow(pfc) + (" WD" if pfc.get("watchdog") else "")} if pfc else {"pause": _flow(pause)}
    return {
        "id": port["logicalID"],
        "name": name,
        "adminState": "Enabled" if admin else "Disabled",
        "linkState": "Up" if link.carrier else "Down",
        "speed": speed(port),
        "profileId": name_of("PortProfileID", port.get("profileID", 0)),
        "tcvrID": at if box.qsfp() else 0,
        "tcvrPresent": ("Present" if name in box.node.ports else "Absent") if box.qsfp() else "",
        "hwLogicalPortId": port["logicalID"],
        "numUnicastQueues": _QUEUES,
        **flow,
        "hwPortStats": _stats(box, port, link),
        "queueIdToName": {str(queue["id"]): queue["name"] for queue in _queues(box, port) if queue.get("name")},
        "isDrained": "Yes" if port.get("drainState") else "No",
        "activeState": _DASH,
        "activeErrors": _cabling(port, heard.get(name)),
        "coreId": _DASH,
        "virtualDeviceId": _DASH,
        "peerSwitchDrained": _DASH,
        "peerPortDrainedOrDown": _DASH,
        "activeStateMismatch": False,
        "cableLengthMeters": _DASH,
    }


def _flow(found: Json) -> str:
    return " ".join(word for word, key in (("TX", "tx"), ("RX", "rx")) if found.get(key))


def _queues(box: Box, port: Json) -> list[Json]:
    found: list[Json] = (box.sw.get("portQueueConfigs") or {}).get(port.get("portQueueConfigName") or "") or []
    return found


def _stats(box: Box, port: Json, link: LinkState) -> Json:
    """All zero unless --detail was given, as on a switch."""
    rx, tx = (link.rx, link.tx) if box.detail else ({}, {})
    queues = {str(queue["id"]): 0 for queue in _queues(box, port)} if box.detail else {}
    pfc = {}
    if box.detail and port.get("pfc"):
        per = {str(prio): 0 for prio in _pfc_priorities(box)}
        pfc = {"outPfcPriorityPackets": per, "inPfcPriorityPackets": dict(per), "outPfcPackets": 0, "inPfcPackets": 0}
    return {
        "inUnicastPkts": rx.get("packets", 0),
        "inDiscardPkts": rx.get("dropped", 0),
        "inErrorPkts": rx.get("errors", 0),
        "outDiscardPkts": tx.get("dropped", 0),
        "outCongestionDiscardPkts": 0,
        "queueOutDiscardBytes": queues,
        "queueOutBytes": dict(queues),
        **pfc,
        "ingressBytes": rx.get("bytes", 0),
        "egressBytes": tx.get("bytes", 0),
        "inCongestionDiscards": 0,
    }


def _pfc_priorities(box: Box) -> list[str]:
    """Priorities that lead to a PG with headroom (fboss.md section 6)."""
    lossless = {
        group["id"]
        for groups in (box.sw.get("portPgConfigs") or {}).values()
        for group in groups
        if group.get("headroomLimitBytes")
    }
    found: dict[str, None] = {}
    for policy in box.sw.get("qosPolicies") or []:
        for prio, group in ((policy.get("qosMap") or {}).get("pfcPriorityToPgId") or {}).items():
            if group in lossless:
                found[prio] = None
    return list(found)


def _cabling(port: Json, heard: Any) -> str:
    """Expected LLDP values are checked by substring (fboss.md section 4); without a neighbour there is nothing to compare."""
    expected = port.get("expectedLLDPValues") or {}
    if heard is None or not expected:
        return _DASH
    received = {"5": heard.system, "2": heard.port_id}
    wrong = []
    for tag, text in expected.items():
        if not received.get(tag):
            wrong.append("MISSING_EXPECTED_NEIGHBOR")
        elif text not in received[tag]:
            wrong.append("MISMATCHED_NEIGHBOR")
    return ", ".join(dict.fromkeys(wrong)) or _DASH


def transceivers(box: Box, names: list[str]) -> Json:
    """`show transceiver`: one made-up optic in each cabled port; needs qsfp_service."""
    _need_qsfp(box)
    flags = {"alarm": {"high": False, "low": False}, "warn": {"high": False, "low": False}}
    found = {}
    for port in box.ports(names):
        name = port.get("name", "")
        present = name in box.node.ports
        found[name] = {
            "name": name,
            "isUp": box.link(port).carrier,
            "isPresent": present,
            "vendor": "fabric lab" if present else "",
            "serial": f"LAB-{box.node.name}-{port['logicalID']}" if present else "",
            "partNumber": "VETH" if present else "",
            "temperature": 0.0,
            "voltage": 0.0,
            "currentMA": [],
            "txPower": [],
            "rxPower": [],
            "rxSnr": [],
            "appFwVer": "",
            "dspFwVer": "",
            "validationStatus": _DASH,
            "notValidatedReason": _DASH,
            "tempFlags": flags,
            "vccFlags": flags,
            "mediaInterface": 0,
        }
    return {"transceivers": found}


def _need_qsfp(box: Box) -> None:
    if not box.qsfp():
        raise client.ThriftError(client.REFUSED)
