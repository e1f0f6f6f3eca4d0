"""The process groups of the job, put together from what each rank says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from fabric.verify.flight_recorder.model import Dumps, Group, RankDump, View


def groups_of(dumps: Dumps) -> list[Group]:
    """All groups of two members or more, in the order of their first member.

    A pg_id belongs to the process, so groups meet by name and membership. Where a dump has no entries of a group and its names and ids
    cannot be paired, the pg_id that most other members have for that name is taken.
    """
    majority = _majority(dumps.ranks.values())
    views: dict[tuple[str, int], dict[int, View]] = {}
    for rank, dump in sorted(dumps.ranks.items()):
        for view in _resolved(dump, majority):
            if not view.name.startswith("#"):
                views.setdefault((view.name, view.members), {})[rank] = view
    _adopt(views)
    groups = (_group(name, key, found, dumps) for (name, key), found in views.items())
    return [group for group in groups if len(group.members) > 1]


def nameless(dumps: Dumps) -> int:
    """How many ranks have groups that are known by pg_id alone (before 1.2): nobody can say which other ranks are in them."""
    return sum(any(view.name.startswith("#") for view in dump.views) for dump in dumps.ranks.values())


def _majority(ranks: Iterable[RankDump]) -> dict[str, int]:
    votes: dict[str, Counter[int]] = {}
    for dump in ranks:
        for name, pg_id in dump.ids:
            votes.setdefault(name, Counter())[pg_id] += 1
    return {name: counter.most_common(1)[0][0] for name, counter in votes.items()}


def _resolved(dump: RankDump, majority: dict[str, int]) -> tuple[View, ...]:
    if not dump.loose:
        return dump.views
    loose, known = dict(dump.loose), {name for name, _ in dump.ids}
    found = []
    for view in dump.views:
        counters = None if view.name in known else loose.get(majority.get(view.name, -1))
        if counters is None:
            found.append(view)
        else:
            found.append(replace(view, enqueued=counters[0], started=counters[1], completed=counters[2]))
    return tuple(found)


def _adopt(views: dict[tuple[str, int], dict[int, View]]) -> None:
    """Views without a membership go to the one group of their name that has one."""
    homes: dict[str, list[int]] = {}
    for name, key in views:
        if key:
            homes.setdefault(name, []).append(key)
    for name, keys in homes.items():
        if len(keys) == 1 and (orphans := views.pop((name, 0), None)):
            views[name, keys[0]].update(orphans)


def _group(name: str, key: int, views: dict[int, View], dumps: Dumps) -> Group:
    members = dumps.members.get(key) or tuple(sorted(views))
    desc = next((view.desc for view in views.values() if view.desc), "")
    absent = tuple(rank for rank in members if rank not in dumps.ranks)
    return Group(name, desc, members, views, absent, any(view.p2p for view in views.values()))
