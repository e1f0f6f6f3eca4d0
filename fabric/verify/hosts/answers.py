"""What hosts answered -> findings. An answer is untrusted: what is none is unknown, and no text of it is longer than a line."""

from __future__ import annotations

import dataclasses
import errno
import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fabric.verify.finding import Finding, Verdict
from fabric.verify.hosts.node.main import SCHEMA
from fabric.verify.hosts.node.result import clean
from fabric.verify.lldp_names import printable

SHOWN = 6
"""Hosts that the subject of a folded finding names."""
_VERDICTS: dict[str, Verdict] = {"pass": "pass", "fail": "fail", "unknown": "unknown"}
_TEXTS = ("check", "unit", "measured", "expected", "action")
PROVISION = "fabric apply --hosts provisions it"


def findings(names: Sequence[str], answers: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """All findings of the hosts, in their order; a host without an answer is unknown."""
    found: list[Finding] = []
    for name in names:
        found += _units(list(_host(name, answers.get(name))))
    return fold(found)


def _units(found: Sequence[Finding]) -> Iterator[Finding]:
    """One host's faults with equal words as one: eight NICs with the same wrong setting."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in found:
        key = (finding.check, finding.verdict, finding.measured, finding.expected, finding.severity)
        groups.setdefault(key, []).append(finding)
    for group in groups.values():
        units = [finding.subject.partition(": ")[2] for finding in group]
        subject = f"{group[0].devices[0]}: {', '.join(units)}" if len(group) > 1 and all(units) else group[0].subject
        yield group[0] if len(group) == 1 else dataclasses.replace(group[0], subject=subject, count=len(group))


def _host(name: str, answer: Mapping[str, Any] | None) -> Iterator[Finding]:
    if answer is None:
        yield _unread(name, "it told nothing before the end")
        return
    if answer.get("unreachable"):
        yield _unread(name, f"not reached: {_said(answer)}", "is it up, and does SSH let this user in?")
        return
    try:
        document = json.loads(str(answer.get("stdout") or ""))
        if document["schema"] != SCHEMA:
            raise ValueError
        rows = [row for row in document["results"] if isinstance(row, dict)]
    except (ValueError, KeyError, TypeError, RecursionError):
        yield _unread(name, *_no_answer(answer))
        return
    for row in rows:
        yield _finding(name, row)


def _no_answer(answer: Mapping[str, Any]) -> tuple[str, str]:
    """Why there are no results, and what to do."""
    said = _said(answer)
    # all that ansible-core 2.19 says of a program that is not there
    nothing_ran = said == "Error executing command." and answer.get("rc") == errno.ENOENT
    if nothing_ran or ("No such file or directory" in said and "check-host" in said):
        return "check-host is not installed", PROVISION
    if said.startswith("it says more than "):
        return f"check-host was cut off: {said}", f"that is no answer of check-host; {PROVISION}"
    if "Timed out" in said or "timed out" in said:
        return "check-host did not end in time", "is the host overloaded, or its disk gone?"
    return f"check-host gave no results: {said}", ""


def _said(answer: Mapping[str, Any]) -> str:
    texts = [str(answer.get(key) or "") for key in ("stderr", "msg", "stdout")]
    return printable(clean(next((text for text in texts if text.strip()), "no reason was given")), 160)


def _unread(name: str, why: str, action: str = "") -> Finding:
    return Finding("read.host", name, "unknown", why, "check-host answers", action, (), (name,), severity="critical")


@functools.lru_cache(maxsize=1 << 14)
def _line(text: str) -> str:
    """A text of a host as one harmless line; hosts say the same things over and over."""
    return printable(clean(text), 200)


def _finding(name: str, row: Mapping[str, Any]) -> Finding:
    """One result; a verdict that is none of ours counts as unknown."""
    check, unit, measured, expected, action = (_line(str(row.get(key) or "")[:2000]) for key in _TEXTS)
    return Finding(
        check or "host.unknown",
        f"{name}: {unit}" if unit else name,
        _VERDICTS.get(str(row.get("verdict")), "unknown"),
        measured,
        expected,
        action,
        (),
        (name,),
        severity="warning" if row.get("severity") == "warning" else "critical",
    )


def fold(found: Sequence[Finding]) -> list[Finding]:
    """Equal results of several hosts as one: a wrong version on 3,072 hosts is one finding. Passes of one check are one."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in found:
        if finding.verdict == "pass":
            key: tuple[str, ...] = (finding.check, "pass")
        else:
            unit = finding.subject.partition(": ")[2]
            key = (finding.check, finding.verdict, unit, finding.measured, finding.expected, finding.severity)
        groups.setdefault(key, []).append(finding)
    return [_one(group) for group in groups.values()]


def _one(group: Sequence[Finding]) -> Finding:
    first = group[0]
    hosts = tuple(dict.fromkeys(name for finding in group for name in finding.devices))
    if len(group) == 1:
        return first
    more = f" and {len(hosts) - SHOWN:,} more" if len(hosts) > SHOWN else ""
    subject = ", ".join(hosts[:SHOWN]) + more
    unit = first.subject.partition(": ")[2]
    if first.verdict == "pass":
        measured = expected = f"as declared on {len(hosts):,} {'host' if len(hosts) == 1 else 'hosts'}"
    else:
        measured, expected, subject = first.measured, first.expected, f"{subject}: {unit}" if unit else subject
    return Finding(
        first.check,
        subject,
        first.verdict,
        measured,
        expected,
        first.action,
        (),
        hosts,
        len(group),
        severity=first.severity,
    )
