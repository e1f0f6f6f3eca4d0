"""Real dumps of real PyTorch jobs on CPUs: a rank that hangs, in the default group and in a sub-group, and mismatches.

    make prove-torch                              with the torch of .venv (pip install torch)
    make prove-torch PROVE_PYTHON=/path/python    with that of another Python

Four processes a job, about half a minute each. gloo is not NCCL: its recorder writes no pg_config and marks failed operations as ended.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from fabric.errors import FabricError
from fabric.verify.flight_recorder.analyse import analyse
from fabric.verify.flight_recorder.find import find_dumps
from fabric.verify.flight_recorder.load import load_dumps

WORLD = 4
TRUTH = {"hang": "stopped", "subgroup": "stopped", "order": "mismatch"}
"""Scenario -> cause; it is rank 2 each time. Another size or type aborts gloo, and takes the dumps along."""


def main() -> int:
    """Runs each job and says what was named; the exit code is 1 when one was named wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="a Python with torch")
    parser.add_argument("--keep", type=Path, help="keep the dumps in this folder")
    options = parser.parse_args()
    if subprocess.run([options.python, "-c", "import torch"], capture_output=True, check=False).returncode:
        print(f"{options.python} has no torch: pip install torch, or PROVE_PYTHON=/path/python", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        return max([prove(scenario, options.python, (options.keep or Path(scratch)) / scenario) for scenario in TRUTH])


def prove(scenario: str, python: str, folder: Path) -> int:
    """One job; 0 when its rank was named."""
    folder.mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    program = str(Path(__file__).with_name("torch_rank.py"))
    ranks = [
        subprocess.Popen(
            [python, program, str(rank), str(WORLD), port, str(folder), scenario],
            stderr=(folder / f"stderr_rank_{rank}.txt").open("wb"),
        )
        for rank in range(WORLD)
    ]
    for rank in ranks:
        try:
            rank.wait(timeout=180)
        except subprocess.TimeoutExpired:
            rank.kill()
            rank.wait()
    try:
        analysis = analyse(load_dumps(find_dumps([folder])))
    except FabricError as error:
        print(f"{scenario}: {error}")
        return 1
    named = [(culprit.cause, culprit.ranks, culprit.proven) for culprit in analysis.culprits]
    right = named == [(TRUTH[scenario], (2,), True)]
    print(f"{scenario}: {len(analysis.missing)} without a dump, named {named}: {'right' if right else 'WRONG'}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
