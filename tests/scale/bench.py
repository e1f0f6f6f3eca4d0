"""The benchmark: each figure with its bound. It prints, and never fails by time; a command that fails ends it with exit code 1.

    python -m tests.scale.bench [--markdown] [--only cluster|pyavd]

Files go to a temporary folder below out/ (2.5 GB at most) that is removed at the end.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.scale.bench_cluster import FABRIC, ROOT, command_rows
from tests.scale.bench_pyavd import pyavd_rows
from tests.scale.bench_run import CommandFailedError
from tests.scale.bench_table import Row, machine, table


def rows(only: str | None, folder: Path) -> Iterator[Row]:
    """All rows, or those of one part."""
    if only in (None, "pyavd"):
        yield from pyavd_rows()
    if only in (None, "cluster"):
        yield from command_rows(folder)


def main() -> int:
    """Measures, prints the table; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.scale.bench", description=__doc__.partition("\n")[0])
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--only", choices=("cluster", "pyavd"), help="measure one part only")
    options = parser.parse_args()
    if not Path(FABRIC).exists():
        print(f"no {FABRIC}: run make setup", file=sys.stderr)
        return 1
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    done: list[Row] = []
    failed = ""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=out) as folder:
        try:
            for row in rows(options.only, Path(folder)):
                done.append(row)
                print(f"{row.what}: {row.cells()[2]}", file=sys.stderr)
        except CommandFailedError as error:
            failed = str(error)
    print(f"{machine()}\n\n{table(done, markdown=options.markdown)}")
    if failed:
        print(f"FAILED: {failed}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
