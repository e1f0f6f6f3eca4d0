"""Findings for people, and as JSON data. For people: what is wrong, then what could not be seen, then how much is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fabric.verify.finding import Finding, count
from fabric.words import counted

SCHEMA = "fabric.validate/1"
SHOWN = 6
"""Subjects of like unknowns that are named in a short report."""


def exit_code(findings: Sequence[Finding]) -> int:
    """2 when something failed; 1 when nothing could be judged at all; else 0, also with unknowns, which are listed."""
    counts = count(findings)
    if counts.failed:
        return 2
    return 0 if counts.passed else 1


def lines(findings: Sequence[Finding], *, full: bool = False) -> Iterator[str]:
    """The report; `full` also has the evidence, every unknown and every pass."""
    for finding in findings:
        if finding.verdict == "fail":
            yield from _fault(finding, full=full)
    yield from _unknowns(findings, full=full)
    if full:
        for finding in findings:
            if finding.verdict == "pass":
                yield f"pass     {finding.check}: {finding.subject}: {finding.measured}{_times(finding)}"
    yield from summary(findings)


def _fault(finding: Finding, *, full: bool) -> Iterator[str]:
    yield f"{'FAIL' if finding.severity == 'critical' else 'WARN':8} {finding.check}: {finding.subject}"
    yield f"         found     {finding.measured}"
    yield f"         expected  {finding.expected}"
    if finding.action:
        yield f"         do        {finding.action}"
    if full:
        for evidence in finding.evidence:
            yield f"         because   {evidence}"
    yield ""


def _unknowns(findings: Sequence[Finding], *, full: bool) -> Iterator[str]:
    """Those of one check and reason together: a rack of silent hosts is one line."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if finding.verdict == "unknown":
            key = finding.measured if full else _reason(finding)
            groups.setdefault((finding.check, key), []).append(finding)
    for (check, reason), found in groups.items():
        subjects = [finding.subject for finding in found]
        if full or len(found) == 1:
            for finding in found:
                yield f"unknown  {check}: {finding.subject}: {finding.measured}"
                if finding.action:
                    yield f"         do        {finding.action}"
        else:
            yield f"unknown  {check}: {len(found):,} times: {reason}"
            more = f", and {len(found) - SHOWN:,} more (--full)" if len(found) > SHOWN else ""
            yield f"         at        {', '.join(subjects[:SHOWN])}{more}"
        yield ""


def _reason(finding: Finding) -> str:
    """The reason without the names of this one subject, so that equal reasons meet."""
    text = finding.measured
    names = {name for link in finding.links or (finding.subject,) for name in link.split(" <-> ")}
    for name in sorted([*names, *finding.devices], key=len, reverse=True):
        text = text.replace(name, "it" if name in finding.devices else "a port")
    return text


def _times(finding: Finding) -> str:
    return f" ({finding.count:,})" if finding.count > 1 else ""


def summary(findings: Sequence[Finding]) -> Iterator[str]:
    """One line for each kind of check, and a loud one when something could not be seen."""
    kinds = dict.fromkeys(finding.kind for finding in findings)
    for kind in kinds:
        counts = count([finding for finding in findings if finding.kind == kind])
        if kind != "read":
            yield f"{kind}: {counts.failed:,} failed, {counts.unknown:,} unknown, {counts.passed:,} passed"
    for noun in ("device", "host"):
        unread = sum(finding.count for finding in findings if finding.check == f"read.{noun}")
        if unread:
            yield f"WARNING: {counted(unread, noun)} could not be read"
    unknown = count(findings).unknown
    if unknown:
        yield f"WARNING: {unknown:,} result{'s are' if unknown > 1 else ' is'} unknown: not proven right, not proven wrong"


def document(findings: Sequence[Finding], spec: str, checks: Sequence[str]) -> dict[str, Any]:
    """The report as data, version `fabric.validate/1`: every finding, in order; passes too."""
    counts = count(findings)
    return {
        "schema": SCHEMA,
        "spec": spec,
        "checks": list(checks),
        "exit_code": exit_code(findings),
        "passed": counts.passed,
        "failed": counts.failed,
        "unknown": counts.unknown,
        "findings": [_data(finding) for finding in findings],
    }


def _data(finding: Finding) -> dict[str, Any]:
    return {
        "check": finding.check,
        "subject": finding.subject,
        "verdict": finding.verdict,
        "measured": finding.measured,
        "expected": finding.expected,
        "action": finding.action,
        "evidence": list(finding.evidence),
        "devices": list(finding.devices),
        "links": list(finding.links),
        "count": finding.count,
        "severity": finding.severity,
    }
