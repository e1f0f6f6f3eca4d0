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
