"""BGP sessions of FBOSS, from `fboss2 show bgp summary`."""

from __future__ import annotations

from fabric.targets.answer import Json, child, count, integer, name, rows, text
from fabric.targets.facts import BgpSession
from fabric.targets.fboss.read_answer import host_object

_STATES = ("idle", "connect", "active", "opensent", "openconfirm", "established", "closing", "idle")
"""By number (TBgpPeerState); the last, IDLE_ADMIN, is an idle session that was shut by hand."""


def read_bgp(answer: str) -> list[BgpSession]:
    """All sessions. Counts come from the 64-bit fields; old daemons have only 16-bit ones, which may be negative: unknown."""
    what = "show bgp summary"
    return [_session(row, what) for row in rows(host_object(answer, what), "sessions", what)]


def _session(row: Json, what: str) -> BgpSession:
    peer = child(row, "peer", what)
    state = integer(peer, "peer_state")
    return BgpSession(
        peer=name(row, "peer_addr", what),
        remote_asn=count(peer, "remote_as_4_byte") or count(peer, "remote_as") or None,
        state=_STATES[state] if state is not None and 0 <= state < len(_STATES) else "unknown",
        received=count(row, "prepolicy_rcvd_prefix_count", "rcvd_prefix_count"),
        accepted=count(row, "postpolicy_rcvd_prefix_count"),
        description=text(row, "description"),
    )
