"""The plan for people: groups of devices with the same change, the largest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal

from fabric.change.abstract import Collapsed
from fabric.change.names import compress_names
from fabric.change.plan import DeviceKind, FileChange, Group, Plan
from fabric.words import counted, once

Detail = Literal["groups", "summary", "full"]

_WIDTH = 240
"""Characters of a line that are shown when devices are grouped; `--full` shows all."""
_VERB = {
    "new": "new",
    "changed": "changed",
    "replaced": "replaced as a whole",
    "removed": "no longer declared",
    "waiting": "waits for it",
}


def show_plan(plan: Plan, detail: Detail = "groups", limit: int | None = None) -> Iterator[str]:
    """Lines of text. "groups" shows each change once, "summary" only counts, "full" every line of every device.

    `limit`: so many lines of each group's change, and how many more there are. A plan that was made without the devices' own
    changes shows the groups' in full.
    """
    yield _headline(plan)
    for device in plan.devices:
        if device.kind == "unknown":
            yield f"could not read {once(device.name, device.note)}"
    if detail == "full" and plan.full:
        for device in plan.devices:
            if device.kind not in ("same", "unknown"):
                yield ""
                yield f"{device.name}{f' ({device.role})' if device.role else ''}: {_what(device.kind)}"
                yield from _files(plan.full.get(device.name, ()), detail)
        return
    for group in plan.groups:
        yield ""
        yield _title(group)
        yield f"  {compress_names(group.devices)}"
        yield from _limited(_files(group.files, detail), limit)


def _limited(lines: Iterable[str], limit: int | None) -> Iterator[str]:
    rest = iter(lines)
    yield from islice(rest, limit)
    more = sum(1 for _ in rest)
    if more:
        yield f"    ... {counted(more, 'more line')} (--full)"


def _headline(plan: Plan) -> str:
    total = counted(len(plan.devices), "device")
    if plan.exit_code == 0:
        return f"nothing to do: {total} as declared (against {plan.against})"
    words: tuple[tuple[DeviceKind, str], ...] = (
        ("changed", "to change"),
        ("new", "new"),
        ("extra", "not declared"),
        ("unknown", "not readable"),
        ("same", "as declared"),
    )
    counts = [f"{plan.count(kind):,} {word}" for kind, word in words if plan.count(kind)]
    return f"{total}: {', '.join(counts)} (against {plan.against})"


def _title(group: Group) -> str:
    number = len(group.devices)
    role = f" ({group.role})" if group.role else ""
    if number == 1:
        return f"1 device{role}, {_what(group.kind)}:"
    return f"{number:,} devices{role}, {'same change' if group.kind == 'changed' else _what(group.kind)}:"


def _what(kind: str) -> str:
    return {"new": "new", "extra": "not declared"}.get(kind, "changes")


def _files(files: tuple[FileChange, ...], detail: Detail) -> Iterator[str]:
    for file in files:
        note = f" ({file.note})" if file.note else ""
        yield f"  {file.path}: {_VERB[file.kind]}{note}{_counts(file) if file.changes else ''}"
        if detail == "summary":
            continue
        context: tuple[str, ...] = ()
        for change in file.changes:
            if change.example.context != context:
                context = change.example.context
                yield from (f"    {line}" for line in context)
            yield from _change(change, detail)


def _counts(file: FileChange) -> str:
    tally = {"+": 0, "-": 0, "~": 0}
    for change in file.changes:
        for line in change.example.lines:
            if line[0] in tally:
                tally[line[0]] += change.count
    said = " ".join(f"{sign}{number:,}" for sign, number in tally.items() if number)
    return f", {said}" if said else ""


def _change(change: Collapsed, detail: Detail) -> Iterator[str]:
    for index, line in enumerate(change.example.lines):
        shown = line if detail == "full" or len(line) <= _WIDTH else f"{line[:_WIDTH]}... ({len(line):,} characters)"
        last = index == len(change.example.lines) - 1
        yield f"    {shown}{_times(change) if last and change.count > 1 else ''}"


def _times(change: Collapsed) -> str:
    names = ", ".join(change.subjects[:3]) + (", ..." if len(change.subjects) > 3 else "")
    return f"   x {change.count:,}" + (f" ({names})" if names else "")
