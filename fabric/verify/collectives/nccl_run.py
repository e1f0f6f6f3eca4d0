"""One run of an nccl-tests program, however it was recorded, and the measurement that several repeats of it make.

Facts: reference hosts.md sections 3.1 to 3.3 (nccl-tests 2.19.6 and older).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from fabric.verify.collectives.model import Measurement, Stage, State
from fabric.words import counted

NEAR = 0.98
"""Share of the size asked for that the largest row has at least: sizes are rounded down to whole elements of each rank."""

UNKNOWN = "unknown"
"""The collective of a run that does not say what it was: old releases without the command that started them."""

NO_BUS = "0x00"
"""Of `node/mpi_rows.py`, in the place of a GPU's PCI address."""

SUMMED = ("all_gather", "reduce_scatter", "alltoall", "gather", "scatter")
"""Collectives whose size is that of all ranks together: count x ranks x size of an element (hosts.md 3.3)."""

_BUS: Mapping[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    **dict.fromkeys((*SUMMED, "alltoallv"), lambda n: (n - 1) / n),
    **dict.fromkeys(("broadcast", "reduce", "sendrecv", "hypercube"), lambda _: 1.0),
}
"""Bus bandwidth by algorithm bandwidth, of n ranks (hosts.md 3.3)."""


@dataclass(frozen=True, slots=True)
class Device:
    """One line of `Using devices`: the rank, its group (0 without a split), its host, the GPU's index and PCI address."""

    rank: int
    group: int
    host: str
    device: int
    bus: str


@dataclass(frozen=True, slots=True)
class Half:
    """The out-of-place or the in-place half of a row: microseconds, GB/s; `wrong` elements, None when nothing was checked.

    A number that is not finite (nan, inf) is None.
    """

    time_us: float | None
    algbw: float | None
    busbw: float | None
    wrong: int | None


@dataclass(frozen=True, slots=True)
class Row:
    """One size: bytes, elements, their type, the reduction (`none` without one)."""

    size: int
    count: int
    type: str
    redop: str
    oop: Half | None
    inplace: Half | None

    @property
    def busbw(self) -> float | None:
        """Bus bandwidth in GB/s: out of place, or in place where there is nothing else."""
        for half in (self.oop, self.inplace):
            if half is not None and half.busbw is not None:
                return half.busbw
        return None

    @property
    def wrong(self) -> int | None:
        """Wrong elements of both halves; None when neither was checked."""
        counts = [half.wrong for half in (self.oop, self.inplace) if half is not None and half.wrong is not None]
        return sum(counts) if counts else None


