"""`fabric tune`: what it says, what it writes, which exit codes it gives."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import Result

from fabric.cli import tune as tuning
from fabric.predict.knobs import Edit

Cli = Callable[..., Result]
SPEC = Path(__file__).resolve().parents[2] / "inventories" / "roce-24k" / "cluster.yaml"
SMALL = "    - {id: 1-2, racks: 16, rack_profile: grand-teton}    # two zones\n"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """The large cluster's own text, comments and all, with two zones of 16 racks on a thin core."""
    text = SPEC.read_text(encoding="utf-8")
    for old, new in (
        ("    - {id: 1-8, racks: 192, rack_profile: grand-teton}\n", SMALL),
        ("line_card: 7800r3a-36d, nos: eos, uplinks: 28}", "line_card: 7800r3a-36d, nos: eos, uplinks: 4}"),
        ("nos: eos, count: 28}", "nos: eos, count: 4}"),
    ):
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "cluster.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_found_written_and_found_again(
    spec: Path, fabric_cli: Cli, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(spec.parent)
    before = spec.read_text(encoding="utf-8")
    asked = fabric_cli("tune", "cluster.yaml", "--placement", "random", "--seeds", "8")
    golden("predict/tune-found.txt", asked.stdout)
    assert asked.exit_code == 2
    assert spec.read_text(encoding="utf-8") == before
    wrote = fabric_cli("tune", "cluster.yaml", "--seeds", "8", "--write", "--plot", "three.svg")
    assert wrote.exit_code == 0, wrote.stderr
    after = spec.read_text(encoding="utf-8")
    assert [line for line in after.splitlines() if line not in before.splitlines()] == ["  nccl:", "    qps: 32"]
    assert [line for line in before.splitlines() if line not in after.splitlines()] == []
    drawn = (spec.parent / "three.svg").read_text(encoding="utf-8")
    assert all(f">{name}<" in drawn for name in ("small", "large as is", "large tuned"))
    again = fabric_cli("tune", "cluster.yaml", "--seeds", "8")
    golden("predict/tune-declared.txt", again.stdout)
    assert again.exit_code == 0
    assert fabric_cli("check", "cluster.yaml").exit_code == 0


