"""One run into the history."""

from __future__ import annotations

import json
from pathlib import Path

from fabric.verify.finding import Finding, count
from fabric.verify.history.store import History, Stamp
from fabric.verify.outcome import Outcome

KEEP_PASSES = 30
"""Runs of which every pass is kept; of older ones what failed or was unknown, and the counts (our choice: at 24,576 GPUs the passes of
one run of all checks are some 5 MB, and who looks further back asks what was wrong)."""
CLIP = 4000
"""Characters of a text that are kept; what devices say may be longer."""


def record(path: Path, stamp: Stamp, outcome: Outcome) -> str:
    """Appends a run; its name, which is the stamp's, or that with a number behind it when the second had a run already.

    All of it is kept or nothing. Raises FabricError: the file is locked, damaged, of a newer version, or the disk is full.
    """
    with History.write(path) as history:
        name, number = _run(history, stamp, outcome)
        history.base.executemany(
            "INSERT INTO findings VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
            [_finding(history, number, finding) for finding in outcome.findings],
        )
        if stamp.spec_text:
            row = (stamp.spec_sha256, stamp.spec_text)
            history.base.execute("INSERT OR IGNORE INTO specs (sha256, text) VALUES (?, ?)", row)
        _measurements(history, number, outcome)
        _parts(history, number, outcome)
        history.base.execute(
            "DELETE FROM findings WHERE verdict = 'pass' AND run <= ("
            "SELECT id FROM runs ORDER BY id DESC LIMIT 1 OFFSET ?)",
            (KEEP_PASSES,),
        )
    return name


def _run(history: History, stamp: Stamp, outcome: Outcome) -> tuple[str, int]:
    taken = {row[0] for row in history.base.execute("SELECT run FROM runs WHERE run LIKE ?", (f"{stamp.run}%",))}
    names = (stamp.run if again == 1 else f"{stamp.run}-{again}" for again in range(1, len(taken) + 2))
    name = next(name for name in names if name not in taken)
    counts = count(outcome.findings)
    row = (
        name, stamp.at, stamp.tool, stamp.spec, stamp.spec_sha256, json.dumps(list(outcome.checks)),
        json.dumps(list(outcome.selection)), counts.passed, counts.failed, counts.unknown,
    )  # fmt: skip
    added = history.base.execute(
        "INSERT INTO runs (run, at, tool, spec, spec_sha256, checks, selection, passed, failed, unknown)"
        " VALUES (?,?,?,?,?,?,?,?,?,?)", row,
    )  # fmt: skip
    return name, int(added.lastrowid or 0)


def _finding(history: History, run: int, finding: Finding) -> tuple[object, ...]:
    texts = (finding.measured, finding.expected, finding.action)
    return (
        run, finding.verdict, finding.severity, history.number(finding.check), history.number(finding.subject),
        history.numbers(finding.devices), history.numbers(finding.links), *(history.number(_clip(text)) for text in texts),
        history.numbers([_clip(line) for line in finding.evidence]), finding.count,
    )  # fmt: skip


def _measurements(history: History, run: int, outcome: Outcome) -> None:
    rows = [
        (
            run, one.stage, one.test, history.numbers(one.hosts), json.dumps(list(one.rails)), one.size,
            json.dumps(list(one.values)), one.state, history.number(_clip(one.reason)), one.wrong,
            history.numbers(one.trunks), history.number(_clip(one.source)), one.round,
        )
        for one in outcome.measurements
    ]  # fmt: skip
    history.base.executemany("INSERT INTO measurements VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", rows)


def _parts(history: History, run: int, outcome: Outcome) -> None:
    rows = [
        (
            run, part.kind, history.number(part.name), part.confidence, history.number(_clip(part.place)),
            history.numbers([_clip(line) for line in part.evidence]), history.numbers(part.others),
            history.number(_clip(part.next)), history.numbers(part.hosts),
        )
        for part in outcome.parts
    ]  # fmt: skip
    history.base.executemany("INSERT INTO parts VALUES (?,?,?,?,?,?,?,?,?)", rows)


def _clip(text: str) -> str:
    return text if len(text) <= CLIP else f"{text[:CLIP]} ..."