@dataclass(frozen=True, slots=True)
class NcclRun:
    """What one run printed. `nranks` of one group, 0 when no device was listed; `groups`: how many groups ran at the same time.

    With several groups, a run that could be given to one of them has only its devices; else `groups` > 1, and the rows stand for all
    of them together. `ended`: it was printed to its end. `unreadable`: rows that were cut, mixed with other lines, or contradict
    themselves. `complete`: it ended, every row could be read, and no failure was told. `asked`: bytes of the largest size asked for, 0
    when it was not said. `out_of_bounds`: how many values, and whether that was OK. `average` is over all sizes and both halves: never
    a gate. `list_open`: nothing follows its devices, so that more of them may have been cut off.
    """

    collective: str
    nranks: int
    devices: tuple[Device, ...]
    rows: tuple[Row, ...]
    out_of_bounds: tuple[int, bool] | None
    average: float | None
    ended: bool
    unreadable: int = 0
    failures: tuple[str, ...] = ()
    asked: int = 0
    version: str = ""
    source: str = ""
    groups: int = 1
    list_open: bool = False

    @property
    def complete(self) -> bool:
        """It ended, every row could be read, and no failure was told."""
        return self.ended and not self.unreadable and not self.failures and bool(self.rows)

    @property
    def listed(self) -> bool:
        """Whether its list of devices looks whole: something follows it, and in each group ranks have one distance."""
        return bool(self.devices) and not self.list_open and even(self.devices)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Its hosts in rank order."""
        return tuple(dict.fromkeys(device.host for device in self.devices))

    @property
    def by_mpi(self) -> bool:
        """Whether no GPU took part: `node/mpi_rows.py` has no PCI address to print."""
        return bool(self.devices) and all(device.bus == NO_BUS for device in self.devices)

    @property
    def rails(self) -> tuple[int, ...]:
        """The one GPU index that every host took part with; empty when hosts took part with several."""
        indexes = {device.device for device in self.devices}
        return tuple(indexes) if len(indexes) == 1 and len(self.devices) == len(self.hosts) else ()

    @property
    def largest(self) -> int:
        """Bytes of the largest row that has a bandwidth; 0 without any."""
        return max((row.size for row in self.rows if row.busbw is not None), default=0)

    @property
    def wrong(self) -> int | None:
        """Wrong elements over all rows; None when nothing was checked."""
        counts = [row.wrong for row in self.rows if row.wrong is not None]
        return sum(counts) if counts else None


def busbw_factor(collective: str, nranks: int) -> float | None:
    """Bus bandwidth divided by algorithm bandwidth; None for a collective that is not known or fewer than 1 rank (hosts.md 3.3)."""
    factor = _BUS.get(collective)
    return None if factor is None or nranks < 1 else factor(nranks)


def even(devices: Iterable[Device]) -> bool:
    """Whether the ranks of each group have one distance, as every split but the odd ones makes them: no line is missing."""
    ranks: dict[int, list[int]] = {}
    for device in devices:
        ranks.setdefault(device.group, []).append(device.rank)
    steps = ({after - before for before, after in pairwise(sorted(found))} for found in ranks.values())
    return all(len(found) < 2 for found in steps)


def group_size(devices: Sequence[Device]) -> int:
    """Ranks of one group; 0 when groups differ in size, and when a line seems to be missing."""
    sizes: dict[int, int] = {}
    for device in devices:
        sizes[device.group] = sizes.get(device.group, 0) + 1
    return next(iter(sizes.values())) if len(set(sizes.values())) == 1 and even(devices) else 0


def measurement_of(
    runs: NcclRun | Sequence[NcclRun],
    *,
    stage: Stage,
    hosts: tuple[str, ...] = (),
    rails: tuple[int, ...] | None = None,
    test: str = "",
    source: str = "",
    whole: bool = True,
) -> Measurement:
    """All repeats of one run as a measurement: bus bandwidth of each at the largest size, never the average over sizes.

    `hosts`, `rails`, `test`: of whoever started it; else what the run says of itself. Wrong or out-of-bounds data, a failure,
    or an end in the middle make it `broken`; a run that printed neither row nor devices, or says that it never began, was `unmade`.
    `whole`: the text is all that it printed. Of a file that is not known: one that ends in the middle may be cut off, or still be written.
    """
    repeats = (runs,) if isinstance(runs, NcclRun) else tuple(runs)
    if not whole:  # what is whole counts
        repeats = tuple(run for run in repeats if not _cut(run)) or repeats
    first = repeats[0] if repeats else None
    size = max((run.largest for run in repeats), default=0)
    told = Measurement(
        stage,
        test or (first.collective if first else UNKNOWN),
        hosts or (first.hosts if first else ()),
        rails if rails is not None else (first.rails if first else ()),
        size=size,
        wrong=_sum(run.wrong for run in repeats),
        source=source or (first.source if first else ""),
        by="mpi" if first and first.by_mpi else "",
    )
    if first and first.devices and not first.listed and not hosts:
        return replace(
            told, state="unmade", reason="its list of devices is not whole: which hosts took part is not known"
        )
    judged = [_judge(run, size, whole=whole) for run in repeats] or [("unmade", "nothing was printed")]
    for state in ("broken", "unmade"):
        reasons = [reason for found, reason in judged if found == state]
        if reasons:
            among = f"{len(reasons)} of {counted(len(judged), 'repeat')}: " if len(judged) > 1 else ""
            return replace(told, state=state, reason=among + reasons[0])
    return replace(told, values=tuple(value for run in repeats for value in _values(run, size)))


def _values(run: NcclRun, size: int) -> list[float]:
    return [row.busbw for row in run.rows if row.size == size and row.busbw is not None]


def _cut(run: NcclRun) -> bool:
    """Whether a run does nothing worse than to end in the middle."""
    data = bool(run.wrong) or (run.out_of_bounds is not None and not run.out_of_bounds[1])
    return not (run.ended or run.failures or data)


def _judge(run: NcclRun, size: int, *, whole: bool) -> tuple[State, str]:
    """The state of one repeat, and why."""
    if run.wrong:
        return "broken", f"{counted(run.wrong, 'element')} with wrong data"
    if run.out_of_bounds is not None and not run.out_of_bounds[1]:
        return "broken", f"{counted(run.out_of_bounds[0], 'value')} out of bounds"
    never = [text for text in run.failures if any(words in text.lower() for words in NEVER_BEGAN)]
    began = run.devices or run.unreadable or any("Test " in text for text in run.failures)
    if not run.rows and (never or not began):
        return "unmade", (never or run.failures or ("it printed no result",))[0]
    if run.failures:
        return "broken", run.failures[0]
    if not run.ended:
        return ("broken", "it ended before its last lines") if whole else ("unmade", CUT)
    if run.unreadable and (not run.rows or not run.asked or run.largest < run.asked * NEAR):
        return "unmade", f"{counted(run.unreadable, 'row')} could not be read: mixed with other lines on the way"
    if run.largest < size:
        return "broken", f"it reached {run.largest:,} of {size:,} bytes"
    return "ok", ""


CUT = "it ends before its last lines: cut off, still running, or it hung"
"""Of a file: which of these it is, it does not say."""

NEVER_BEGAN = (
    "invalid number of gpus", "command not found", "no such file", "unable to launch", "not enough slots", "permission denied",
    "could not resolve", "invalid account", "requested nodes are busy", "no devices found", "no cuda-capable device",
    "cannot be told apart", "launch failed", "execve()", "unable to create step",
)  # fmt: skip
"""Words of failures that say that the test never began: of the program, of Slurm, of Open MPI, of a shell."""


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
