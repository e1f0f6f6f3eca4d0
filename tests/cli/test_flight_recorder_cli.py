"""`fabric flight-recorder`: report, JSON, page, exit codes, and what is wrong in one line."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.verify.flight_recorder.committed import DATA
from tests.verify.flight_recorder.generate import dump_of, write
from tests.verify.flight_recorder.job import Job
from tests.verify.flight_recorder.torch_pickle import TorchPickler

SPEC = Path(__file__).parents[2] / "inventories" / "lab" / "cluster.yaml"
ROWS = "0 z01-r001-h1 0\n1 z01-r001-h1 1\n2 z02-r001-h2 0\n3 z02-r001-h2 5\n"
Cli = Callable[..., Result]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec, a rank file and the committed dumps as `dumps/`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FABRIC_SPEC", raising=False)
    shutil.copytree(DATA, "dumps")
    shutil.copy(SPEC, "cluster.yaml")
    Path("ranks.txt").write_text(ROWS)
    return tmp_path


@pytest.mark.parametrize("name", ["stopped-2.9", "gpu-2.9", "order-2.9", "p2p-2.9", "no-dump-2.9"])
def test_report(here: Path, fabric_cli: Cli, golden: Callable[[str, str], None], name: str) -> None:
    result = fabric_cli("flight-recorder", f"dumps/{name}", "--ranks", "ranks.txt", "--full")
    golden(f"flight-recorder/{name}.txt", result.stdout)
    assert result.exit_code == (1 if name == "no-dump-2.9" else 2)


def test_json(here: Path, fabric_cli: Cli, golden: Callable[[str, str], None]) -> None:
    result = fabric_cli("flight-recorder", "dumps/gpu-2.9", "--ranks", "ranks.txt", "--json")
    document = json.loads(result.stdout)
    golden("flight-recorder/gpu.json", json.dumps(document, indent=2) + "\n")
    assert document["exit_code"] == result.exit_code == 2


def test_no_hang(here: Path, fabric_cli: Cli) -> None:
    write(Job(tp=2, dp=2, rounds=3).run(), here / "healthy")
    result = fabric_cli("flight-recorder", "healthy")
    assert result.exit_code == 0
    assert "1 passed" not in result.stdout
    assert "4 passed" in result.stdout


def test_without_a_spec_ranks_are_named(here: Path, fabric_cli: Cli) -> None:
    Path("cluster.yaml").unlink()
    result = fabric_cli("flight-recorder", "dumps/stopped-json")
    assert result.exit_code == 2
    assert "flight-recorder.stopped: rank 3" in result.stdout
    assert "give --ranks" in result.stdout


def test_one_folder_a_host(here: Path, fabric_cli: Cli) -> None:
    for rank, host in enumerate(("z01-r001-h1", "z01-r001-h1", "z02-r002-h1", "z02-r002-h1")):
        Path("jobs", host).mkdir(parents=True, exist_ok=True)
        shutil.copy(f"dumps/stopped-2.9/nccl_trace_rank_{rank}", Path("jobs", host))
    assert "z02-r002-h1:gpu1 (rank 3)" in fabric_cli("flight-recorder", "jobs").stdout


def test_all_ranks_of_a_host_are_the_host(here: Path, fabric_cli: Cli) -> None:
    write(Job(tp=2, dp=4, stop={2: 8, 3: 8}).run(), here / "hosts")
    Path("ranks.txt").write_text(
        "".join(f"{rank} z0{1 + rank // 4}-r00{1 + rank // 2 % 2}-h1 {rank % 2}\n" for rank in range(8))
    )
    result = fabric_cli("flight-recorder", "hosts", "--ranks", "ranks.txt")
    assert re.findall("^FAIL .*", result.stdout, re.MULTILINE) == [
        "FAIL     flight-recorder.stopped: z01-r002-h1 (ranks 2-3)"
    ]


def hostile(folder: Path) -> None:
    """A job whose group is named by somebody who means harm."""
    job = Job(tp=2, dp=2, rounds=3, stop={3: 8}).run()
    folder.mkdir()
    for rank in range(4):
        data: Any = dump_of(job, rank, "2.9")
        text = TorchPickler().dump(
            json.loads(json.dumps(data).replace("TENSOR_PARALLEL", "<script>alert(1)</script>\\u001b[2J"))
        )
        (folder / f"dump_{rank}").write_bytes(text)


def test_page(here: Path, fabric_cli: Cli) -> None:
    hostile(here / "evil")
    result = fabric_cli("flight-recorder", "evil", "--ranks", "ranks.txt", "--html", "page.html")
    assert "\x1b" not in result.stdout
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;?[2J" in page
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)=|https?://|@import|url\(", page)
    for text in ("rank 3", "z02-r001-h2", "GPU 5", "NIC ", "z02-rtsw001 port ", "FAIL stopped", "Who waits for whom"):
        assert text in page


ERRORS = {
    "no-file": ("nothing",),
    "no-rank-in-name": ("cluster.yaml",),
    "empty-folder": ("void",),
    "two-jobs": ("dumps/stopped-2.9", "dumps/gpu-2.9"),
    "none-readable": ("void/dump_1",),
    "no-ranks-file": ("dumps/gpu-2.9", "--ranks", "nothing"),
    "no-spec": ("dumps/gpu-2.9", "--spec", "nothing.yaml"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(here: Path, fabric_cli: Cli, golden: Callable[[str, str], None], name: str) -> None:
    Path("void").mkdir()
    if name == "none-readable":
        Path("void/dump_1").write_bytes(b"\x80\x02cos\nsystem\n.")
    result = fabric_cli("flight-recorder", *ERRORS[name])
    assert (result.exit_code, result.stdout) == (1, "")
    golden(f"flight-recorder/error-{name}.txt", result.stderr)


def test_one_bad_dump_does_not_hide_the_others(here: Path, fabric_cli: Cli) -> None:
    Path("dumps/stopped-2.9/nccl_trace_rank_0").write_bytes(b"\x80\x02cos\nsystem\n.")
    result = fabric_cli("flight-recorder", "dumps/stopped-2.9", "--full")
    assert result.exit_code == 2
    assert "flight-recorder.stopped: rank 3" in result.stdout
    assert "asks for code, 'os.system'" in result.stdout


GPU = "z02-r001-h2:gpu5"


def test_kept_and_drawn(here: Path, fabric_cli: Cli) -> None:
    asked = ("flight-recorder", "dumps/gpu-2.9", "--ranks", "ranks.txt")
    said = fabric_cli(*asked, "--json", "--junit", "junit.xml")
    Path("recorder.json").write_text(said.stdout)
    assert GPU in Path("junit.xml").read_text(encoding="utf-8")
    kept = fabric_cli("history", "cluster.yaml", GPU)
    assert "FAIL flight-recorder.stuck" in kept.stdout
    for results in ((), ("recorder.json",)):
        result = fabric_cli("report", "cluster.yaml", *results, "-o", "page.html", "--json")
        assert (result.exit_code, json.loads(result.stdout)["parts"]) == (2, 1)
        located = Path("page.html").read_text(encoding="utf-8").partition('id="located"')[2].partition('id="map"')[0]
        assert re.search(rf'class="[^"]*bad[^"]*"[^>]*>\s*<title>{GPU}', located)
    assert fabric_cli(*asked, "--no-history").exit_code == 2
    assert len(json.loads(fabric_cli("history", "cluster.yaml", "--json").stdout)["runs"]) == 1


def test_repeat_offenders_are_parts_and_no_ranks(here: Path, fabric_cli: Cli) -> None:
    """The same GPU is another rank of each job; a rank without a place is nobody; a program error is no hardware's."""
    write(Job(tp=2, dp=2, rounds=3).run(), here / "healthy")
    write(Job(tp=2, dp=2, rounds=3, blind={2: 8}).run(), here / "other")
    Path("moved.txt").write_text("0 z01-r001-h1 0\n1 z01-r001-h1 1\n2 z02-r001-h2 5\n3 z02-r001-h2 6\n")
    for dumps, ranks in (
        ("dumps/gpu-2.9", "ranks.txt"),
        ("healthy", "ranks.txt"),
        ("other", "moved.txt"),
        ("dumps/type-2.9", "ranks.txt"),
    ):
        fabric_cli("flight-recorder", dumps, "--ranks", ranks)
        fabric_cli("flight-recorder", dumps, "--spec", "cluster.yaml")
    found = json.loads(fabric_cli("history", "cluster.yaml", "--lemons", "--json").stdout)["offenders"]
    assert [(one["name"], one["episodes"]) for one in found] == [(GPU, 2)]


