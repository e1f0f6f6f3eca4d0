"""The benchmark: each figure with its bound. It prints, and never fails by time; a command that fails ends it with exit code 1.

    python -m tests.scale.bench [--markdown] [--quick] [--only cluster|pyavd|recorder|locate|predict]

Files go to a temporary folder below out/ (11 GB at most) that is removed at the end.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.scale.bench_cluster import FABRIC, ROOT, command_rows
from tests.scale.bench_flight_recorder import RANKS, flight_recorder_rows
from tests.scale.bench_locate import locate_rows
from tests.scale.bench_predict import predict_rows
from tests.scale.bench_pyavd import pyavd_rows
from tests.scale.bench_run import CommandFailedError
from tests.scale.bench_table import Row, machine, table


def parts(options: argparse.Namespace, folder: Path) -> list[Iterator[Row]]:
    """The parts that were asked for, none of which needs another; each measures as it is read."""
    found = {
        "pyavd": pyavd_rows(),
        "cluster": command_rows(folder, quick=options.quick),
        "locate": locate_rows(4 if options.quick else 20),
        "predict": predict_rows(folder, quick=options.quick),
        "recorder": flight_recorder_rows(folder, 2_048 if options.quick else RANKS),
    }
    return [rows for name, rows in found.items() if options.only in (None, name)]


def main() -> int:
    """Measures, prints the table; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.scale.bench", description=__doc__.partition("\n")[0])
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument(
        "--only", choices=("cluster", "pyavd", "recorder", "locate", "predict"), help="measure one part only"
    )
    parser.add_argument("--quick", action="store_true", help="leave out the 350,208 GPUs; 2,048 dumps, 4 stories")
    options = parser.parse_args()
    if not Path(FABRIC).exists():
        print(f"no {FABRIC}: run make setup", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the files are removed then, too
    out = ROOT / "out"
    out.mkdir(exist_ok=True)
    done: list[Row] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="bench-", dir=out) as folder:
        for part in parts(options, Path(folder)):
            try:
                for row in part:
                    done.append(row)
                    print(f"{row.what}: {row.cells()[2]}", file=sys.stderr)
            except CommandFailedError as error:
                failed.append(str(error))
    print(f"{machine()}\n\n{table(done, markdown=options.markdown)}")
    for line in failed:
        print(f"FAILED: {line}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
