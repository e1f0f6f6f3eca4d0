"""nccl-tests' text output -> NcclRun: old and new columns, launcher labels, several groups, several runs in one file, crashes.

A row counts only when it is whole and its numbers agree with each other; all else is dropped and the run is not complete.
Facts: reference hosts.md section 3.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fabric.errors import FabricError
from fabric.verify.collectives.launcher_lines import Line, lines_of
from fabric.verify.collectives.nccl_run import UNKNOWN, Device, NcclRun, group_size
from fabric.verify.collectives.row_checks import Printing, fits, guess, sharpened
from fabric.verify.collectives.row_text import Printed, finite, row_of

MAX_TEXT = 64 << 20
MAX_KEPT = 200
"""Failures of one run that are kept: a job of thousands of ranks says the same thousands of times."""

_VERSION = re.compile(r"# nccl-tests version (\S{1,40})")
_STARTING = re.compile(r"# Collective test starting: (\w{1,40}?)(?:_perf)?(?:\.exe)?\s*$")
_THREADS = re.compile(r"# ?nThread (\d{1,4}) nGpus (\d{1,4}) (?:minBytes \d{1,18} maxBytes (\d{1,18})\b)?")
_DEVICE = re.compile(
    r"#\s+Rank\s+(\d{1,7})(?:\s+Group\s+(\d{1,7}))?\s+Pid\s+\d+\s+on\s+(\S{1,255})\s+device\s+(\d{1,4})\s+\[([0-9A-Za-z:.]{1,20})\]"
)
_HEADER = re.compile(r"#\s+size\s+count\s+type\b")
_BOUNDS = re.compile(r"#?\s*Out of bounds values\s*:\s*(\d{1,18})\s+(OK|FAILED)\b")
_AVERAGE = re.compile(r"#?\s*Avg bus bandwidth\s*:\s*([0-9.e+-]{1,30})(?:\s|$)")
_ERROR = re.compile(r"# error: (.{1,400})")
_COMMAND = re.compile(
    r"(?:^|[\s/])(all_gather|all_reduce|reduce_scatter|alltoallv?|sendrecv|broadcast|reduce|gather|scatter|hypercube)_perf\b"
)
_FAILURE = re.compile(
    r"Test NCCL failure|Test CUDA failure|Test failure|Test timeout|Invalid number of GPUs|"
    r"(?:srun|slurmstepd): error:|unable to launch|not enough slots|command not found|No such file or directory|"
    r"mpirun noticed that process|prterun noticed that process|exited on signal|CANCELLED AT|DUE TO TIME LIMIT|no cuda-capable device"
)  # fmt: skip
_WHOLE_COUNTS = re.compile(r"\s*\d+\s+\d+\s+[a-z]")
"""How every data row begins, and no other line."""


@dataclass(slots=True)
class _Builder:
    """One run of one stream while it is read."""

    tag: int | None
    version: str = ""
    collective: str = ""
    threads: int = 0
    asked: int = 0
    devices: list[Device] = field(default_factory=list)
    rows: list[Printed] = field(default_factory=list)
    dropped: int = 0
    bounds: tuple[int, bool] | None = None
    average: float | None = None
    failures: list[str] = field(default_factory=list)
    errors_column: bool = False
    root_column: bool = False
    cpu_time: bool = False
    headed: bool = False

    @property
    def began(self) -> bool:
        return bool(self.threads or self.devices or self.rows or self.dropped or self.bounds)


def parse_nccl_text(text: str, *, source: str, collective: str = "") -> NcclRun:
    """The one run of a text; FabricError when it holds none, or several (`parse_nccl_runs` takes those).

    `collective` is said by whoever started it; else the run, or the command in the text, says it.
    """
    runs = parse_nccl_runs(text, source=source, collective=collective)
    if len(runs) != 1:
        found = "no output of nccl-tests" if not runs else f"{len(runs)} runs of nccl-tests, not one"
        raise FabricError(f"{source}: {found}")
    return runs[0]


def parse_nccl_runs(text: str, *, source: str, collective: str = "") -> tuple[NcclRun, ...]:
    """Every run of a text, in order of their first lines; of a run in groups, one for each group whose lines are labelled.

    A text with failures and without any run gives one run without rows. Empty without both.
    """
    if len(text) > MAX_TEXT:
        raise FabricError(
            f"{source}: {len(text):,} characters of nccl-tests output, more than the {MAX_TEXT:,} that are read"
        )
    reader = _Reader(collective)
    for line in lines_of(text):
        reader.take(line)
    lists = _Lists(reader.closed)
    return tuple(_finish(builder, reader, lists, source) for builder in reader.done())


class _Reader:
    """Sorts lines into streams by their label, and streams into runs."""

    def __init__(self, collective: str) -> None:
        self.said = collective
        self.command = ""
        self.open: dict[int | None, _Builder] = {}
        self.closed: list[_Builder] = []
        self.strays: list[str] = []

    def take(self, line: Line) -> None:
        text = line.text
        if not self.command and (found := _COMMAND.search(text)):
            self.command = found[1]
        if _WHOLE_COUNTS.match(text):
            self._row(line)
            if broken := _FAILURE.search(text):
                self._failure(text[broken.start() :], line.tag)
        elif text.lstrip().startswith("#") or "Out of bounds values" in text or "Avg bus bandwidth" in text:
            self._comment(line)
        elif _FAILURE.search(text):
            self._failure(text.strip(), line.tag)

    def _at(self, tag: int | None) -> _Builder:
        if tag not in self.open:
            self.open[tag] = _Builder(tag)
            self.closed.append(self.open[tag])
        return self.open[tag]

    def _fresh(self, tag: int | None, *, after: bool) -> _Builder:
        """The stream's run; a new one when `after` says that the old one is over."""
        if after:
            self.open.pop(tag, None)
        return self._at(tag)

    def _row(self, line: Line) -> None:
        builder = self._at(line.tag)
        row = row_of(line.text, errors_column=builder.errors_column, root=builder.root_column) if line.whole else None
        if row is None:
            builder.dropped += 1
        else:
            builder.rows.append(row)

    def _comment(self, line: Line) -> None:
        text, tag = line.text.strip(), line.tag
        now = self.open.get(tag)
        if not line.whole:
            return  # a cut line may hold a cut number
        if found := _DEVICE.match(text):
            # a rank that is listed already begins another run
            rank = int(found[1])
            again = now is not None and any(rank == device.rank for device in now.devices[:1])
            self._fresh(tag, after=again).devices.append(
                Device(rank, int(found[2] or 0), found[3], int(found[4]), found[5])
            )
        elif found := _VERSION.match(text):
            self._fresh(tag, after=now is not None and now.began).version = found[1]
        elif found := _STARTING.match(text):
            self._fresh(tag, after=now is not None and now.began).collective = found[1]
        elif found := _THREADS.match(text):
            builder = self._fresh(tag, after=now is not None and now.began)
            builder.threads, builder.asked = int(found[1]) * int(found[2]), int(found[3] or 0)
        elif _HEADER.match(text):
            builder = self._at(tag)
            builder.headed = True
            builder.errors_column = "#wrong" not in text and "error" in text
            builder.root_column = "root" in text
            builder.cpu_time = "cputime" in text
        elif found := _BOUNDS.match(text):
            self._at(tag).bounds = (int(found[1]), found[2] == "OK")
        elif found := _AVERAGE.match(text):
            self._at(tag).average = finite(found[1])
        elif found := _ERROR.match(text):
            self._failure(found[1].strip(), tag)

    def _failure(self, text: str, tag: int | None) -> None:
        """Failures come from any rank; they belong to the run that is being printed."""
        began = self.open.get(tag) or next(reversed(self.open.values()), None)
        kept = self.strays if began is None else began.failures
        if len(kept) < MAX_KEPT and text[:400] not in kept:
            kept.append(text[:400])

    def done(self) -> list[_Builder]:
        """The runs that hold something."""
        runs = [builder for builder in self.closed if builder.began]
        stray = list(dict.fromkeys([*self.strays, *(text for b in self.closed if not b.began for text in b.failures)]))
        if not stray:
            return runs
        if runs:
            runs[0].failures[:0] = stray
            return runs
        return [_Builder(None, failures=stray)]


