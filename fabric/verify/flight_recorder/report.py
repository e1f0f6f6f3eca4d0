"""What was found, for people and as data, version `fabric.flight-recorder/1`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fabric.verify import report
from fabric.verify.finding import Finding
from fabric.verify.flight_recorder.model import Analysis, Wait
from fabric.verify.flight_recorder.place import Located, Placed
from fabric.verify.flight_recorder.spans import spans
from fabric.words import counted, verb

SCHEMA = "fabric.flight-recorder/1"
SHOWN = 8
"""Waits that are told in a short report."""
_MOST_RUNS = 100_000  # runs of ranks in the data: all of them


def lines(analysis: Analysis, findings: Sequence[Finding], *, full: bool = False) -> Iterator[str]:
    """The report: what there is, the findings, who waits for whom, and what limits the evidence."""
    yield head(analysis)
    yield ""
    yield from report.lines(findings, full=full)
    waits = widest(analysis.waits)
    if waits:
        yield ""
        yield "who waits for whom"
        yield from (f"  {told(wait)}" for wait in (waits if full else waits[:SHOWN]))
        if len(waits) > SHOWN and not full:
            yield f"  and {len(waits) - SHOWN:,} more (--full)"
    for note in analysis.notes:
        yield f"note: {note}"


def head(analysis: Analysis) -> str:
    """One line: ranks, dumps, versions, groups."""
    versions = ", ".join(analysis.versions) or "none"
    return (
        f"{counted(analysis.world, 'rank')}, {counted(analysis.seen, 'usable dump')} (version {versions}), "
        f"{counted(analysis.entries, 'entry', 'entries')}, {counted(analysis.groups, 'group')}, "
        f"{len(analysis.stalled):,} of them {verb(len(analysis.stalled), 'stalls', 'stall')}"
    )


def widest(waits: Sequence[Wait]) -> list[Wait]:
    """Those of most ranks first."""
    return sorted(waits, key=lambda wait: (-len(wait.waiters), wait.group, wait.seq))


def told(wait: Wait) -> str:
    """One wait in words."""
    many = len(wait.waiters)
    what = {"transfer": "transfer", "collective": "number", "no-dump": "number"}[wait.how]
    sure = "" if wait.sure else " (or its half has ended)"
    return (
        f"{wait.group}, {what} {wait.seq}: {verb(many, 'rank', 'ranks')} {spans(wait.waiters)} {verb(many, 'waits', 'wait')} "
        f"for {spans(wait.waited)}{' (no dump)' if wait.how == 'no-dump' else ''}{sure}"
    )


def document(analysis: Analysis, located: Sequence[Located], findings: Sequence[Finding], spec: str) -> dict[str, Any]:
    """The report as data; ranks in runs, as `0-7, 9`."""
    return {
        "schema": SCHEMA,
        "spec": spec,
        "exit_code": report.exit_code(findings),
        "world": analysis.world,
        "dumps": analysis.seen,
        "entries": analysis.entries,
        "versions": list(analysis.versions),
        "groups": analysis.groups,
        "stalled": list(analysis.stalled),
        "missing": _all(analysis.missing),
        "unread": [{"rank": item.rank, "file": item.source, "reason": item.reason} for item in analysis.unread],
        "culprits": [_culprit(item) for item in located],
        "waits": [
            {
                "group": wait.group, "number": wait.seq, "how": wait.how, "sure": wait.sure,
                "waiters": _all(wait.waiters), "waited_for": _all(wait.waited),
            }
            for wait in widest(analysis.waits)
        ],
        "lagging": {str(rank): list(groups) for rank, groups in sorted(analysis.lagging.items())},
        "notes": list(analysis.notes),
        "findings": report.document(findings, spec, ())["findings"],
    }  # fmt: skip


def _all(ranks: tuple[int, ...]) -> str:
    return spans(ranks, _MOST_RUNS)


def _culprit(item: Located) -> dict[str, Any]:
    culprit, part = item.culprit, item.part
    return {
        "cause": culprit.cause,
        "ranks": list(culprit.ranks),
        "proven": culprit.proven,
        "confidence": culprit.confidence,
        "waited_by": culprit.waited_by,
        "group": culprit.group,
        "kind": part.kind,
        "name": part.name,
        "place": part.place,
        "evidence": list(part.evidence),
        "others": list(part.others),
        "next": part.next,
        "seats": [_seat(place) for place in item.placed],
    }


def _seat(place: Placed) -> Mapping[str, Any]:
    seat = place.seat
    known: dict[str, Any] = {"rank": place.rank, "host": place.host, "gpu": place.gpu}
    if seat is not None:
        known |= {
            "nic": seat.nic, "hca": seat.hca, "switch": seat.switch, "port": seat.port, "zone": seat.zone, "rack": seat.rack,
        }  # fmt: skip
    return known
