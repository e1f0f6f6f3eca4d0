"""BGP sessions of EOS, from `show ip bgp summary | json` and its IPv6 and per-family forms."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

from fabric.targets.answer import Json, child, count, mapping, text
from fabric.targets.device import DeviceRefusedError
from fabric.targets.eos.read_answer import answer_object
from fabric.targets.facts import BgpSession

_INACTIVE = re.compile(r"\bBGP (?:is )?inactive\b", re.IGNORECASE)
_ASDOT = re.compile(r"(\d{1,5})\.(\d{1,5})\Z")
_ASPLAIN = re.compile(r"\d{1,10}\Z")
_MAX_ASN = 2**32 - 1
_FAMILIES = ("ipv4Unicast", "ipv6Unicast")


def read_bgp(answer: str) -> list[BgpSession]:
    """The sessions of one summary, default VRF; none when BGP does not run (both ways in which EOS says so)."""
    if _INACTIVE.search(answer) and "{" not in answer:
        return []
    what = "show bgp summary"
    vrfs = child(answer_object(answer, what), "vrfs", what)
    if "default" not in vrfs:
        return []
    peers = child(child(vrfs, "default", what), "peers", what)
    return [_session(peer, mapping(row, f"{what}: {peer}")) for peer, row in peers.items()]


def merge_bgp(summaries: Iterable[list[BgpSession]]) -> list[BgpSession]:
    """One session a peer: one that carries both families stands in both summaries, and its counts add up."""
    merged: dict[str, BgpSession] = {}
    for session in (session for summary in summaries for session in summary):
        seen = merged.get(session.peer)
        merged[session.peer] = session if seen is None else _added(seen, session)
    return list(merged.values())


def _added(one: BgpSession, two: BgpSession) -> BgpSession:
    return dataclasses.replace(
        one,
        remote_asn=one.remote_asn if one.remote_asn is not None else two.remote_asn,
        received=_sum(one.received, two.received),
        accepted=_sum(one.accepted, two.accepted),
        description=one.description or two.description,
    )


def _sum(one: int | None, two: int | None) -> int | None:
    return two if one is None else one if two is None else one + two


def _session(peer: str, row: Json) -> BgpSession:
    received, accepted = count(row, "prefixReceived"), count(row, "prefixAccepted")
    for family in (row.get(name) for name in _FAMILIES):
        if isinstance(family, dict):
            received = _sum(received, count(family, "nlrisReceived"))
            accepted = _sum(accepted, count(family, "nlrisAccepted"))
    return BgpSession(
        peer=peer,
        remote_asn=_asn(row.get("asn", row.get("peerAsn"))),
        state=(text(row, "peerState") or "unknown").lower(),
        received=received,
        accepted=accepted,
        description=text(row, "description"),
    )


def _asn(value: object) -> int | None:
    """An AS number: an integer from old releases, text from new ones, asdot ("65001.1028") where so configured."""
    if isinstance(value, str):
        dotted = _ASDOT.match(value)
        if dotted:
            high, low = int(dotted[1]), int(dotted[2])
            return (high << 16) + low if high < 1 << 16 and low < 1 << 16 else None
        value = int(value) if _ASPLAIN.match(value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MAX_ASN else None


def is_refusal_of_family(error: DeviceRefusedError) -> bool:
    """Whether the words say that this form of the command is not known (then the other form is asked)."""
    return any("Invalid input" in line or "Incomplete command" in line or "Ambiguous" in line for line in error.lines)
