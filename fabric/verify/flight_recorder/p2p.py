"""Who waits for whom in sends and receives: one half is pending, and the other side has not called its half.

Only a rank's oldest pending transfer in a group is looked at: what stands behind it may be blocked by it.
"""

from __future__ import annotations

from fabric.verify.flight_recorder.model import Group, Transfer, View, Wait

_NEAR = 64
"""In a group of two, a counter so little below a transfer's number is one of transfers, too; collectives count for themselves."""


def transfer_waits(group: Group) -> list[Wait]:
    """The waits in one group with transfers. Sure only in groups of two, where both sides count alike."""
    if not group.p2p:
        return []
    found = []
    for rank, view in group.views.items():
        for transfer in _oldest(view):
            wait = _wait(group, rank, transfer)
            if wait is not None:
                found.append(wait)
    return found


def _oldest(view: View) -> list[Transfer]:
    first = min((transfer.seq for transfer in view.transfers), default=0)
    return [transfer for transfer in view.transfers if transfer.seq == first]


def _wait(group: Group, rank: int, transfer: Transfer) -> Wait | None:
    if not (0 <= transfer.peer < len(group.members) and 0 <= transfer.me < len(group.members)):
        return None  # the names of a group that nobody described
    peer = group.members[transfer.peer]
    if peer == rank or group.members[transfer.me] != rank:
        return None
    if peer in group.absent:
        return Wait(group.label, transfer.seq, (rank,), (peer,), "no-dump")
    other = group.views.get(peer)
    if other is None or _posted(other, transfer):
        return None
    if len(group.members) > 2:
        return Wait(group.label, transfer.seq, (rank,), (peer,), "transfer", sure=False)
    reached = other.last_p2p or other.enqueued or 0
    if transfer.seq - _NEAR <= reached < transfer.seq:
        return Wait(group.label, transfer.seq, (rank,), (peer,), "transfer")
    return None


def _posted(other: View, transfer: Transfer) -> bool:
    """The other half is pending, too."""
    return any(half.sends != transfer.sends and half.peer == transfer.me for half in other.transfers)