def _finish(builder: _Builder, reader: _Reader, lists: _Lists, source: str) -> NcclRun:
    devices, groups = lists.members(builder)
    nranks = group_size(devices)
    rows = tuple(printed.row for printed in builder.rows)
    collective = reader.said or builder.collective or reader.command or guess(rows, nranks)
    # in groups of unequal size, no one factor is right for all
    known = collective if nranks else UNKNOWN
    kept = [
        sharpened(printed.row, known, nranks, printed.timely) if not builder.cpu_time else printed.row
        for printed in builder.rows
        if fits(printed.row, known, nranks, Printing(printed.slack, printed.floor, timed=not builder.cpu_time))
    ]
    failures = list(builder.failures)
    unreadable = builder.dropped + len(rows) - len(kept)
    if groups > 1 and len({(row.size, row.type, row.redop) for row in kept}) < len(kept):
        kept = []
        failures.append(
            f"the rows of {groups} groups cannot be told apart: start it with srun --label or mpirun --tag-output"
        )
    return NcclRun(
        collective, nranks, tuple(devices), tuple(kept), builder.bounds, builder.average, builder.bounds is not None, unreadable,
        tuple(failures), builder.asked, builder.version, source, groups,
        list_open=not (builder.headed or builder.rows or builder.dropped or failures or builder.bounds),
    )  # fmt: skip


class _Lists:
    """The device lists of a text, and whose rows are whose.

    Only the first rank lists devices, of all groups. Where every group prints its own rows, the label says whose they are.
    """

    def __init__(self, runs: list[_Builder]) -> None:
        self.labelled = sum(1 for run in runs if run.rows and run.tag is not None)
        self.before: dict[int, _Builder | None] = {}
        self.groups: dict[int, dict[int, list[Device]]] = {}
        last: _Builder | None = None
        for run in runs:
            self.before[id(run)] = last
            last = run if run.devices else last

    def members(self, run: _Builder) -> tuple[list[Device], int]:
        """The devices that the rows of a run are of, and in how many groups they ran."""
        lists = run if run.devices else self.before.get(id(run))
        if lists is None:
            return [], 1
        if id(lists) not in self.groups:
            by_group = self.groups.setdefault(id(lists), {})
            for device in lists.devices:
                by_group.setdefault(device.group, []).append(device)
        by_group = self.groups[id(lists)]
        if len(by_group) > 1 and run.tag is not None and self.labelled > 1:
            mine = _group_of(lists.devices, run.tag * max(lists.threads, 1))
            if mine is not None:
                return by_group[mine], 1
        return lists.devices, len(by_group)


def _group_of(devices: list[Device], rank: int) -> int | None:
    """The group of a rank; lists are in rank order, unless a line is missing."""
    near = devices[rank : rank + 1]
    if near and near[0].rank == rank:
        return near[0].group
    return next((device.group for device in devices if device.rank == rank), None)


def is_nccl_text(text: str) -> bool:
    """Whether a text looks like output of nccl-tests."""
    return bool(
        re.search(r"#\s+size\s+count\s+type|# nThread \d|# Collective test starting|Test (?:NCCL|CUDA) failure", text)
    )