def test_a_spec_that_changes_meanwhile_is_left(spec: Path, fabric_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tuning._accepted

    def accepted(ground: Any, text: str) -> Any:
        spec.write_text("# by somebody else\n" + spec.read_text(encoding="utf-8"), encoding="utf-8")
        return real(ground, text)

    monkeypatch.setattr(tuning, "_accepted", accepted)
    wrote = fabric_cli("tune", spec, "--seeds", "4", "--write")
    assert wrote.exit_code == 1
    assert "was changed during the search, so nothing is written" in wrote.stderr
    assert "qps" not in spec.read_text(encoding="utf-8")


def test_json(spec: Path, fabric_cli: Cli) -> None:
    found = fabric_cli("tune", spec, "--placement", "random", "--seeds", "6", "--json")
    body: dict[str, Any] = json.loads(found.stdout)
    assert (body["schema"], body["state"], body["written"]) == ("fabric.tuning/1", "found", False)
    assert body["edits"] == [{"path": ["hosts", "nccl", "qps"], "before": 4, "after": 32}]
    assert body["nccl"] == {"NCCL_IB_QPS_PER_CONNECTION": "32"}
    assert body["after"]["reached"]["p5"] >= 90 > body["before"]["reached"]["p5"]
    assert body["cost"] == {"cables": 0, "order": 1, "channels": 0.0, "qps": 3.0, "settings": 0}
    assert "head-of-line" in body["bias"]
    assert len(body["by_hand"]) == 1


def test_nothing_within_the_fabric_reaches_it(spec: Path, fabric_cli: Cli, golden: Callable[[str, str], None]) -> None:
    job = spec.parent / "job.txt"
    racks = [f"z0{1 + number % 2}-r{1 + number // 2:03}-h1" for number in range(32)]  # every step crosses the core
    job.write_text("\n".join(racks) + "\n")
    found = fabric_cli("tune", spec, "--job", job, "--seeds", "6", "--most-qps", "8", "--write")
    golden("predict/tune-none.txt", found.stdout)
    assert found.exit_code == 1
    pinned = [line for line in found.stdout.splitlines() if "pinned" in line]
    assert len(pinned) == 1  # told where it is tried, and nowhere proposed
    assert pinned[0].endswith("not proposed: paths fixed by a controller, for which no switch here is set up")


@pytest.mark.parametrize(("step", "whole"), [("fsync", "old"), ("rename", "old"), ("after", "new")])
def test_a_ctrl_c_leaves_the_spec_whole(
    spec: Path, fabric_cli: Cli, monkeypatch: pytest.MonkeyPatch, step: str, whole: str
) -> None:
    """While the new text goes to the disk, as it takes the place of the old one, and behind that: old or new, and nothing beside it."""

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    old = spec.read_text(encoding="utf-8")
    monkeypatch.setattr(tuning, "_search", _found_at_once(spec))
    target = {"fsync": (os, "fsync"), "rename": (Path, "rename"), "after": (tuning, "_settings_changed")}[step]
    monkeypatch.setattr(*target, stop)
    found = fabric_cli("tune", spec, "--write")
    said = [line for line in found.stderr.splitlines() if line]
    assert (found.exit_code, found.stdout, said[-1]) == (130, "", "interrupted")
    assert said[:-1] == ([f"wrote {spec}"] if whole == "new" else [])
    text = spec.read_text(encoding="utf-8")
    assert [name.name for name in spec.parent.iterdir()] == [spec.name]
    assert (text == old) == (whole == "old")
    assert ("qps: 16" in text) == (whole == "new")


def _found_at_once(spec: Path) -> Callable[..., Any]:
    """A search that has found 16 queue pairs."""
    edit = Edit(("hosts", "nccl", "qps"), 4, 16)
    return lambda *_: SimpleNamespace(edits=(edit,), chosen=None, by_hand=())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--gpus", "9000000"), "GPUs"),
        (("--seeds", "0"), "seeds"),
        (("--channels", "0"), "channels"),
        (("--plot", "a.pdf"), "a plot is a file .svg, .png or .html"),
        (("--job", "no-such-file"), "no such file"),
        (("--job", "x", "--gpus", "8"), "--gpus and --placement cannot be given with it"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str, spec: Path, fabric_cli: Cli) -> None:
    found = fabric_cli("tune", spec, *arguments)
    assert found.exit_code == 1
    assert message in found.stderr
    assert len(found.stderr.splitlines()) <= 2
    assert found.stdout == ""


LAB = SPEC.parents[1] / "ib-lab" / "cluster.yaml"


def _subnet(folder: Path, *changes: tuple[str, str]) -> Path:
    """The lab's subnet of half the hosts with some changes."""
    text = LAB.read_text(encoding="utf-8")
    for old, new in (("hosts: 48", "hosts: 24"), ("[{units: 4-6}]", "[{units: 3}]"), ("gt0025", "gt0017"), *changes):
        assert old in text
        text = text.replace(old, new)
    path = folder / "cluster.yaml"
    path.write_text(text, encoding="utf-8")
    return path


NVIDIA = ("flavour: opensm", "flavour: nvidia")
UPDN = ("engines: [ftree]", "engines: [updn]")
THIN = ("  hosts_per_unit", "  leaf_uplinks: 2\n  hosts_per_unit")
NONE = ("  routing: {engines: [ftree], fallback: false}\n", "")


@pytest.mark.parametrize(
    ("changes", "arguments", "now", "by_hand"),
    [
        ([UPDN], ("--placement", "rack"), ["  routing: {engines: [ftree], fallback: false}"], False),
        ([UPDN], (), ["  routing: {engines: [ftree], fallback: false}"], True),
        ([NVIDIA], (), ["  routing: {engines: [ar_ftree], fallback: false}"], False),
        ([NVIDIA, NONE], (), ["  routing:", "    engines: [ar_ftree]"], False),
        ([THIN], ("--placement", "rack", "--collective", "all_to_all"), ["  leaf_uplinks: 8"], False),
        (
            [("[ftree]", "[minhop, ftree]")],
            ("--placement", "rack"),
            ["  routing: {engines: [ftree, minhop], fallback: false}"],
            False,
        ),
    ],
    ids=["engine", "engine and order", "adaptive", "no key yet", "uplinks", "the second engine"],
)
def test_infiniband(
    changes: list[tuple[str, str]],
    arguments: tuple[str, ...],
    now: list[str],
    by_hand: bool,
    tmp_path: Path,
    fabric_cli: Cli,
) -> None:
    """What is written is found again, and leaves nothing to do but what no key says."""
    spec = _subnet(tmp_path, *changes)
    before = spec.read_text(encoding="utf-8").splitlines()
    wrote = fabric_cli("tune", spec, "--seeds", "5", "--write", *arguments)
    assert wrote.exit_code == (2 if by_hand else 0), wrote.output
    assert [line for line in spec.read_text(encoding="utf-8").splitlines() if line not in before] == now
    order = ("--placement", "rack") if by_hand else arguments
    again = fabric_cli("tune", spec, "--seeds", "5", *arguments, *order)
    assert again.exit_code == 0
    assert "as declared: nothing to change" in again.stdout


def test_what_is_said_of_infiniband(
    tmp_path: Path, fabric_cli: Cli, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    _subnet(tmp_path, NVIDIA, ("engines: [ftree]", "engines: [updn]"), THIN)
    monkeypatch.chdir(tmp_path)
    found = fabric_cli("tune", "cluster.yaml", "--seeds", "5", "--collective", "all_to_all")
    assert found.exit_code == 2
    golden("predict/tune-infiniband.txt", found.stdout)
    assert fabric_cli("tune", "cluster.yaml", "--most-qps", "8").exit_code == 1
