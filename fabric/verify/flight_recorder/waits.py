"""Who waits for whom in collectives.

A rank whose oldest operation that has not ended is number n waits for every member that has not called n. Members are told apart
by their counters alone, so two numbers a rank and group are enough. Groups with sends and receives are left out: their counters mix.
gloo counts failed operations as ended; there every rank counts as waiting in the last operation that it called.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from fabric.verify.flight_recorder.model import Group, Joint, View, Wait


def hangs_at(view: View, *, trusted: bool) -> int | None:
    """The number of the operation in which a rank hangs in a group; None when it does not, or when that is not known.

    `trusted`: what counts as completed is completed (not so with gloo).
    """
    if view.enqueued is None or view.enqueued < 1:
        return None
    if not trusted:
        return view.enqueued
    if view.completed is None or view.completed >= view.enqueued:
        return None
    return view.completed + 1


def waits_of(group: Group, *, trusted: bool) -> tuple[list[Wait], Joint | None]:
    """The waits in one group; and the joint stall, when all members called what none of them ended."""
    hanging: dict[int, list[int]] = {}
    for rank, view in group.views.items():
        seq = hangs_at(view, trusted=trusted)
        if seq is not None:
            hanging.setdefault(seq, []).append(rank)
    called = sorted((view.enqueued, rank) for rank, view in group.views.items() if view.enqueued is not None)
    ended = max((view.completed or 0 for view in group.views.values()), default=0) if trusted else 0
    waits = []
    joint = None
    for seq, waiters in sorted(hanging.items()):
        behind = tuple(sorted(rank for enqueued, rank in called if enqueued < seq))
        if behind:
            waits.append(Wait(group.label, seq, tuple(waiters), behind, "collective"))
        elif ended >= seq:
            continue  # all called it, since some ended it: those that hang in it wait for nobody
        elif group.absent:
            waits.append(Wait(group.label, seq, tuple(waiters), group.absent, "no-dump"))
        elif trusted and len(called) == len(group.members) and len(waiters) == len(called):
            joint = Joint(group, seq, _idle(group, seq))
    return waits, joint


def _idle(group: Group, seq: int) -> tuple[int, ...]:
    """Members that did not begin what others began; empty where begins are not recorded, or none or all began."""
    begun = {rank for rank, view in group.views.items() if (view.started or 0) >= seq}
    return tuple(rank for rank in group.members if rank not in begun) if begun else ()


def lagging(groups: Iterable[Group]) -> dict[int, tuple[str, ...]]:
    """Ranks that called an operation and did not end it although most other members ended it: labels of the groups, by rank.

    The second signal of the reference: a GPU or NIC fault, where the counters of what was called look alike.
    """
    found: dict[int, list[str]] = {}
    for group in groups:
        ended = sorted(view.completed for view in group.views.values() if view.completed is not None)
        if len(ended) < 2 or ended[0] == ended[-1]:
            continue
        for rank, view in group.views.items():
            if view.completed is None or view.enqueued is None or view.enqueued <= view.completed:
                continue
            ahead = len(ended) - bisect_right(ended, view.completed)
            if 2 * ahead >= len(ended):
                found.setdefault(rank, []).append(group.label)
    return {rank: tuple(labels) for rank, labels in found.items()}
