"""The rows of the benchmark, and how they are printed."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass

from tests.scale.bench_run import Figures

HEADS = ("what", "bound", "wall s", "CPU s", "largest MiB", "all MiB", "others", "verdict")
_BUSY = 0.2  # cores: from here on the wall time says more about the machine than about fabric


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: `bound` in words, whether it is kept, and the run that it comes from; `value` for what is no time."""

    what: str
    bound: str
    kept: bool
    figures: Figures | None = None
    value: str = ""

    def cells(self) -> tuple[str, ...]:
        """The texts of the row, one for each of HEADS."""
        verdict = "ok" if self.kept else "ABOVE"
        if self.figures is None:
            return (self.what, self.bound, self.value, "", "", "", "", verdict)
        run = self.figures
        if not self.kept and run.others > _BUSY:
            verdict = "ABOVE (busy machine)"
        wall = self.value or f"{run.wall:.2f}"
        return (
            self.what, self.bound, wall, f"{run.cpu:.2f}", _mib(run.largest), _mib(run.together), f"{run.others:.1f}", verdict,
        )  # fmt: skip


def within(what: str, run: Figures, *, seconds: float, gib: float | None = None) -> Row:
    """A row with a bound on wall time and, when given, on the memory of all processes together."""
    bound = f"{seconds:g} s" if gib is None else f"{seconds:g} s, {gib:g} GiB"
    kept = run.wall <= seconds and (gib is None or run.together <= gib * 2**30)
    return Row(what, bound, kept, run)


def table(rows: Sequence[Row], *, markdown: bool) -> str:
    """All rows, aligned for a terminal or as a Markdown table."""
    cells = [HEADS, *(row.cells() for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(HEADS))]
    lines = [[text.ljust(width) for text, width in zip(line, widths, strict=True)] for line in cells]
    if not markdown:
        return "\n".join("  ".join(line).rstrip() for line in lines)
    head, *body = ("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join([head, "|" + "|".join("-" * (width + 2) for width in widths) + "|", *body])


def machine() -> str:
    """The machine in general words."""
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f}"
