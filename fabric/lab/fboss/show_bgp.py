"""`fboss2 show bgp ...` in BGP++'s models (device-answers.md B6), from FRR's answers and the configuration that bgpd runs.

Of the counts FRR keeps the accepted and the sent ones, so that the received count equals the accepted one.
"""

from __future__ import annotations

import json
import socket
import time
from typing import Any

from fabric.errors import FabricError
from fabric.lab.fboss import client, frr
from fabric.lab.fboss.bgp_frr import merged, number
from fabric.lab.fboss.box import Box

Json = dict[str, Any]

_STATES = {
    "Idle": 0, "Connect": 1, "Active": 2, "OpenSent": 3, "OpenConfirm": 4, "Established": 5, "Clearing": 6, "Deleted": 6,
}  # fmt: skip
_IDLE_ADMIN = 7
_NO_ID = "0.0.0.0"  # noqa: S104 - a router id that is not known yet
_NO_HOP4 = {"afi": 0, "prefix_bin": "", "num_bits": 0}
_NO_HOP6 = {"afi": 1, "prefix_bin": "", "num_bits": 0}
_RESTART_S = 120  # FRR's default restart time


def running(box: Box) -> Json:
    """{"conf": bgpcpp.conf in force, "started": monotonic seconds}; ThriftError when bgpd does not run."""
    try:
        found: Json = json.loads(box.node.state("bgp.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise client.ThriftError(client.REFUSED) from None
    return found


def _neighbours(box: Box) -> Json:
    try:
        found: Json = frr.ask(box.node, "show bgp vrf default neighbors")
    except FabricError:
        raise client.ThriftError(client.REFUSED) from None
    return found


def summary(box: Box, _words: list[str]) -> Json:
    """`show bgp summary`."""
    found = running(box)
    rows = sessions(found["conf"], _neighbours(box))
    return {"sessions": rows, **summary_rest(found["conf"], max(0, int(time.monotonic() - found["started"])))}


def summary_text(model: Json) -> str:
    """The same for people: heading, counts, and a table with the state cut to four letters."""
    rows, conf = model["sessions"], model["config"]
    up = sum(row["peer"]["peer_state"] == _STATES["Established"] for row in rows)
    drained = {0: "UNDRAINED", 1: "DRAINED", 2: "WARM_DRAINED", 3: "SOFT_DRAINED"}[model["drain_state"]["drain_state"]]
    router = socket.inet_ntoa(conf["my_router_id"].to_bytes(4, "little"))
    paths = (
        sum(row["prepolicy_rcvd_prefix_count"] for row in rows),
        sum(row["postpolicy_sent_prefix_count"] for row in rows),
    )
    names = {number: name[:4].upper() for name, number in _STATES.items()} | {_IDLE_ADMIN: "IDLE"}
    lines = [
        "BGP summary information for VRF default",
        f"BGP is up for {model['process_uptime_seconds']} s",
        f"Router ID - {router}, Local ASN - {conf['local_as_4_byte']}",
        f"BGP Switch Drain State: {drained}",
        f"Peers: UP - {up}, TOTAL - {len(rows)}",
        f"Paths: Received - {paths[0]}, Sent - {paths[1]}",
    ]
    lines += [
        f"{row['peer_addr']:<40} {row['peer']['remote_as_4_byte']:>10}  {names[row['peer']['peer_state']]}  {row['description']}"
        for row in rows
    ]
    return "\n".join(lines)


def summary_rest(conf: Json, uptime_s: int) -> Json:
    """The summary without its sessions."""
    return {
        "config": {
            "my_router_id": int.from_bytes(socket.inet_aton(conf["router_id"]), "little"),
            "local_as": 0,
            "program_ucmp_weights": bool(conf.get("compute_ucmp_from_link_bandwidth_community")),
            "ucmp_width": conf.get("ucmp_width", 65636),  # the IDL's default
            "local_as_4_byte": number(conf, "local_as"),
            "local_confed_as_4_byte": number(conf, "local_confed_as"),
            "enable_update_group": False,
        },
        "drain_state": {
            "drain_state": conf.get("drain_state", 0),
            "drained_interfaces": conf.get("drained_interfaces") or [],
        },
        "peer_egress_stats": [],
        "process_uptime_seconds": uptime_s,
        "rib_version": 0,
    }


def neighbors(box: Box, words: list[str]) -> list[Json]:
    """`show bgp neighbors [IP]`."""
    found, answer = running(box), _neighbours(box)
    return [
        {**row, "details": details(found["conf"], answer.get(row["peer_addr"]) or {})}
        for row in sessions(found["conf"], answer)
        if not words or row["peer_addr"] == words[0]
    ]


def config(box: Box, _words: list[str]) -> Json:
    """`show bgp config running`: what bgpd runs."""
    _neighbours(box)
    found: Json = running(box)["conf"]
    return found


def sessions(conf: Json, answer: Json) -> list[Json]:
    """One TBgpSession for each configured peer, sorted by address as text; `answer` = FRR's `show bgp neighbors json`."""
    rows = [_session(conf, merged(conf, peer), answer.get(peer["peer_addr"]) or {}) for peer in conf.get("peers") or []]
    return sorted(rows, key=lambda row: str(row["peer_addr"]))


def _counts(found: Json) -> tuple[int, int]:
    """(accepted, sent) over all families."""
    families = (found.get("addressFamilyInfo") or {}).values()
    return sum(one.get("acceptedPrefixCounter", 0) for one in families), sum(
        one.get("sentPrefixCounter", 0) for one in families
    )


def _session(conf: Json, peer: Json, found: Json) -> Json:
    state = _IDLE_ADMIN if found.get("adminShutDown") else _STATES.get(found.get("bgpState", "Idle"), 0)
    up = state == _STATES["Established"]
    accepted, sent = _counts(found) if up else (0, 0)
    messages = found.get("messageStats") or {}
    hold = (peer.get("bgp_peer_timers") or {}).get("hold_time_seconds") or conf.get("hold_time", 30)
    row: Json = {
        "peer": {
            "peer_id": peer["peer_addr"],
            "local_as": 0,
            "remote_as": 0,
            "hold_time": found["bgpTimerHoldTimeMsecs"] // 1000 if up and "bgpTimerHoldTimeMsecs" in found else hold,
            "next_hop4": dict(_NO_HOP4),
            "next_hop6": dict(_NO_HOP6),
            "peer_state": state,
            "graceful": False,
            "lastResetHoldTimer": 0,
            "lastSentKeepAlive": 0,
            "lastRcvdKeepAlive": 0,
            "local_as_4_byte": number(conf, "local_as"),
            "remote_as_4_byte": number(peer, "remote_as"),
            "lastResetKeepAliveTimer": 0,
        },
        "my_addr": peer.get("local_addr", ""),
        "peer_addr": peer["peer_addr"],
        "rcvd_prefix_count": _i16(accepted),
        "sent_prefix_count": _i16(sent),
        "description": peer.get("description", ""),
        "uptime": found.get("bgpTimerUpMsec", 0) if up else 0,
        "prepolicy_rcvd_prefix_count": accepted,
        "postpolicy_sent_prefix_count": sent,
        "peer_bgp_id": found.get("remoteRouterId", _NO_ID),
        "advertise_link_bandwidth": peer.get("advertise_link_bandwidth", 0),
        "receive_link_bandwidth": peer.get("receive_link_bandwidth", 0),
        "reset_time": 0,
        "num_resets": found.get("connectionsDropped", 0),
        "last_reset_reason": found.get("lastResetDueTo", "") if found.get("connectionsDropped") else "",
        "sent_update_msgs": messages.get("updatesSent", 0),
        "recv_update_msgs": messages.get("updatesRecv", 0),
        "postpolicy_rcvd_prefix_count": accepted,
    }
    for key in ("ingress_policy_name", "egress_policy_name"):
        if peer.get(key):
            row[key] = peer[key]
    return row


def _i16(value: int) -> int:
    """The old counters are 16 bits wide and overflow."""
    return (value + (1 << 15)) % (1 << 16) - (1 << 15)


def details(conf: Json, found: Json) -> Json:
    """TBgpSessionDetail; what FRR does not tell is 0, as a thrift server leaves it."""
    families = found.get("addressFamilyInfo") or {}
    four, six = families.get("ipv4Unicast") or {}, families.get("ipv6Unicast") or {}
    messages = found.get("messageStats") or {}
    remote = found.get("remoteRouterId", _NO_ID)
    made: Json = {
        "confed_peer": False,
        "remote_bgp_id": int.from_bytes(socket.inet_aton(remote), "little"),
        "rr_client": False,
        "connect_mode": 0,
        "peer_port": max(0, found.get("portForeign", 0)),
        "local_router_id": conf["router_id"],
        "local_port": max(0, found.get("portLocal", 0)),
        "ipv4_unicast": bool(four),
        "ipv6_unicast": bool(six),
        "gr_restart_time": _RESTART_S,
        "gr_remote_restart_time": (found.get("neighborCapabilities") or {}).get("gracefulRestartRemoteTimerMsecs", 0)
        // 1000,
        "add_path_capabilities": [],
        "num_of_flaps": found.get("connectionsDropped", 0),
        "legacy_v4_nlri_encoding": False,
    }
    for version, one in (("ipv4", four), ("ipv6", six)):
        accepted, sent = one.get("acceptedPrefixCounter", 0), one.get("sentPrefixCounter", 0)
        made |= {f"{when}_rcvd_prefix_count_{version}": accepted for when in ("prepolicy", "postpolicy")}
        made |= {f"{when}_sent_prefix_count_{version}": sent for when in ("prepolicy", "postpolicy")}
    for ours, theirs in (("tx", "Sent"), ("rx", "Recv")):
        for word, key in _MESSAGES:
            made[f"socket_{ours}_{word}_msgs"] = messages.get(f"{key}{theirs}", 0)
        made[f"socket_{ours}_eor_msgs"] = 0
    return {**made, **dict.fromkeys(_NOT_KEPT, 0)}


_MESSAGES = (
    ("open", "opens"), ("update", "updates"), ("keepalive", "keepalives"), ("notification", "notifications"),
    ("route_refresh", "routeRefresh"),
)  # fmt: skip
_NOT_KEPT = (
    "eor_sent_time", "eor_received_time", "sent_update_announcements_ipv4", "sent_update_announcements_ipv6",
    "recv_update_announcements_ipv4", "recv_update_announcements_ipv6", "sent_update_withdrawals", "recv_update_withdrawals",
    "enforce_first_as_rejects", "adjrib_sent_update_msgs", "adjrib_sent_eor_msgs", "adjrib_recv_update_msgs", "adjrib_recv_eor_msgs",
)  # fmt: skip
