"""Runs for the history's tests: findings in few words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fabric.verify.collectives.model import Measurement
from fabric.verify.finding import Finding, Verdict
from fabric.verify.history import Stamp, record
from fabric.verify.outcome import Outcome

CLUSTER = "lab"


def finding(
    check: str, subject: str, verdict: Verdict = "fail", devices: Sequence[str] = (), measured: str = "x"
) -> Finding:
    names = tuple(devices) or tuple(end.partition(":")[0] for end in subject.split(" <-> "))
    return Finding(check, subject, verdict, measured, "y", "mend it", ("seen",), names)


def outcome(
    *found: Finding, checks: Sequence[str] = ("hosts",), of: Sequence[str] = (), measured: Sequence[Measurement] = ()
) -> Outcome:
    return Outcome(CLUSTER, checks, (*found, finding("host.all", "h9", "pass")), of, measured)


def keep(path: Path, day: int, kept: Outcome, *, sha: str = "0" * 64, tool: str = "0.1.0", spec: str = "") -> str:
    """Appends a run of that day of January."""
    return record(
        path, Stamp(f"202601{day:02}-120000", f"2026-01-{day:02}T12:00:00Z", tool, "cluster.yaml", sha, spec), kept
    )
