"""`make prove-collectives`: every fault alone and in pairs in a lab of its own, with real Open MPI traffic; and 20 whole runs without any.

Prints a line for each scene: what was broken, what the product named, in how many seconds; ends with 1 when one of them was named wrongly.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
INVENTORY = HERE.parents[1] / "inventories" / "lab"
RAILS = 3
STAGES = ("pairs", "retest", "rails", "paths")

CABLE = "z01-rtsw001:eth2/3/1 <-> z01-r001-h1:beth1"
SLOW_NIC = ({"kind": "slow", "a": "z01-r001-h1:beth1", "rate": "1mbit"}, {("cable", CABLE)})
TRUNK = "z02-ctsw01:Ethernet3/1/1 <-> z02-rtsw001:Ethernet8/1/1"
SLOW_TRUNK = ({"kind": "slow", "a": "z02-rtsw001:Ethernet8/1/1", "rate": "1mbit"}, {("trunk", TRUNK)})
CUT = ({"kind": "cut", "a": "z01-r002-h2:beth0"}, {("cable", "z01-rtsw002:eth3/1/1 <-> z01-r002-h2:beth0")})
MTU = (
    {"kind": "mtu", "a": "z01-rtsw001:eth2/3/1", "size": 1500},
    {("setting", "z01-r001-h1")},
)
STOPPED = ({"kind": "stop-ranks", "name": "z02-r001-h2"}, {("host", "z02-r001-h2")})
CROSSED = (
    {"kind": "swap", "a": "z02-r002-h1:beth0", "b": "z02-r002-h1:beth1"},
    {
        ("cable", "z02-rtsw002:Ethernet2/1/1 <-> z02-r002-h1:beth0"),
        ("cable", "z02-rtsw002:Ethernet2/2/1 <-> z02-r002-h1:beth1"),
    },
)
NOBODY = ("undecided", "path")
"""Kinds that blame nobody: warnings that evidence is not enough."""

ALONE = {"slow NIC": SLOW_NIC, "slow trunk": SLOW_TRUNK, "cut": CUT, "MTU": MTU, "stopped": STOPPED, "crossed": CROSSED}
PAIRS = (
    ("slow NIC", "slow trunk"),
    ("cut", "stopped"),
    ("MTU", "crossed"),
    ("slow NIC", "stopped"),
    ("slow trunk", "cut"),
)


def fabric(*arguments: object) -> str:
    """`fabric ARGUMENTS`; its standard output."""
    done = subprocess.run(
        [sys.executable, "-m", "fabric", *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return done.stdout


def play(spec: Path, scene: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A scene's answers."""
    text = fabric(
        "lab", "exec", spec, "--", sys.executable, HERE / "collective_scene.py", spec, RAILS, json.dumps([scene])
    )
    return [json.loads(line) for line in text.splitlines()]


def prove(spec: Path, names: Sequence[str], kept: Path | None) -> bool:
    """One set of faults: is each named, and nobody else?"""
    faults = [ALONE[name][0] for name in names]
    want = set[tuple[str, str]]().union(*(ALONE[name][1] for name in names))
    (answer,) = play(spec, {"faults": faults, "stages": STAGES})
    named = {(part["kind"], part["name"]) for part in answer["parts"] if part["kind"] not in NOBODY}
    open_ones = [part["name"] for part in answer["parts"] if part["kind"] in NOBODY]
    if kept is not None:
        (kept / f"{'-'.join(names).replace(' ', '_')}.json").write_text(json.dumps(answer), encoding="utf-8")
    also = {("cable", CABLE)} if "MTU" in names else set()  # the cable at that port: right as well
    right = want <= named <= want | also and (
        "MTU" not in names or f"mtu at {MTU[0]['a']}" in json.dumps(answer["parts"])
    )
    print(f"{' + '.join(names):24} {'named' if right else 'WRONG'} {answer['seconds']:6.1f} s", flush=True)
    if open_ones:
        print(f"    nobody is blamed for {open_ones}", flush=True)
    if not right:
        print(f"    missed {sorted(want - named)}\n    blamed {sorted(named - want)}", flush=True)
    return right


def healthy(spec: Path, runs: int) -> bool:
    """Whole runs without a fault."""
    answers = play(spec, {"faults": [], "stages": STAGES, "rounds": runs})
    found = [answer for answer in answers if answer["bad"] or answer["unknown"] or answer["parts"]]
    seconds = sorted(answer["seconds"] for answer in answers)
    print(f"{'healthy':24} {len(found)} of {len(answers)} runs with findings, {seconds[len(seconds) // 2]:.1f} s each")
    for answer in found:
        print(f"    {answer['bad']} {answer['unknown']}")
    return not found


def main() -> int:
    """Everything, or what the arguments name; with $KEEP each answer is written to that folder."""
    folder = Path(tempfile.mkdtemp(prefix="fabric-prove-"))
    os.environ["FABRIC_LAB_DIR"] = str(folder / "labs")
    spec = folder / "cluster" / "cluster.yaml"
    shutil.copytree(INVENTORY, spec.parent)
    kept = Path(os.environ["KEEP"]) if os.environ.get("KEEP") else None
    wanted = [tuple(text.split("+")) for text in sys.argv[1:] if text != "healthy"]
    runs = 20 if not sys.argv[1:] or "healthy" in sys.argv[1:] else 0
    try:
        fabric("lab", "up", spec)
        fabric("lab", "shape", spec, "--kbit-per-gbps", 12.5)
        sets = wanted or [*((name,) for name in ALONE), *PAIRS]
        right = [prove(spec, names, kept) for names in sets] if wanted or not sys.argv[1:] else []
        return 0 if all([*right, not runs or healthy(spec, runs)]) else 1
    finally:
        fabric("lab", "down", spec)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
