"""The InfiniBand scale check: the designed subnet booted on ibsim with opensm's ftree, read back by MADs, every pair walked.

    python -m tests.scale.bench_ib [--whole] [--generated] [--markdown]

4,096 HCAs, or with --whole 24,576 (over ten minutes, 3 GiB); with --generated no subnet is booted, and the 24,576 are walked over
tables of our own making (half a minute). Ends with exit code 1 when the subnet is not what was designed or not balanced, when the
walk is above its bound in time or memory, or when 4,096 HCAs take more than three minutes in all.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.scale.bench_cluster import FABRIC, ROOT
from tests.scale.bench_run import CommandFailedError, run
from tests.scale.bench_table import machine


@dataclass(frozen=True, slots=True)
class Size:
    """One check: its spec, the seconds that it may take (None = no bound), the seconds to wait for the subnet, what must come out.

    The expected counts follow from the shape (reference 3 for 24,576): `by_links`, and the load on leaf-spine and spine-core links.
    """

    spec: Path
    bound: float | None
    wait: float
    links: int
    by_links: dict[str, int]
    channels: int
    loads: tuple[int, int]


HERE = Path(__file__).parent
FEW = Size(
    HERE / "ib-4k.yaml", 180, 170, 12288, {"2": 126_976, "4": 4_063_232, "6": 12_582_912}, 16384, (4064, 3072)
)  # fmt: skip
WHOLE = Size(
    HERE / "ib-24k.yaml", None, 3600, 73728, {"2": 761_856, "4": 24_379_392, "6": 578_813_952}, 98304, (24544, 23552)
)  # fmt: skip
WALK_BOUND = {
    FEW.spec: 5.0,
    WHOLE.spec: 60.0,
}  # seconds of one core for the all-pairs walk, so CPU time: others may be busy
WALK_MIB = 2048


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table; seconds, MiB."""

    what: str
    wall: float
    cpu: float
    mib: float


def main() -> int:
    """Runs it, prints the table and what is wrong; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.scale.bench_ib", description=__doc__.partition("\n")[0])
    parser.add_argument("--whole", action="store_true", help="24,576 HCAs instead of 4,096")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--generated", action="store_true", help="walk 24,576 HCAs over generated tables only")
    options = parser.parse_args()
    size = WHOLE if options.whole or options.generated else FEW
    try:
        lines, facts = generated(size) if options.generated else booted(size)
    except CommandFailedError as error:
        print(f"FAILED: {error}", file=sys.stderr)
        return 1
    total = Line("all", sum(line.wall for line in lines), 0, 0)
    print(f"{machine()}\n\n{table([*lines, total], markdown=options.markdown)}")
    wrong = [*deviations(size, facts), *too_slow(size, lines, total)]
    for text in wrong:
        print(f"FAILED: {text}", file=sys.stderr)
    return 1 if wrong else 0


def generated(size: Size) -> tuple[list[Line], dict[str, Any]]:
    """The walk over generated tables, in a process of its own."""
    _, said = run([sys.executable, "-m", "tests.scale.ib_generated", str(size.spec)])
    found = json.loads(said)
    # What only a live subnet has is taken as designed: it is not what this measures.
    return stage_lines(found), {"as_designed": True, "links": size.links} | found["facts"]


def booted(size: Size) -> tuple[list[Line], dict[str, Any]]:
    """The subnet in a lab of its own, whatever else runs on this machine; the lab is down again after it."""
    with tempfile.TemporaryDirectory(prefix="ib-") as folder:
        os.environ["FABRIC_LAB_DIR"] = folder
        try:
            return measure(size, Path(folder))
        finally:
            run([FABRIC, "lab", "down", str(size.spec)])


def measure(size: Size, folder: Path) -> tuple[list[Line], dict[str, Any]]:
    """Boots, reads and walks; what each took, and what the probe found."""
    start, _ = run([FABRIC, "lab", "up", str(size.spec), "--timeout", str(size.wait)])
    print(f"up in {start.wall:.0f} s", file=sys.stderr)
    programs = list(running(folder))
    probe = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.scale.ib_probe", str(size.spec)]
    probed, said = run([FABRIC, "lab", "exec", str(size.spec), "--", *probe])
    found = json.loads(said)
    stages = stage_lines(found)
    rest = probed.wall - sum(stage.wall for stage in stages)
    up = Line("fabric lab up", start.wall, start.cpu, start.largest / 2**20)
    return [up, *programs, *stages, Line("starting the reader", max(0.0, rest), 0, 0)], found["facts"]


def stage_lines(found: dict[str, Any]) -> list[Line]:
    """The stages that a probe measured in itself."""
    return [Line(name, took["wall"], took["cpu"], took["mib"]) for name, took in found["stages"].items()]


def running(folder: Path) -> Iterator[Line]:
    """CPU seconds and peak memory of the lab's ibsim and opensm so far; their wall time is the lab's."""
    ticks = os.sysconf("SC_CLK_TCK")
    for process in Path("/proc").glob("[0-9]*"):
        try:
            argv = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            fields = (process / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
            status = dict(line.split(":", 1) for line in (process / "status").read_text(encoding="utf-8").splitlines())
        except OSError:  # it ended meanwhile
            continue
        if Path(argv[0]).name in {"ibsim", "opensm"} and any(str(folder) in word for word in argv):
            cpu = (int(fields[11]) + int(fields[12])) / ticks
            yield Line(f"  {Path(argv[0]).name}", 0, cpu, int(status["VmHWM"].split()[0]) / 1024)


def deviations(size: Size, facts: dict[str, Any]) -> Iterator[str]:
    """What is not as designed."""
    edge, core = size.loads
    wanted: dict[str, Any] = {
        "as_designed": True, "links": size.links, "delivered": sum(size.by_links.values()), "by_links": size.by_links,
        "channels": size.channels, "cycle": False, "contention": 1,
        "loads": [["leaf", "spine", edge, 1.0], ["spine", "leaf", edge, 1.0], ["spine", "core", core, 1.0], ["core", "spine", core, 1.0]],
    }  # fmt: skip
    for name, value in wanted.items():
        if facts[name] != value:
            yield f"{name} is {facts[name]}, not {value}"


def too_slow(size: Size, lines: list[Line], total: Line) -> Iterator[str]:
    """Which bounds are not kept."""
    walked = next(line for line in lines if line.what == "walk")
    if walked.cpu > WALK_BOUND[size.spec]:
        yield f"the walk took {walked.cpu:.1f} s CPU, bound {WALK_BOUND[size.spec]:g} s"
    if walked.mib > WALK_MIB:
        yield f"the walk took {walked.mib:,.0f} MiB, bound {WALK_MIB} MiB"
    if size.bound is not None and total.wall > size.bound:
        yield f"all took {total.wall:.0f} s, bound {size.bound:g} s"


def table(lines: list[Line], *, markdown: bool) -> str:
    """The rows, aligned or as a Markdown table; a figure that a row does not have is left empty."""
    cells = [("what", "wall s", "CPU s", "MiB")]
    for line in lines:
        wall, cpu, mib = (f"{value:,.1f}" if value else "" for value in (line.wall, line.cpu, line.mib))
        cells.append((line.what, wall, cpu, mib))
    if markdown:
        head, *body = ("| " + " | ".join(row) + " |" for row in cells)
        return "\n".join([head, "| --- | --- | --- | --- |", *body])
    return "\n".join(f"{what:<22}{wall:>9}{cpu:>9}{mib:>9}" for what, wall, cpu, mib in cells)


if __name__ == "__main__":
    sys.exit(main())
