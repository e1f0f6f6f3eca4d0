"""Findings of many runs as episodes: a fault that is told in ten runs in a row is one episode, one that went and came back is two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from fabric.verify.history.names import device_of, ends_of
from fabric.verify.history.store import History, Run


@dataclass(frozen=True, slots=True)
class Told:
    """One failed or unknown finding in one run."""

    run: Run
    verdict: str
    severity: str
    check: str
    subject: str
    devices: tuple[str, ...]
    measured: str
    action: str

    @property
    def kind(self) -> str:
        """The check's first word."""
        return self.check.partition(".")[0]


@dataclass(slots=True)
class Episode:
    """The same finding in runs one after the other. `over`: a later run looked again and did not find it."""

    told: list[Told] = field(default_factory=list)
    over: Run | None = None

    @property
    def last(self) -> Told:
        """As it was told last."""
        return self.told[-1]


_COLUMNS = 'f.run, f.verdict, f.severity, f."check", f.subject, f.devices, f.measured, f.action'


def told_in(history: History, runs: Sequence[Run], where: str = "", values: Iterable[int] = ()) -> list[Told]:
    """The findings of the runs that are no passes, the oldest first; `where` narrows by one column to the numbers of texts.

    What was folded for the report (one line for the same fault of several hosts) is one for each device again.
    """
    by_id = {run.id: run for run in runs}
    query = f"SELECT f.rowid, {_COLUMNS} FROM findings f WHERE f.verdict != 'pass'"  # noqa: S608 - columns of ours
    rows = history.rows(f"{query} AND {where} IN ({{}})", values) if where else history.base.execute(query)
    found = [
        (
            row[0],
            Told(
                by_id[row[1]], str(row[2]), str(row[3]), history.text(row[4]), history.text(row[5]),
                history.texts(row[6]), history.text(row[7]), history.text(row[8]),
            ),
        )
        for row in rows
        if row[1] in by_id
    ]  # fmt: skip
    return [one for _, told in sorted(found, key=lambda item: int(item[0])) for one in _each(told)]


def _each(told: Told) -> list[Told]:
    """A finding for each device when its subject only sums them up (`gt0001, gt0002 and 7 more: GPU 3`), so that runs can be compared."""
    names, _, unit = told.subject.partition(": ")
    ends = ends_of(names)
    if set(told.devices).isdisjoint(ends):  # a port, a cable, a zone: what it is about is not its devices each
        return [told]
    measured = f"{unit}: {told.measured}" if unit else told.measured
    if len(ends) == 1 and names in told.devices:
        return [replace(told, subject=names, measured=measured)]
    return [replace(told, subject=device, devices=(device,), measured=measured) for device in told.devices]


def looked_again(run: Run, told: Told) -> bool:
    """Whether a run made the check of a finding where it was made."""
    made = set(told.run.checks)
    same = told.kind in run.checks if told.kind in made else bool(made & set(run.checks))
    return same and run.selection in ((), told.run.selection)


def unseen(history: History, runs: Sequence[Run]) -> dict[int, set[str]]:
    """By run: the devices that an unknown finding names; of these it says nothing."""
    found: dict[int, set[str]] = {run.id: set() for run in runs}
    for told in told_in(history, runs):
        if told.verdict == "unknown":
            found[told.run.id].update(told.devices, (device_of(end) for end in ends_of(told.subject)))
    return found


def episodes(told: Sequence[Told], runs: Sequence[Run], blind: dict[int, set[str]]) -> list[Episode]:
    """The findings as episodes, in the order of their first run. `runs` are all runs, the oldest first; `blind` as of `unseen`."""
    by_key: dict[tuple[str, str, str], list[Told]] = {}
    for one in told:
        by_key.setdefault((one.verdict, one.check, one.subject), []).append(one)
    found = [episode for same in by_key.values() for episode in _split(same, runs, blind)]
    return sorted(found, key=lambda episode: episode.told[0].run.id)


def _split(same: Sequence[Told], runs: Sequence[Run], blind: dict[int, set[str]]) -> list[Episode]:
    found = [Episode()]
    at = {one.run.id: one for one in same}
    devices = {device_of(end) for end in ends_of(same[0].subject)} | set(same[0].devices)
    for run in runs:
        now = found[-1]
        if run.id in at:
            if now.over is not None:
                now = Episode()
                found.append(now)
            now.told.append(at[run.id])
        elif now.told and now.over is None and looked_again(run, now.last) and devices.isdisjoint(blind[run.id]):
            now.over = run
    return found
