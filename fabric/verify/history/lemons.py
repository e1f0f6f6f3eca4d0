"""Repeat offenders ("lemon nodes"): what was found faulty, was well again, and came back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fabric.verify.history.faults import Episode, Told, episodes, told_in, unseen
from fabric.verify.history.names import LINK, device_of, ends_of, plain
from fabric.verify.history.store import History, Run

NOBODY = frozenset({"collectives.path", "collectives.undecided", "collectives.setting", "flight-recorder.mismatch"})
"""Faults of no part."""
_NAME = re.compile(r"\w[\w.-]*(:[^\s:]+)?")


@dataclass(frozen=True, slots=True)
class Offender:
    """`episodes`: how often it was found faulty anew; `runs`: in how many runs. `first` and `last`: UTC times of runs.

    `still`: it was faulty when it was looked at last. `checks`: what was found, the most frequent first.
    """

    name: str
    episodes: int
    runs: int
    first: str
    last: str
    still: bool
    checks: tuple[str, ...]


def offenders(history: History, runs: Sequence[Run], *, at_least: int = 2) -> list[Offender]:
    """Who was found faulty anew in `at_least` of the runs (the oldest first): the worst first. Two faults of one run are no repeat.

    A cable is blamed as a cable, and also at the devices of its ends: these are named only when they had other faults as well, since a
    host with three faulty cables is no matter of cables. A host and its NIC or GPU likewise.
    """
    blind = unseen(history, runs)
    failed = [
        one
        for one in told_in(history, runs)
        if one.verdict == "fail" and one.check not in NOBODY and not _unplaced(one)
    ]
    by_name: dict[str, list[int]] = {}
    found = episodes(failed, runs, blind)
    for number, episode in enumerate(found):
        for name in blamed(episode.last):
            by_name.setdefault(name, []).append(number)
    made = [
        _offender(name, [found[number] for number in numbers])
        for name, numbers in by_name.items()
        if len({found[number].told[0].run.id for number in numbers}) >= at_least
        and not _is_wider(name, numbers, by_name)
    ]
    return sorted(made, key=lambda one: (-one.episodes, -one.runs, one.name))


def blamed(told: Told) -> Iterator[str]:
    """The parts that a finding blames, each once: its subject, a cable as one, and the devices of its ends."""
    ends = ends_of(told.subject)
    if len(ends) > 1:
        ends = [end for end in ends if _NAME.fullmatch(end)]  # no dots, no "and 5 more"
    names = [plain(told.subject)] if LINK in told.subject and len(ends) == 2 else ends
    yield from dict.fromkeys((*names, *(device_of(end) for end in ends)))


def _unplaced(told: Told) -> bool:
    """A rank of a job of which nobody said where it ran: in the next job its number is another GPU."""
    return told.kind == "flight-recorder" and not told.devices


def _is_wider(name: str, numbers: Sequence[int], by_name: dict[str, list[int]]) -> bool:
    """Whether all its episodes are those of one narrower part: a cable, a NIC, a port."""
    if ":" in name:
        return False
    return any(other != name and ":" in other and set(numbers) <= set(of) for other, of in by_name.items())


def _offender(name: str, found: Sequence[Episode]) -> Offender:
    times = sorted(one.run.at for episode in found for one in episode.told)
    return Offender(
        name, len(found), len({one.run.id for episode in found for one in episode.told}), times[0], times[-1],
        any(episode.over is None for episode in found), tuple(_by_number(episode.last.check for episode in found)),
    )  # fmt: skip


def _by_number(checks: Iterable[str]) -> list[str]:
    counts: dict[str, int] = {}
    for check in checks:
        counts[check] = counts.get(check, 0) + 1
    return sorted(counts, key=lambda check: (-counts[check], check))
