"""Lines of EOS configuration a CPU second: ours against pyavd's for the same switch, in one process.

Run as a program it prints one JSON document. It is a program of its own because pyavd's memory would count for every command
that a process with pyavd in it starts.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import TypeVar

from tests.scale.bench_cluster import SPEC
from tests.scale.bench_run import run
from tests.scale.bench_table import Row

T = TypeVar("T")
RATIO = 100
DEVICE = "z01-ctsw01"  # a chassis of 288 ports
REPEATS = 5  # the best counts, for both


@dataclass(frozen=True, slots=True)
class Speeds:
    """Lines a CPU second. `ours` with the views built, `designed` with loading and designing the whole cluster added."""

    pyavd_lines: int
    our_lines: int
    pyavd: float
    ours: float
    designed: float


def pyavd_rows() -> Iterator[Row]:
    """Both ratios, measured in a process of its own."""
    figures, said = run([sys.executable, "-m", "tests.scale.bench_pyavd"])
    speeds = Speeds(**json.loads(said))
    bound = f"{RATIO} times"
    head = f"EOS lines a CPU s against pyavd's {speeds.pyavd:,.0f}"
    yield Row(
        f"{head}: {speeds.ours:,.0f}", bound, speeds.ours >= RATIO * speeds.pyavd, figures, _times(speeds.ours, speeds)
    )
    designed = f"... with load and design of all: {speeds.designed:,.0f}"
    yield Row(designed, bound, speeds.designed >= RATIO * speeds.pyavd, None, _times(speeds.designed, speeds))


def _times(speed: float, speeds: Speeds) -> str:
    return f"x{speed / speeds.pyavd:.0f}"


def measure() -> Speeds:
    """Both, in this process, warm: every CTSW of the 24k cluster by us, one CTSW by pyavd."""
    import pyavd  # type: ignore[import-untyped]

    from fabric.design.load import load_cluster
    from fabric.targets.eos import render
    from tests.targets.test_eos_pyavd import structured

    fabric = load_cluster(SPEC).fabric
    config = structured(fabric, fabric.by_name[DEVICE])
    eos = [switch for switch in fabric.switches if switch.nos == "eos"]

    def theirs() -> int:
        valid = pyavd.validate_structured_config(config).validated_data
        return len(pyavd.get_device_config(valid).splitlines())

    def ours() -> int:
        return sum(render(fabric, switch)[0].content.count(b"\n") for switch in eos)

    loading, _ = _best(partial(load_cluster, SPEC))
    our_seconds, our_lines = _best(ours)
    their_seconds, their_lines = _best(theirs)
    return Speeds(
        their_lines,
        our_lines,
        their_lines / their_seconds,
        our_lines / our_seconds,
        our_lines / (our_seconds + loading),
    )


def _best(work: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of the best of some calls after a first one that does not count, and the result.

    The collector is off, as it is in the processes that render: it would make each of the two pay for what the other one holds.
    """
    result = work()
    gc.disable()
    seconds = []
    for _ in range(REPEATS):
        gc.collect()
        start = time.process_time()
        result = work()
        seconds.append(time.process_time() - start)
    gc.enable()
    return min(seconds), result


if __name__ == "__main__":
    print(json.dumps(asdict(measure())))
