"""`fabric report` and `fabric validate --html`: from files, from documents, from the history; what is no source is one line."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import fabric.cli.live
from fabric.cli.conclude import Wanted, conclude
from fabric.verify import report
from fabric.verify.collectives.results import append
from fabric.verify.history import History, history_file, outcome_of, story, what_of
from fabric.verify.outcome import Outcome
from tests.export.pages import pairs, parts, seating, slow_seat
from tests.verify.history.kept import finding, keep, outcome
from tests.verify.simulated import Simulated, converge
from tests.verify.test_runner import LAB, FakeDevice

Cli = Callable[..., Result]


@pytest.fixture
def spec(spec_file: Callable[..., Path]) -> Path:
    return spec_file()


def document(path: Path, name: str = "gpu.ecc") -> Path:
    found = [finding(name, "z01-r001-h1: GPU 3", measured="2 errors"), finding(name, "z01-r001-h2", "pass")]
    path.write_text(json.dumps(report.document(found, "cluster.yaml", ["hosts"])))
    return path


def test_from_results_and_documents_together(spec: Path, fabric_cli: Cli, tmp_path: Path) -> None:
    append(tmp_path / "results.jsonl", pairs(seating(), 5), "lab")
    out = tmp_path / "page.html"
    said = fabric_cli(
        "report", spec, tmp_path / "results.jsonl", document(tmp_path / "hosts.json"), "-o", out, "--json"
    )
    data = json.loads(said.stdout)
    assert (said.exit_code, data["schema"], data["sources"]) == (2, "fabric.report/1", ["results.jsonl", "hosts.json"])
    assert (data["measurements"], data["bytes"]) == (len(pairs(seating(), 5)), out.stat().st_size)
    text = out.read_text()
    assert "2 errors" in text
    located = text.partition('id="located"')[2].partition('id="map"')[0]
    assert data["parts"] >= 1
    assert slow_seat(seating()).host in located  # located anew from the measurements


def test_from_the_history(spec: Path, fabric_cli: Cli, tmp_path: Path) -> None:
    path, out = history_file(spec.parent / ".fabric", "lab"), tmp_path / "page.html"
    keep(path, 1, outcome(finding("cabling.missing", "old"), checks=("cabling",)))
    keep(path, 2, outcome(finding("gpu.ecc", "z01-r001-h1")))
    keep(path, 3, outcome())
    keep(path, 4, outcome(finding("gpu.ecc", "z01-r001-h1"), measured=pairs(seating())))
    said = fabric_cli("report", spec, "-o", out)
    assert (said.exit_code, said.stdout) == (2, f"{out}: 2 faults, 38 measurements\n")
    text = out.read_text()
    assert "run 20260104-120000 (hosts), run 20260101-120000 (cabling)" in text  # the last run of each check
    assert "Repeat offenders" in text
    fabric_cli("report", spec, "-o", out, "--run", "20260103-120000")
    assert "nothing that could be seen is wrong" in out.read_text()


def test_a_damaged_history_costs_the_repeat_offenders_only(spec: Path, fabric_cli: Cli, tmp_path: Path) -> None:
    path = history_file(spec.parent / ".fabric", "lab")
    path.parent.mkdir()
    path.write_bytes(b"x" * 4000)
    said = fabric_cli("report", spec, document(tmp_path / "hosts.json"), "-o", tmp_path / "page.html")
    assert said.exit_code == 2
    assert said.stderr == f"WARNING: no repeat offenders: {path} is damaged: file is not a database\n"


def test_validate_writes_a_page(monkeypatch: pytest.MonkeyPatch, spec: Path, fabric_cli: Cli, tmp_path: Path) -> None:
    sim = Simulated(LAB, unreachable={"z01-rtsw001"})
    tables = converge(sim)
    monkeypatch.setattr(fabric.cli.live, "driver", lambda ref, *_: FakeDevice(sim, tables, ref, []))
    said = fabric_cli("validate", "cabling", spec, "--html", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert said.exit_code == 0
    assert "fabric validate cabling" in text
    assert "z01-rtsw001" in text


def one_finding(**changes: object) -> str:
    body = {"check": "a", "subject": "b", "verdict": "fail", "measured": "", "expected": "", **changes}
    return json.dumps({"schema": "fabric.validate/1", "findings": [body]})


def test_collectives_come_into_the_history_and_the_page(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = parts(seating())["cable"]
    fault = finding("collectives.cable", part.name, devices=part.hosts)
    one = Outcome("lab", ("collectives",), [fault], ("--stage pairs",), pairs(seating()), (), [part])
    assert conclude(one, Wanted(spec, 1.77e9, html=tmp_path / "page.html")) == 2
    assert "FAIL     collectives.cable" in capsys.readouterr().out
    with History.read(history_file(spec.parent / ".fabric", "lab")) as kept:
        (run,) = kept.runs()
        back = outcome_of(kept, run, "lab")
        what = what_of(seating(), slow_seat(seating()).name)
        assert what is not None
        told = story(kept, what)
    assert (run.run, run.at, run.selection) == ("20260202-024000", "2026-02-02T02:40:00Z", ("--stage pairs",))
    assert (back.measurements, back.parts) == (one.measurements, one.parts)
    assert [(speed.stage, round(speed.value / speed.peers, 1)) for speed in told.speeds] == [("rails", 0.3)]
    assert part.name in html.unescape((tmp_path / "page.html").read_text())


BROKEN: dict[str, str] = {
    "cut-off": '{"schema": "fabric.validate/1", "findings": [{"check": "gpu.e',
    "no-list": '{"schema": "fabric.validate/1", "findings": {}}',
    "no-finding": '{"schema": "fabric.validate/1", "findings": [1]}',
    "no-text": '{"schema": "fabric.validate/1", "findings": [{"check": 1}]}',
    "bad-verdict": one_finding(verdict="maybe"),
    "bad-count": one_finding(count="9"),
    "bad-devices": one_finding(devices=[1]),
    "deep": '{"schema": "fabric.validate/1", "findings": ' + "[" * 100_000,
    "newer": '{"schema": "fabric.validate/10", "findings": []}',
    "empty-document": '{"schema": "fabric.validate/1", "findings": []}',
}  # fmt: skip


@pytest.mark.parametrize("name", [*BROKEN, "nowhere", "pipe", "two-sources", "no-run", "no-history"])
def test_errors(
    name: str, spec: Path, fabric_cli: Cli, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(spec.parent)
    Path("x.json").write_text(BROKEN.get(name, ""))
    if name == "pipe":
        os.mkfifo("pipe")
    if name == "no-run":
        keep(history_file(Path(".fabric"), "lab"), 1, outcome())
    args = {
        "nowhere": ("nowhere.json",), "pipe": ("pipe",), "two-sources": ("x.json", "--run", "last"),
        "no-run": ("--run", "20250101-000000"), "no-history": (),
    }.get(name, ("x.json",))  # fmt: skip
    said = fabric_cli("report", "cluster.yaml", *args, "-o", "page.html")
    assert (said.exit_code, said.stdout, said.stderr.count("\n")) == (1, "", 1)
    assert not Path("page.html").exists()
    golden(f"report/errors/{name}.txt", said.stderr)
