"""What a check is: a name, what it reads, and how it judges it. Small classes; no check reads anything by itself."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from typing import ClassVar

from fabric.design.hosts.expect import Expectation
from fabric.verify.hosts.node.result import CRITICAL, FAIL, PASS, UNKNOWN, Result, clean
from fabric.verify.hosts.node.sources import Seen, Source, Unseen


class Check:
    """One check. `needs` is empty when the expectation declares nothing for it: it does not apply, and there is no result.

    The class's docstring is its line in the documentation; `cases` are public failure reports that it answers to.
    """

    id: ClassVar[str]
    severity: ClassVar[str] = CRITICAL
    action: ClassVar[str] = ""
    cases: ClassVar[tuple[str, ...]] = ()

    def needs(self, want: Expectation) -> Sequence[Source]:
        """What it reads on this host."""
        raise NotImplementedError

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        """Its results. May raise Unseen: what it needs could not be read."""
        raise NotImplementedError

    def ok(self, unit: str, measured: str) -> Result:
        """It is as declared."""
        return Result(self.id, unit, PASS, self.severity, measured, measured)

    def bad(self, unit: str, measured: str, expected: str, action: str = "", severity: str = "") -> Result:
        """It was seen, and it is wrong."""
        return Result(
            self.id, unit, FAIL, severity or self.severity, clean(measured), clean(expected), action or self.action
        )

    def unseen(self, unit: str, why: object, expected: str = "") -> Result:
        """It could not be seen."""
        return Result(self.id, unit, UNKNOWN, self.severity, clean(str(why)), expected or "it can be seen")


class PerUnit(Check):
    """A check of several units, each judged by itself: one that cannot be seen leaves the others."""

    def units(self, want: Expectation) -> Sequence[str]:
        """Their names."""
        raise NotImplementedError

    def one(self, want: Expectation, seen: Seen, unit: str) -> Iterator[Result]:
        """The results of one unit. May raise Unseen."""
        raise NotImplementedError

    def judge(self, want: Expectation, seen: Seen) -> Iterator[Result]:
        """See Check."""
        reasons: dict[str, list[str]] = {}
        for unit in self.units(want):
            try:
                yield from self.one(want, seen, unit)
            except Unseen as why:
                reasons.setdefault(str(why), []).append(unit)
        for reason, units in reasons.items():
            every = len(units) == len(self.units(want)) and len(units) > 1
            for unit in [""] if every else units:
                yield self.unseen(unit, reason)


def chosen(checks: Sequence[Check], only: Sequence[str] = (), skip: Sequence[str] = ()) -> list[Check]:
    """The checks whose id fits a pattern of `only` (all when empty) and none of `skip`. ValueError names a pattern that fits none."""
    for pattern in (*only, *skip):
        if not any(fnmatch.fnmatchcase(check.id, pattern) for check in checks):
            raise ValueError(f"no check fits {pattern!r}")
    return [
        check
        for check in checks
        if (not only or _fits(check.id, only)) and not _fits(check.id, skip)
    ]  # fmt: skip


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def run(checks: Sequence[Check], want: Expectation, seen: Seen) -> list[Result]:
    """All results. A check that fails by itself is unknown, as one that could not be seen: no host is blamed for it."""
    found: list[Result] = []
    for check in checks:
        if not check.needs(want):
            continue
        mine: list[Result] = []
        try:
            mine.extend(check.judge(want, seen))
        except Unseen as why:
            mine.append(check.unseen("", why))
        except Exception as error:  # noqa: BLE001,RUF100 - told as unknown, with its name; the other checks still count
            mine.append(check.unseen("", f"this check broke: {type(error).__name__}: {error}"))
        found += mine
    return found


def sources(checks: Sequence[Check], want: Expectation) -> list[Source]:
    """What all of them read, each once."""
    return list(dict.fromkeys(source for check in checks for source in check.needs(want)))
