"""What changed since the last good run."""

from __future__ import annotations

import difflib
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from fabric.verify.collectives.model import Measurement
from fabric.verify.history.faults import Episode, episodes, told_in, unseen
from fabric.verify.history.outcomes import measurements_of
from fabric.verify.history.store import History, Run

DIFF = 60
"""Lines of the change of a spec that are told."""


@dataclass(frozen=True, slots=True)
class Change:
    """The median over all groups of a test, GB/s, in the good run and in the last one."""

    stage: str
    test: str
    before: float
    now: float


@dataclass(frozen=True, slots=True)
class Since:
    """`last` is the last run of some checks, `good` the last good one before it that looked at as much; None when there is none.

    `faults`: what fails in the last run, with all that is told of it since; `unknown`: what cannot be seen any more. `between`: runs
    after the good one. `spec_diff`: the changed lines of the spec, with `-` or `+` before them; empty also when a text was not kept.
    """

    last: Run
    good: Run | None
    between: int
    faults: tuple[Episode, ...] = ()
    unknown: tuple[Episode, ...] = ()
    speeds: tuple[Change, ...] = ()
    spec_diff: tuple[str, ...] = ()

    @property
    def spec_changed(self) -> bool:
        """Whether the spec is another one than that of the good run."""
        return self.good is not None and self.good.spec_sha256 != self.last.spec_sha256

    @property
    def tool_changed(self) -> bool:
        """Whether the last run was made by another version of fabric."""
        return self.good is not None and self.good.tool != self.last.tool


def since_good(history: History) -> list[Since]:
    """For each set of checks and selection that was ever run: its last run against the last good one before."""
    runs = history.runs()
    blind = unseen(history, runs)
    last = {(run.checks, run.selection): run for run in runs}
    return [_since(history, runs, run, blind) for run in sorted(last.values(), key=lambda run: -run.id)]


def _since(history: History, runs: Sequence[Run], last: Run, blind: dict[int, set[str]]) -> Since:
    if last.good:
        return Since(last, last, 0)
    good = next((run for run in reversed(runs) if run.id < last.id and run.good and run.covers(last)), None)
    later = [run for run in runs if (good is None or run.id > good.id) and run.id <= last.id]
    told = episodes(told_in(history, later), later, blind)
    now = [episode for episode in told if episode.last.run.id == last.id]
    faults = tuple(episode for episode in now if episode.last.verdict == "fail")
    known = (
        set() if good is None else {(t.check, t.subject) for t in told_in(history, [good]) if t.verdict == "unknown"}
    )
    unknown = tuple(
        episode
        for episode in now
        if episode.last.verdict == "unknown" and (episode.last.check, episode.last.subject) not in known
    )
    if good is None:
        return Since(last, None, len(later), faults, unknown)
    return Since(last, good, len(later), faults, unknown, _speeds(history, good, last), _spec_diff(history, good, last))


def _spec_diff(history: History, good: Run, last: Run) -> tuple[str, ...]:
    if good.spec_sha256 == last.spec_sha256:
        return ()
    before, now = history.spec(good.spec_sha256), history.spec(last.spec_sha256)
    if before is None or now is None:
        return ()
    lines = difflib.unified_diff(before.splitlines(), now.splitlines(), lineterm="", n=0)
    changed = [line for line in lines if line[:1] in "+-" and not line.startswith(("+++", "---"))]
    more = len(changed) - DIFF
    return (*changed[:DIFF], *([f"and {more:,} lines more"] if more > 0 else ()))


def _speeds(history: History, good: Run, last: Run) -> tuple[Change, ...]:
    before, now = (_medians(measurements_of(history, run)) for run in (good, last))
    return tuple(Change(*key, before[key], now[key]) for key in before if key in now)


def _medians(found: Sequence[Measurement]) -> dict[tuple[str, str], float]:
    values: dict[tuple[str, str], list[float]] = {}
    for one in found:
        if one.value is not None:
            values.setdefault((one.stage, one.test), []).append(one.value)
    return {key: statistics.median(some) for key, some in values.items()}
