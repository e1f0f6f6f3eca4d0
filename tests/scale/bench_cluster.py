"""The commands at full size: 24,576 and 350,208 GPUs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.scale.bench_run import CommandFailedError, Figures, run
from tests.scale.bench_table import Row, within

ROOT = Path(__file__).resolve().parents[2]
FABRIC = str(Path(sys.executable).with_name("fabric"))
SPEC = ROOT / "inventories/roce-24k/cluster.yaml"
HOSTS = 3_072
LARGE = 350_208
GROWTH = 1.1  # CPU seconds a device, against the 24k cluster: measuring noise above "at most linear"


def command_rows(folder: Path, *, quick: bool) -> Iterator[Row]:
    """`fabric --help`, the 24k cluster, and (not with `quick`) the large one; `folder` is empty and takes what is rendered."""
    helps = [run([FABRIC, "--help"])[0] for _ in range(5)]
    yield within("fabric --help (best of 5)", min(helps, key=lambda figures: figures.wall), seconds=0.2)
    tree = folder / "roce-24k"
    devices, checked = check(SPEC)
    yield within(f"check, {devices:,} switches", checked, seconds=3)
    rendered = render(SPEC, tree, devices, fresh=True)
    yield within("render into an empty folder", rendered, seconds=10, gib=1)
    yield within("render again, nothing changed", render(SPEC, tree, devices, fresh=False), seconds=8)
    planned = plan(SPEC, tree, devices, changed=0)
    yield within("plan, nothing to do", planned, seconds=10)
    other = folder / "other-mtu.yaml"
    other.write_text(f"{SPEC.read_text(encoding='utf-8')}\nmtu: {{ip: 8900}}\n", encoding="utf-8")
    yield within("plan, every device differs", plan(other, tree, devices, changed=devices), seconds=12)
    hosts = render(SPEC, folder / "hosts", HOSTS + 1, fresh=True, target="host")  # one more: what all hosts share
    yield within(f"render --target host, {HOSTS:,} hosts", hosts, seconds=5, gib=1)
    if not quick:
        yield from _large(folder, devices, {"check": checked, "render": rendered, "plan": planned})


def _large(folder: Path, devices: int, small: dict[str, Figures]) -> Iterator[Row]:
    """The cluster by the same rules with 114 zones, a command a row; the CPU time a device is set against that of `small`."""
    spec, tree = folder / "large.yaml", folder / "large"
    run([FABRIC, "init", "--kind", "roce", "--gpus", str(LARGE), "--name", "large", "-o", str(spec)])
    many, checked = check(spec)
    yield _growth(f"check, {many:,} switches ({LARGE:,} GPUs)", checked, many, small["check"], devices)
    rendered = render(spec, tree, many, fresh=True)
    yield _growth(f"render, {many:,} switches", rendered, many, small["render"], devices)
    yield _growth(
        f"plan, nothing to do, {many:,} switches", plan(spec, tree, many, changed=0), many, small["plan"], devices
    )


def _growth(what: str, large: Figures, many: int, small: Figures, few: int) -> Row:
    ratio = (large.cpu / many) / (small.cpu / few)
    kept = ratio <= GROWTH and large.together < 4 * 2**30
    shown = f"{large.wall:.2f} (a device x{ratio:.2f})"
    return Row(what, f"a device x{GROWTH:g} CPU, 4 GiB", kept, large, shown)


def check(spec: Path) -> tuple[int, Figures]:
    """`fabric check`: the number of switches, and the figures."""
    figures, said = run([FABRIC, "check", str(spec), "--json"])
    return int(json.loads(said)["switches"]), figures


def render(spec: Path, tree: Path, devices: int, *, fresh: bool, target: str | None = None) -> Figures:
    """`fabric render` of all devices (all of `target`); CommandFailedError when not everything (`fresh`) or anything (else) was written."""
    only = [] if target is None else ["--target", target]
    figures, said = run([FABRIC, "render", str(spec), "-o", str(tree), "--json", *only])
    report = json.loads(said)
    if report["devices"] != devices or report["written"] != (report["files"] if fresh else 0):
        raise CommandFailedError(f"fabric render {spec}: unexpected report {said.strip()[:300]}")
    return figures


def plan(spec: Path, tree: Path, devices: int, *, changed: int) -> Figures:
    """`fabric plan`; raises CommandFailedError when it does not find exactly `changed` devices of `devices` to change."""
    command = [FABRIC, "plan", str(spec), "--against", str(tree), "--summary"]
    figures, said = run(command, exit_code=2 if changed else 0)
    first = said.partition("\n")[0]
    if f"{changed or devices:,} " not in first:
        raise CommandFailedError(f"fabric plan {spec}: unexpected summary {first[:300]!r}")
    return figures
