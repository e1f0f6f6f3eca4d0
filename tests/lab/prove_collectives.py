"""`make prove-collectives`: each fault alone and each two together in a lab, found by real Open MPI traffic; and whole runs without any.

A line for each run as it ends, then a table: how often each story's parts were named and nobody else was, how many parts that blame nobody
stood beside them, seconds. Ends with 1 when one run of them was not right.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
INVENTORY = HERE.parents[1] / "inventories" / "lab"
RAILS = 2
"""NICs of each of the 8 hosts that take part: 16 ranks at once fit on two cores."""
STAGES = ("pairs", "retest", "rails", "paths")
QUICK = {"limit_s": 27, "iterations": 1, "repeats": 2, "sizes": {"smallest": "128K", "largest": "128K", "factor": 2}}
"""A rank that waits for 12 s hangs: on the slowest cable a step takes half a second."""

Parts = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Fault:
    """What is broken, the parts that must be named, and words that must stand in their evidence."""

    made: Mapping[str, Any]
    parts: Parts
    words: str = ""


FAULTS = {
    "slow NIC": Fault(
        {"kind": "slow", "a": "z01-r001-h1:beth1", "rate": "2mbit"},
        frozenset({("cable", "z01-rtsw001:eth2/3/1 <-> z01-r001-h1:beth1")}),
    ),
    "slow trunk": Fault(
        {"kind": "slow", "a": "z02-rtsw001:Ethernet8/1/1", "rate": "2mbit"},
        frozenset({("trunk", "z02-ctsw01:Ethernet3/1/1 <-> z02-rtsw001:Ethernet8/1/1")}),
    ),
    "cut": Fault(
        {"kind": "cut", "a": "z01-r002-h2:beth0"},
        frozenset({("cable", "z01-rtsw002:eth3/1/1 <-> z01-r002-h2:beth0")}),
    ),
    "MTU": Fault(
        {"kind": "mtu", "a": "z01-rtsw001:eth3/3/1", "size": 1500},
        frozenset({("setting", "z01-r001-h2")}),
        "mtu at z01-rtsw001:eth3/3/1",
    ),
    "stopped": Fault({"kind": "stop-ranks", "name": "z02-r001-h2"}, frozenset({("host", "z02-r001-h2")})),
    "crossed": Fault(
        {"kind": "swap", "a": "z02-r002-h1:beth0", "b": "z02-r002-h1:beth1"},
        frozenset(
            {
                ("cable", "z02-rtsw002:Ethernet2/1/1 <-> z02-r002-h1:beth0"),
                ("cable", "z02-rtsw002:Ethernet2/2/1 <-> z02-r002-h1:beth1"),
            }
        ),
    ),
}
"""Each at a part of its own, so that any two can be together; two racks have two of them."""

NOBODY = ("undecided", "path")
"""Kinds that blame nobody: warnings that evidence is not enough."""

Story = tuple[str, ...]
"""Names of faults; none: a healthy lab."""


def stories(words: Sequence[str]) -> list[Story]:
    """What the command line names: `alone`, `pairs`, `healthy`, `cut`, `cut+MTU`; without words all faults, alone and in pairs."""
    alone: list[Story] = [(name,) for name in FAULTS]
    groups: dict[str, list[Story]] = {"alone": alone, "pairs": list(combinations(FAULTS, 2)), "healthy": [()]}
    return [story for word in words or ("alone", "pairs") for story in groups.get(word, [tuple(word.split("+"))])]


@dataclass
class Tally:
    """The runs of one story."""

    right: int = 0
    beside: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def verdict(story: Story, answer: Mapping[str, Any]) -> tuple[bool, list[str], list[str]]:
    """Whether exactly the broken parts are named; what is wrong with that; and the parts beside them that blame nobody."""
    want = frozenset[tuple[str, str]]().union(*(FAULTS[name].parts for name in story))
    named = {(part["kind"], part["name"]) for part in answer["parts"] if part["kind"] not in NOBODY}
    beside = [f"{part['kind']} {part['name']}" for part in answer["parts"] if part["kind"] in NOBODY]
    text = json.dumps(answer["parts"])
    wrong = [f"missed {kind} {name}" for kind, name in sorted(want - named)]
    wrong += [f"blamed {kind} {name}" for kind, name in sorted(named - want)]
    wrong += [f"does not say {FAULTS[name].words!r}" for name in story if FAULTS[name].words not in text]
    wrong += [f"could not be made: {text}" for *_, text in answer["unknown"]] if not story else []
    return not wrong and (bool(story) or not (beside or answer["bad"])), wrong, beside


def fabric(*arguments: object) -> None:
    """`fabric ARGUMENTS`."""
    subprocess.run([sys.executable, "-m", "fabric", *map(str, arguments)], stdout=subprocess.DEVNULL, check=True)


NAP = "#include <time.h>\nint sched_yield(void) { struct timespec t = {0, 200000}; nanosleep(&t, 0); return 0; }\n"


def napping(folder: Path) -> Path:
    """A library by which ranks that wait sleep 0.2 ms instead of spinning: two cores are little for 16. Not there without a compiler."""
    made, source = folder / "nap.so", folder / "nap.c"
    source.write_text(NAP, encoding="ascii")
    if (compiler := shutil.which("cc")) is not None:
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", made, source], check=True)
    return made


def play(spec: Path, told: Sequence[Story], nap: Path) -> Iterator[dict[str, Any]]:
    """The answer of each story, as it comes."""
    scenes = [
        {
            "faults": [FAULTS[name].made for name in story],
            "stages": STAGES,
            "changes": QUICK,
            "suspects_alone": ["rails"],
            "settle": True,
        }
        for story in told
    ]
    seat = [sys.executable, HERE / "collective_scene.py", spec, RAILS, json.dumps(scenes)]
    command = [sys.executable, "-m", "fabric", "lab", "exec", spec, "--", *seat]
    env = {**os.environ, "LD_PRELOAD": str(nap)} if nap.exists() else None
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=env) as process:
        yield from (json.loads(line) for line in process.stdout or ())
    if process.returncode:
        raise SystemExit(f"the scenes ended with status {process.returncode}")


def prove(spec: Path, told: Sequence[Story], kept: Path | None, tallies: dict[Story, Tally], nap: Path) -> None:
    """Each story once, into the tallies."""
    for story, answer in zip(told, play(spec, told, nap), strict=True):
        tally, name = tallies.setdefault(story, Tally()), " + ".join(story) or "healthy"
        right, wrong, beside = verdict(story, answer)
        tally.right += right
        tally.beside += beside
        tally.seconds.append(answer["seconds"])
        print(f"{name:24} {'named' if right else 'WRONG'} {answer['seconds']:6.1f} s", flush=True)
        for text in (*wrong, *(f"beside: {text}" for text in beside)):
            print(f"    {text}", flush=True)
        if kept is not None:
            path = kept / f"{name.replace(' ', '')}-{len(tally.seconds)}{'' if right and not beside else '-look'}.json"
            path.write_text(json.dumps(answer), encoding="utf-8")


def table(tallies: Mapping[Story, Tally]) -> Iterator[str]:
    """The tallies in Markdown."""
    yield "| broken | runs | named exactly | parts beside that blame nobody | median s |"
    yield "| --- | --- | --- | --- | --- |"
    for story, tally in tallies.items():
        seconds = statistics.median(tally.seconds)
        name = " + ".join(story) or "nothing"
        yield f"| {name} | {len(tally.seconds)} | {tally.right} | {len(tally.beside)} | {seconds:.0f} |"


def main() -> int:
    """Everything, or what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "stories", nargs="*", help="alone, pairs, healthy, cut, cut+MTU, ... (default: alone, pairs and healthy)"
    )
    parser.add_argument("--runs", type=int, default=3, help="of each story")
    parser.add_argument("--healthy", type=int, default=20, help="runs without a fault")
    parser.add_argument("--keep", type=Path, help="write each answer into this folder")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fabric-prove-"))
    os.environ["FABRIC_LAB_DIR"] = str(folder / "labs")
    spec = folder / "cluster" / "cluster.yaml"
    shutil.copytree(INVENTORY, spec.parent)
    broken = [story for story in stories(options.stories) if story]
    healthy = not options.stories or "healthy" in options.stories
    tallies: dict[Story, Tally] = {}
    try:
        nap = napping(folder)
        fabric("lab", "up", spec)
        fabric("lab", "shape", spec, "--kbit-per-gbps", 25)
        if healthy:
            prove(spec, [()] * options.healthy, options.keep, tallies, nap)
        for _ in range(options.runs if broken else 0):
            prove(spec, broken, options.keep, tallies, nap)
    finally:
        print(*table(tallies), sep="\n", flush=True)
        fabric("lab", "down", spec)
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if all(tally.right == len(tally.seconds) for tally in tallies.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
