"""The noun of this room: one result of one check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["pass", "fail", "unknown"]
Severity = Literal["critical", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One result.

    `check` is the kind and what of it was checked (`cabling.link`, `routing.session`, ...). `subject` is what it is about (a device,
    `device:port`, or a link `device:port <-> device:port`); `devices` are the names in it, for selection.
    `verdict`: `fail` only where it was seen that something is wrong; what could not be seen is `unknown`, with the reason in `measured`.
    `action` says what to do, empty for a pass; `evidence` are the observations behind it, one sentence each.
    `links` are the subjects of the links that it is about, so that what follows from a wrong cable is not told twice.
    `severity` of a fail: `critical`, or `warning` where work may go on.
    `count` is how many things it stands for: a pass may stand for all routes of a switch, a fail for several equal ones.
    """

    check: str
    subject: str
    verdict: Verdict
    measured: str
    expected: str
    action: str = ""
    evidence: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    count: int = 1
    links: tuple[str, ...] = ()
    severity: Severity = "critical"

    @property
    def kind(self) -> str:
        """The check's first word: cabling, routing, qos, sm, ..."""
        return self.check.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many findings there are of each verdict, and how many things the passes stand for."""

    passed: int
    failed: int
    unknown: int


def count(findings: Iterable[Finding]) -> Counts:
    """Counts of findings; a pass or an unknown counts for all it stands for, a fail for one fault."""
    passed = failed = unknown = 0
    for finding in findings:
        if finding.verdict == "pass":
            passed += finding.count
        elif finding.verdict == "fail":
            failed += 1
        else:
            unknown += finding.count
    return Counts(passed, failed, unknown)


def touching(findings: Iterable[Finding], devices: frozenset[str] | None) -> list[Finding]:
    """The findings that are about one of the devices; all when None."""
    if devices is None:
        return list(findings)
    return [finding for finding in findings if not finding.devices or not devices.isdisjoint(finding.devices)]
