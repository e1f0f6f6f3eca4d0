"""One job at a time: dumps that are of another job, or of another rank than their names say, are told apart before anything is judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fabric.errors import FabricError
from fabric.verify.flight_recorder.model import Dumps, RankDump, Unread
from fabric.verify.flight_recorder.spans import spans
from fabric.words import counted

_DEFAULT = "0"  # the name of the group of all ranks
_DAY_NS = 24 * 3600 * 10**9
"""Newest entries further apart are told of (our choice: the watchdog of a rank that waits ends it within minutes, hours at most)."""


def one_job(dumps: Dumps) -> Dumps:
    """The dumps of which the default group is that of most, and in which each rank is; the others are unread, with the reason.

    Raises FabricError where two jobs have equally many dumps. Dumps that do not list the default group stay.
    """
    worlds = {rank: key for rank, dump in dumps.ranks.items() if (key := _world(dump))}
    strange = {
        rank: _not_in(rank, dumps.members[key]) for rank, key in worlds.items() if rank not in dumps.members[key]
    }
    votes = Counter(key for rank, key in worlds.items() if rank not in strange).most_common(2)
    if len(votes) > 1:
        most, other = (len(dumps.members[key]) for key, _ in votes)
        if votes[0][1] == votes[1][1]:
            raise FabricError(
                f"the dumps are of two jobs: in {votes[0][1]:,} the default group has {counted(most, 'rank')}, in as many {other:,}",
                hint="give the dumps of one job only, by their folder or by name",
            )
        mine = _told(dumps.members[votes[0][0]])
        for rank, key in worlds.items():
            if key != votes[0][0] and rank not in strange:
                other_job = _told(dumps.members[key])
                strange[rank] = f"is of another job: its default group is {other_job}, that of most dumps {mine}"
    if not strange:
        return dumps
    ranks = {rank: dump for rank, dump in dumps.ranks.items() if rank not in strange}
    unread = [*dumps.unread, *(Unread(rank, dumps.ranks[rank].source, reason) for rank, reason in strange.items())]
    return Dumps(ranks, sorted(unread, key=lambda item: item.rank), dumps.members, dumps.size)


def _world(dump: RankDump) -> int:
    return next((view.members for view in dump.views if view.name == _DEFAULT), 0)


def _told(ranks: tuple[int, ...]) -> str:
    return f"{counted(len(ranks), 'rank')} ({spans(ranks, 2)})"


def _not_in(rank: int, ranks: tuple[int, ...]) -> str:
    return f"is not of rank {rank}, as its name says: its default group is {_told(ranks)}"


def far_apart(dumps: Dumps) -> Iterator[str]:
    """A note where the newest entries of the dumps are more than a day apart."""
    newest = sorted((dump.newest_ns, rank) for rank, dump in dumps.ranks.items() if dump.newest_ns > 0)
    if newest and newest[-1][0] - newest[0][0] > _DAY_NS:
        days = (newest[-1][0] - newest[0][0]) // _DAY_NS
        yield f"the newest entries of ranks {newest[0][1]} and {newest[-1][1]} are {counted(days, 'day')} apart: are these dumps of one run?"
