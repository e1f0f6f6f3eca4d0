"""Faults in a running lab, one set after the other, each judged by the product with real Open MPI traffic; run at the operator's seat.

    fabric lab exec SPEC -- python tests/lab/collective_scene.py SPEC RAILS SCENES

A scene is {"faults": [{"kind": ..., ...}], "stages": [...], "rounds": 1, "changes": {}, "suspects_alone": [...]}: these stages are made
of suspects alone, as with a budget that is too small for them. Each line of the answer is what the product made of one; with "settle",
the next scene waits until the lab is as it was. Of each host the first RAILS NICs take part: that many ranks fit on few cores. With
"apart": N, the pairs are measured in one launch, and each N repeats are a run of its own, with an answer of its own; what it asks for
after that is measured for real.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from fabric.design.seats import Seating, load_seating
from fabric.lab import control
from fabric.verify.collectives import job as jobs
from fabric.verify.collectives.budget import Plan
from fabric.verify.collectives.launch import Launcher
from fabric.verify.collectives.model import Clue, Measurement
from fabric.verify.collectives.run import Progress, Results, Run, run
from fabric.verify.collectives.stages import Group

QUICK = {
    "engine": "mpi", "launcher": "mpirun", "python": sys.executable, "iterations": 2, "warmup": 1, "repeats": 3, "limit_s": 35,
    "sizes": {"smallest": "128K", "largest": "128K", "factor": 2},
}  # fmt: skip


def trimmed(rails: int) -> Any:
    """`load_seating` of hosts that have so many NICs each."""

    def load(path: Path) -> Seating:
        seating = load_seating(path)
        vars(seating)["by_host"] = {host: seats[:rails] for host, seats in seating.by_host.items()}
        return seating

    return load


def judge(
    spec: Path, scene: Mapping[str, Any], rails: int, seen: Callable[[Progress], None] = lambda _: None
) -> Iterator[Results]:
    """The product's own way from the spec to the parts; with "apart", once for each set of repeats."""
    setattr(jobs, "load_seating", trimmed(rails))  # noqa: B010 - only here do hosts have fewer NICs
    changes = {**QUICK, **scene.get("changes", {}), "stages": scene["stages"]}
    job = jobs.make_job(spec, changes, (), (), os.environ)
    launchers: Iterable[Launcher] = [job.launcher]
    if "apart" in scene:
        again = jobs.make_job(spec, {**changes, "repeats": scene["apart"]}, (), (), os.environ)
        launchers = apart(job, again.launcher, scene["apart"])
    for launcher in launchers:
        asked = Run(job.places, job.seats, job.tests, launcher, job.expected, time.monotonic, gpus=False, observe=seen)
        yield run(asked, planned(job, scene.get("suspects_alone", ())))


def planned(job: jobs.Job, alone: Collection[str]) -> Plan:
    """The job's plan without the fixed rounds of some stages."""
    plan = job.plan()
    return replace(plan, stages=tuple(replace(one, rounds=()) if one.stage in alone else one for one in plan.stages))


class Given:
    """A launcher that has measured the pairs already, and measures for real what else is asked for: retests."""

    def __init__(self, pairs: Sequence[Measurement], launcher: Launcher) -> None:
        self.pairs, self.launcher = pairs, launcher

    def run(self, groups: Sequence[Group]) -> Iterator[Measurement | Clue]:
        if groups[0].stage == "pairs":
            yield from self.pairs
        else:
            yield from self.launcher.run(groups)


def apart(job: jobs.Job, launcher: Launcher, count: int) -> Iterator[Given]:
    """Pairs measured many times in one launch, as runs of `count` repeats: starting ranks is what costs most in a lab."""
    groups = next(one for stage in job.plan().stages for one in stage.rounds if stage.stage == "pairs")
    made = [one for one in job.launcher.run(groups) if isinstance(one, Measurement)]
    for number in range(min(len(m.values) for m in made) // count):
        yield Given([replace(m, values=m.values[number * count : (number + 1) * count]) for m in made], launcher)


def play(folder: Path, spec: Path, scene: Mapping[str, Any], rails: int) -> Iterator[dict[str, Any]]:
    """Make the faults, judge, undo them; an answer for each run."""
    said = []
    for fault in scene["faults"]:
        arguments = {key: value for key, value in fault.items() if key != "kind"}
        said.append(control.ask(folder, "fault", kind=fault["kind"], arguments=arguments)["said"])
    try:
        for _ in range(scene.get("rounds", 1)):
            began = time.monotonic()
            rounds: list[tuple[float, int, str, int]] = []

            def seen(told: Progress, began: float = began, rounds: list[tuple[float, int, str, int]] = rounds) -> None:
                rounds.append((round(time.monotonic() - began, 1), told.round, told.stage, told.done))

            for found in judge(spec, scene, rails, seen):
                yield {"said": said, "seconds": round(time.monotonic() - began, 1), **answer(found), "rounds": rounds}
    finally:
        control.ask(folder, "restore", id=None)
        while scene.get("settle") and not control.ask(folder, "status")["converged"]:
            time.sleep(0.5)


def answer(found: Results) -> dict[str, Any]:
    """What a run came to, as plain data."""
    return {
        "parts": [asdict(part) for part in found.parts],
        "bad": [[f.check, f.subject, f.measured] for f in found.findings if f.verdict == "fail"],
        "unknown": [[f.check, f.subject, f.measured] for f in found.findings if f.verdict == "unknown"],
        "made": [asdict(m) for m in found.measurements],
        "clues": [asdict(clue) for clue in found.clues],
    }


def main(arguments: Sequence[str]) -> None:
    """All scenes."""
    spec, rails = Path(arguments[0]), int(arguments[1])
    folder = Path(os.environ["FABRIC_STATE"]).parent
    for scene in json.loads(arguments[2]):
        for one in play(folder, spec, scene, rails):
            print(json.dumps(one), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
