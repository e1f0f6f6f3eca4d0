"""Answers about BGP sessions, in EOS's JSON shapes and text, from FRR."""

from __future__ import annotations

import time
from collections.abc import Callable

from fabric.lab.eos.shows_base import Json
from fabric.lab.eos.values import short_name

_FAMILY = {"4": "ipv4Unicast", "6": "ipv6Unicast"}


def summary(answer: Json, asn: str | None, now: float, name_of: Callable[[str], str]) -> Json:
    """`show ip bgp summary | json` and its like, from FRR's summary of one family; `asn` None = no BGP configured."""
    if asn is None:
        return {"vrfs": {}}
    peers = {_peer_name(peer, name_of): _peer(state, now) for peer, state in (answer.get("peers") or {}).items()}
    vrf = {"vrf": "default", "routerId": str(answer.get("routerId") or "0.0.0.0"), "asn": asn, "peers": peers}  # noqa: S104
    return {"vrfs": {"default": vrf}}


def _peer_name(peer: str, name_of: Callable[[str], str]) -> str:
    return peer if ":" in peer or peer[:1].isdigit() else f"fe80::%{short_name(name_of(peer))}"


def _peer(state: Json, now: float) -> Json:
    word, reason = _state(str(state.get("state", "Idle")))
    received = int(state.get("pfxRcd") or 0)
    out: Json = {
        "version": 4,
        "msgReceived": int(state.get("msgRcvd") or 0),
        "msgSent": int(state.get("msgSent") or 0),
        "inMsgQueue": int(state.get("inq") or 0),
        "outMsgQueue": int(state.get("outq") or 0),
        "asn": str(state.get("remoteAs", "")),
        "prefixAccepted": received,
        "prefixReceived": received,
        "upDownTime": now - float(state.get("peerUptimeMsec") or 0) / 1000,
        "underMaintenance": False,
        "peerState": word,
    }
    if reason:
        out["peerStateIdleReason"] = reason
    if state.get("desc"):
        out["description"] = state["desc"]
    return out


def _state(words: str) -> tuple[str, str | None]:
    word, _, reason = words.partition(" (")
    if reason:
        return "Idle", "Admin" if reason.startswith("Admin") else reason.rstrip(")")
    return word if word in ("Established", "Active", "Connect", "OpenSent", "OpenConfirm") else "Idle", None


def everything(by_family: dict[str, Json], asn: str | None, name_of: Callable[[str], str]) -> Json:
    """`show bgp summary | json`: one entry a peer, with its families. `by_family`: "4", "6" -> FRR's summary."""
    if asn is None:
        return {"vrfs": {}}
    peers: dict[str, Json] = {}
    router = "0.0.0.0"  # noqa: S104
    for family, answer in by_family.items():
        router = str(answer.get("routerId") or router)
        for peer, state in (answer.get("peers") or {}).items():
            word, _ = _state(str(state.get("state", "Idle")))
            entry = peers.setdefault(
                _peer_name(peer, name_of), {"peerState": word, "peerAsn": str(state.get("remoteAs", ""))}
            )
            count = int(state.get("pfxRcd") or 0)
            entry[_FAMILY[family]] = {
                "afiSafiState": "negotiated" if word == "Established" else "advertised",
                "nlrisReceived": count,
                "nlrisAccepted": count,
            }
    return {"vrfs": {"default": {"vrf": "default", "routerId": router, "asn": asn, "peers": peers}}}


def text(answer: Json, now: float) -> str:
    """The text of a summary of one family."""
    if not answer["vrfs"]:
        return "% BGP inactive\n"
    vrf = answer["vrfs"]["default"]
    out = [
        "BGP summary information for VRF default",
        f"Router identifier {vrf['routerId']}, local AS number {vrf['asn']}",
        "Neighbor Status Codes: m - Under maintenance",
        "  Description              Neighbor             V AS           MsgRcvd   MsgSent  InQ OutQ  Up/Down State   PfxRcd PfxAcc",
    ]
    for peer, state in vrf["peers"].items():
        shown = {"Established": "Estab"}.get(state["peerState"], state["peerState"])
        if state.get("peerStateIdleReason"):
            shown += f"({state['peerStateIdleReason']})"
        up = time.strftime("%H:%M:%S", time.gmtime(max(0.0, now - state["upDownTime"])))
        out.append(
            f"  {state.get('description', '')[:24]:<24} {peer:<20} 4 {state['asn']:<12} {state['msgReceived']:>7} "
            f"{state['msgSent']:>9} {state['inMsgQueue']:>4} {state['outMsgQueue']:>4} {up:>8} {shown:<7} "
            f"{state['prefixReceived']:<6} {state['prefixAccepted']}"
        )
    return "\n".join(out) + "\n"