def test_without_a_named_spec_nothing_is_kept(here: Path, fabric_cli: Cli) -> None:
    assert fabric_cli("flight-recorder", "dumps/gpu-2.9").exit_code == 2
    assert not Path(".fabric").exists()


def bad_document(name: str, document: Any) -> str:
    """A document of the recorder with one thing that is wrong."""
    culprit = document["culprits"][0]
    if name == "kind":
        culprit["kind"] = "ghost"
    elif name == "confidence":
        culprit["confidence"] = 7
    elif name == "seats":
        culprit["seats"] = [{"host": 3}]
    elif name == "culprits":
        document["culprits"] = None
    elif name == "findings":
        document["findings"][0]["verdict"] = "guilty"
    text = json.dumps(document)
    return text[:-20] if name == "cut" else text


@pytest.mark.parametrize("name", ["kind", "confidence", "seats", "culprits", "findings", "cut"])
def test_report_refuses_in_one_line(here: Path, fabric_cli: Cli, name: str, golden: Callable[[str, str], None]) -> None:
    said = fabric_cli("flight-recorder", "dumps/gpu-2.9", "--ranks", "ranks.txt", "--json", "--no-history")
    Path("recorder.json").write_text(bad_document(name, json.loads(said.stdout)))
    result = fabric_cli("report", "cluster.yaml", "recorder.json", "-o", "page.html")
    assert (result.exit_code, result.stdout) == (1, "")
    golden(f"flight-recorder/report-{name}.txt", result.stderr)
