"""`fabric history` and what `fabric validate` keeps for it; a history that cannot be kept costs a warning, never the report."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import fabric.cli.live
from fabric.verify.history import History, history_file
from fabric.verify.outcome import Outcome
from tests.verify.history.kept import finding, keep, outcome
from tests.verify.simulated import Simulated, converge
from tests.verify.test_runner import LAB, FakeDevice

Cli = Callable[..., Result]
CABLE = "z01-rtsw001:eth2/1/1 <-> z01-r001-h1:beth0"


@pytest.fixture
def validate(monkeypatch: pytest.MonkeyPatch, fabric_cli: Cli, spec_file: Callable[..., Path]) -> Callable[..., Result]:
    """`validate("cabling", ...)` on a simulated network; the spec is at `tmp_path`/cluster.yaml."""
    sim = Simulated(LAB, unreachable={"z01-rtsw001"})
    tables = converge(sim)
    monkeypatch.setattr(fabric.cli.live, "driver", lambda ref, *_: FakeDevice(sim, tables, ref, []))
    spec = spec_file()
    return lambda check, *args: fabric_cli("validate", check, spec, *args)


@pytest.fixture
def kept(spec_file: Callable[..., Path]) -> tuple[Path, Path]:
    """A spec, and its history of five days."""
    spec = spec_file()
    path = history_file(spec.parent / ".fabric", "lab")
    bad = finding("cabling.missing", CABLE, measured="nobody is heard")
    silent = finding("read.device", "z01-rtsw002", "unknown", measured="no answer")
    days = [outcome(checks=("cabling",)), *[outcome(bad, silent, checks=("cabling",))] * 2]
    for day, one in enumerate([*days, days[0], days[1], outcome()], start=1):
        keep(path, day, one, sha=str(day // 5) * 64, spec=f"name: lab\nracks: {day // 5}\n")
    return spec, path


def test_validate_keeps_what_it_found(validate: Callable[..., Result], tmp_path: Path) -> None:
    assert validate("cabling", "--device", "z02-*").exit_code == 0
    assert validate("qos", "--no-history").exit_code == 0
    with History.read(tmp_path / ".fabric" / "lab.history.sqlite") as history:
        (run,) = history.runs()
        assert history.spec(run.spec_sha256) == (tmp_path / "cluster.yaml").read_text()
    assert (run.checks, run.selection, run.failed, run.spec) == (
        ("cabling",),
        ("--device z02-*",),
        0,
        str(tmp_path / "cluster.yaml"),
    )


def test_a_history_that_cannot_be_kept_is_a_warning(validate: Callable[..., Result], tmp_path: Path) -> None:
    well = validate("qos", "--json", "--no-history")
    (tmp_path / ".fabric").mkdir(exist_ok=True)
    path = tmp_path / ".fabric" / "lab.history.sqlite"
    path.write_bytes(b"nothing that SQLite knows" * 99)
    damaged = validate("qos", "--json")
    assert (damaged.exit_code, damaged.stdout) == (well.exit_code, well.stdout)
    (line,) = [line for line in damaged.stderr.splitlines() if "history" in line]
    assert line == (
        f"WARNING: this run is not in the history: {path} is damaged: file is not a database "
        "(hint: move the file away: a new history begins)"
    )
    path.unlink()
    (tmp_path / ".fabric").rename(tmp_path / "away")
    (tmp_path / ".fabric").write_text("a file where the folder should be")
    refused = validate("qos", "--json", "--state", tmp_path / ".fabric")
    assert (refused.exit_code, "this run is not in the history: cannot write" in refused.stderr) == (
        well.exit_code,
        True,
    )


@pytest.mark.parametrize(
    ("name", "args", "code"),
    [
        ("runs", (), 0),
        ("host", ("z01-r001-h1",), 2),
        ("port", ("z01-rtsw001:eth2/1/1",), 2),
        ("well", ("z02-r001-h1",), 0),
        ("lemons", ("--lemons",), 2),
        ("no-lemons", ("--lemons", "--at-least", "5"), 0),
        ("since-good", ("--since-good",), 2),
    ],
)
def test_what_is_told(
    name: str,
    args: tuple[str, ...],
    code: int,
    kept: tuple[Path, Path],
    fabric_cli: Cli,
    golden: Callable[[str, str], None],
) -> None:
    said = fabric_cli("history", kept[0], *args)
    assert (said.exit_code, said.stderr) == (code, "")
    golden(f"history/{name}.txt", said.stdout)
    data = fabric_cli("history", kept[0], *args, "--json")
    assert data.exit_code == code
    assert str(json.loads(data.stdout)["schema"]).startswith("fabric.history.")
    golden(f"history/{name}.json", data.stdout.replace(str(kept[0].parent), "DIR"))


def test_what_nobody_could_see_is_told_and_no_fault(spec_file: Callable[..., Path], fabric_cli: Cli) -> None:
    spec = spec_file()
    silent = finding("read.device", "z01-rtsw002", "unknown", measured="no answer")
    keep(history_file(spec.parent / ".fabric", "lab"), 1, Outcome("lab", ("cabling",), (silent,)))
    since = fabric_cli("history", spec, "--since-good")
    assert (since.exit_code, "unknown read.device: z01-rtsw002: no answer" in since.stdout) == (0, True)
    page = spec.parent / "page.html"
    made = fabric_cli("report", spec, "-o", page)
    assert (made.exit_code, made.stdout) == (0, f"{page}: 0 faults, 1 unknown, 0 measurements\n")


def test_the_spec_may_be_left_out(kept: tuple[Path, Path], fabric_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    by_name = fabric_cli("history", kept[0], "z01-r001-h1").stdout
    monkeypatch.setenv("FABRIC_SPEC", str(kept[0]))
    assert fabric_cli("history", "z01-r001-h1").stdout == by_name
    assert fabric_cli("history").stdout == fabric_cli("history", kept[0]).stdout


def test_a_name_that_the_spec_has_no_more_is_still_told(kept: tuple[Path, Path], fabric_cli: Cli) -> None:
    keep(kept[1], 9, outcome(finding("gpu.ecc", "old-host: GPU 1")))
    said = fabric_cli("history", kept[0], "old-host")
    assert (said.exit_code, "gpu.ecc: old-host: GPU 1: x" in said.stdout) == (2, True)


ERRORS: dict[str, tuple[str, ...]] = {
    "nobody": ("z01-r001-h9",),
    "two-questions": ("--lemons", "--since-good"),
    "three-words": ("a", "b"),
    "none-yet": ("--state", "nowhere"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(
    name: str,
    kept: tuple[Path, Path],
    fabric_cli: Cli,
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(kept[0].parent)
    said = fabric_cli("history", "cluster.yaml", *ERRORS[name])
    assert (said.exit_code, said.stdout) == (1, "")
    golden(f"history/errors/{name}.txt", said.stderr)


def test_a_newer_history_is_refused(kept: tuple[Path, Path], fabric_cli: Cli) -> None:
    with sqlite3.connect(kept[1]) as base:
        base.execute("PRAGMA user_version = 9")
    said = fabric_cli("history", kept[0], "--lemons")
    assert said.exit_code == 1
    assert said.stderr.count("\n") == 1
    assert "was written by a newer fabric (tables 9, this one knows 1)" in said.stderr


def test_a_name_that_is_no_utf8_is_not_known(kept: tuple[Path, Path], fabric_cli: Cli) -> None:
    found = fabric_cli("history", kept[0], "\udcff")
    assert found.exit_code == 1 and "neither the spec nor the history knows" in found.stderr
