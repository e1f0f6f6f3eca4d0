"""A run out of the history again: findings, measurements and parts, as they were."""

from __future__ import annotations

import json
import math
from typing import Any, get_args

from fabric.errors import FabricError
from fabric.verify.collectives.model import Measurement, Part, PartKind, Stage, State
from fabric.verify.finding import Finding, Severity, Verdict
from fabric.verify.history.store import History, Run
from fabric.verify.outcome import Outcome


def outcome_of(history: History, run: Run, cluster: str) -> Outcome:
    """What a run found. Raises FabricError for a file that is damaged."""
    return Outcome(
        cluster, run.checks, findings_of(history, run), run.selection, measurements_of(history, run), (),
        parts_of(history, run),
    )  # fmt: skip


def findings_of(history: History, run: Run) -> list[Finding]:
    """Its findings in their order; of an old run without the passes."""
    rows = history.base.execute(
        'SELECT "check", subject, verdict, measured, expected, action, evidence, devices, count, links, severity'
        " FROM findings WHERE run = ? ORDER BY rowid", (run.id,),
    )  # fmt: skip
    text, texts = history.text, history.texts
    return [
        Finding(
            text(row[0]), text(row[1]), _one_of(history, row[2], Verdict), text(row[3]), text(row[4]), text(row[5]),
            texts(row[6]), texts(row[7]), _whole(history, row[8]), texts(row[9]), _one_of(history, row[10], Severity),
        )
        for row in rows
    ]  # fmt: skip


def measurements_of(history: History, run: Run) -> list[Measurement]:
    """Its measurements in their order."""
    rows = history.base.execute(
        'SELECT stage, test, hosts, rails, size, "values", state, reason, wrong, trunks, source, round'
        " FROM measurements WHERE run = ? ORDER BY rowid", (run.id,),
    )  # fmt: skip
    text, texts = history.text, history.texts
    return [
        Measurement(
            _one_of(history, row[0], Stage), str(row[1]), texts(row[2]), tuple(int(n) for n in numbers(history, row[3])),
            _whole(history, row[4]), tuple(numbers(history, row[5])), _one_of(history, row[6], State), text(row[7]),
            None if row[8] is None else _whole(history, row[8]), texts(row[9]), text(row[10]), _whole(history, row[11]),
        )
        for row in rows
    ]  # fmt: skip


def parts_of(history: History, run: Run) -> list[Part]:
    """Its located parts in their order."""
    rows = history.base.execute(
        "SELECT kind, name, confidence, place, evidence, others, next, hosts FROM parts WHERE run = ? ORDER BY rowid",
        (run.id,),
    )
    text, texts = history.text, history.texts
    return [
        Part(
            _one_of(history, row[0], PartKind), text(row[1]), _share(history, row[2]), text(row[3]), texts(row[4]), texts(row[5]),
            text(row[6]), texts(row[7]),
        )
        for row in rows
    ]  # fmt: skip


def numbers(history: History, text: Any) -> list[float]:
    """A list of numbers from its JSON. Raises FabricError when it is none."""
    try:
        found = json.loads(text)
        return [value for value in found if math.isfinite(value)]
    except (ValueError, TypeError, RecursionError):
        raise FabricError(f"{history.path} is damaged: numbers are no numbers") from None


def _whole(history: History, value: Any) -> int:
    if not isinstance(value, int):
        raise FabricError(f"{history.path} is damaged: a count is no number")
    return value


def _share(history: History, value: Any) -> float:
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise FabricError(f"{history.path} is damaged: a confidence is none")
    return value


def _one_of(history: History, value: Any, words: Any) -> Any:
    if value not in get_args(words):
        raise FabricError(f"{history.path} is damaged: it has a word that is none of fabric's")
    return value
