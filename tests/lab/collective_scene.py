"""Faults in a running lab, one set after the other, each judged by the product with real Open MPI traffic; run at the operator's seat.

    fabric lab exec SPEC -- python tests/lab/collective_scene.py SPEC RAILS SCENES

A scene is {"faults": [{"kind": ..., ...}], "stages": [...], "rounds": 1, "changes": {}}. Each line of the answer is what the product made
of one. Of each host the first RAILS NICs take part: that many ranks fit on few cores. With "apart": N, the values of each measurement are taken
N by N, and each such set is judged as a run of its own.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from fabric.design.seats import Seating, load_seating
from fabric.lab import control
from fabric.verify.collectives import job as jobs
from fabric.verify.collectives.model import Clue, Measurement
from fabric.verify.collectives.run import Results, Run, run
from fabric.verify.locate import locate
from fabric.verify.locate.places import Places

QUICK = {
    "engine": "mpi", "launcher": "mpirun", "python": sys.executable, "iterations": 2, "warmup": 1, "repeats": 3, "limit_s": 35,
    "sizes": {"smallest": "256K", "largest": "256K", "factor": 2},
}  # fmt: skip


def trimmed(rails: int) -> Any:
    """`load_seating` of hosts that have so many NICs each."""

    def load(path: Path) -> Seating:
        seating = load_seating(path)
        vars(seating)["by_host"] = {host: seats[:rails] for host, seats in seating.by_host.items()}
        return seating

    return load


def judge(spec: Path, scene: Mapping[str, Any], rails: int) -> tuple[Results, Places]:
    """The product's own way from the spec to the parts."""
    setattr(jobs, "load_seating", trimmed(rails))  # noqa: B010 - only here do hosts have fewer NICs
    changes = {**QUICK, **scene.get("changes", {}), "stages": scene["stages"]}
    job = jobs.make_job(spec, changes, scene.get("hosts", ()), (), os.environ)
    heard = _loud if scene.get("loud") else lambda _: None
    asked = Run(job.places, job.seats, job.tests, job.launcher, job.expected, time.monotonic, gpus=False, keep=heard)
    return run(asked, job.plan()), job.places


def apart(measurements: Sequence[Measurement], count: int) -> Iterator[list[Measurement]]:
    """The measurements as so many runs as there are sets of `count` repeats."""
    runs = min(len(m.values) for m in measurements) // count if count and measurements else 0
    for number in range(runs):
        yield [replace(m, values=m.values[number * count : (number + 1) * count]) for m in measurements]


def _loud(one: Measurement | Clue) -> None:
    print(one, file=sys.stderr, flush=True)


def play(folder: Path, spec: Path, scene: Mapping[str, Any], rails: int) -> Iterator[dict[str, Any]]:
    """Make the faults, judge, undo them; an answer for each round."""
    said = [
        control.ask(folder, "fault", kind=fault["kind"], arguments={k: v for k, v in fault.items() if k != "kind"})[
            "said"
        ]
        for fault in scene["faults"]
    ]
    try:
        for _ in range(scene.get("rounds", 1)):
            began = time.monotonic()
            found, places = judge(spec, scene, rails)
            yield {
                "apart": [len(locate(places, some)) for some in apart(found.measurements, scene.get("apart", 0))],
                "said": said,
                "seconds": round(time.monotonic() - began, 1),
                "parts": [asdict(part) for part in found.parts],
                "bad": [[f.check, f.subject, f.measured] for f in found.findings if f.verdict == "fail"],
                "unknown": [[f.check, f.subject, f.measured] for f in found.findings if f.verdict == "unknown"],
                "made": [asdict(m) for m in found.measurements],
                "clues": [asdict(clue) for clue in found.clues],
            }
    finally:
        control.ask(folder, "restore", id=None)


def main(arguments: Sequence[str]) -> None:
    """All scenes."""
    spec, rails = Path(arguments[0]), int(arguments[1])
    folder = Path(os.environ["FABRIC_STATE"]).parent
    for scene in json.loads(arguments[2]):
        for answer in play(folder, spec, scene, rails):
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
