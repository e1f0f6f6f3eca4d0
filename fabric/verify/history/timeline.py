"""The story of one part: what was found of it and when, and how fast it was."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fabric.verify.history.faults import Episode, episodes, told_in, unseen
from fabric.verify.history.names import What, items_of, names_it
from fabric.verify.history.outcomes import numbers
from fabric.verify.history.store import History, Run

SPEEDS = 50
"""Runs with measurements of it that are told, the last ones."""

Key = tuple[Any, ...]
"""Run, stage, test, size, and how many rails: what is alike, and may be compared."""
_KEY = ("run", "stage", "test", "size", "rails")


@dataclass(frozen=True, slots=True)
class Speed:
    """Its measurements of one test in one run: GB/s, the median of its groups, and that of all groups of the same test, size and width."""

    run: Run
    stage: str
    test: str
    value: float
    peers: float
    groups: int


@dataclass(frozen=True, slots=True)
class Story:
    """`passes`: runs that say something good of it; of runs long ago passes are not kept. `episodes`: failed and unknown findings."""

    what: What
    passes: tuple[Run, ...]
    episodes: tuple[Episode, ...]
    speeds: tuple[Speed, ...]


def story(history: History, what: What) -> Story:
    """All that the history knows of a part."""
    runs = history.runs()
    ids = [number for name in what.names for number, text in history.mentions(name) if names_it(text, what.names)]
    ids = list(dict.fromkeys(ids))
    told = [one for column in ("subject", "devices", "links") for one in told_in(history, runs, column, ids)]
    own = (one for one in told if names_it(one.subject, what.names) or not set(what.names).isdisjoint(one.devices))
    found = episodes(list(dict.fromkeys(own)), runs, unseen(history, runs))
    return Story(what, _passes(history, runs, ids), tuple(found), tuple(_speeds(history, runs, what)))


def _passes(history: History, runs: Sequence[Run], ids: Sequence[int]) -> tuple[Run, ...]:
    found: set[int] = set()
    for column in ("subject", "devices"):
        query = f"SELECT DISTINCT run FROM findings WHERE verdict = 'pass' AND {column} IN ({{}})"  # noqa: S608 - ours
        found.update(row[0] for row in history.rows(query, ids))
    return tuple(run for run in runs if run.id in found)


def _speeds(history: History, runs: Sequence[Run], what: What) -> list[Speed]:
    """Of itself alone and with one other: what more hosts reach together says nothing of one of them."""
    if what.host is None:
        return []
    by_id = {run.id: run for run in runs}
    groups = {number: tuple(items_of(text)) for number, text in history.mentions(what.host)}
    ids = [number for number, hosts in groups.items() if what.host in hosts and len(hosts) <= 2]
    query = f"SELECT {', '.join(_KEY)}, \"values\" FROM measurements WHERE state = 'ok' AND hosts IN ({{}})"  # noqa: S608
    own: dict[Key, list[float]] = {}
    for *columns, rails, values in history.rows(query, ids):
        on = numbers(history, rails)
        value = _median(history, values)
        if columns[0] in by_id and value is not None and (what.rail is None or what.rail in on):
            own.setdefault((*columns, len(on)), []).append(value)
    last = set(sorted({key[0] for key in own})[-SPEEDS:])
    found = [
        Speed(by_id[key[0]], key[1], key[2], statistics.median(values), _peers(history, key), len(values))
        for key, values in own.items()
        if key[0] in last
    ]
    return sorted(found, key=lambda one: (one.run.id, one.stage, one.test))


def _peers(history: History, key: Key) -> float:
    """The median of all groups that made the same with as many rails."""
    *columns, width = key
    rows = history.base.execute(
        'SELECT rails, "values" FROM measurements'
        " WHERE run = ? AND stage = ? AND test = ? AND size = ? AND state = 'ok'",
        columns,
    )
    same = [_median(history, values) for rails, values in rows if len(numbers(history, rails)) == width]
    return statistics.median(value for value in same if value is not None)


def _median(history: History, values: str) -> float | None:
    found = numbers(history, values)
    return statistics.median(found) if found else None
