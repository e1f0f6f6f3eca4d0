"""What somebody types who does not know the command yet: one line that says what to type instead, or it works."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from fabric.cli import boundary
from fabric.cli.main import cli
from tests.verify.flight_recorder.committed import DATA

INVENTORIES = Path(__file__).parents[2] / "inventories"
SLOW = (
    '{"schema": "fabric.results/1", "cluster": "lab"}\n{"measurement": {"stage": "rails", "test": "all_gather", "hosts": '
    '["z01-r001-h1", "z01-r001-h2"], "rails": [3], "size": 8589934592, "values": [20.1], "state": "ok", "reason": "", '
    '"wrong": 0, "trunks": [], "source": "r.txt:14", "round": 4}}\n'
)
CLICK = re.compile(r"^(error: fabric[\w -]*:) .*?(?= \(hint)")
"""What click says in words of its own, which differ between its versions."""
Run = Callable[[str], tuple[int, str, str]]

REFUSED = (
    "chek",
    "diff",
    "frobnicate",
    "show hosts",
    "check --jsn",
    "check --spec cluster.yaml cluster.yaml",
    "show summary cluster.yaml",
    "explain qos.lossless.dscp cluster.yaml",
    "init --gpus many",
    "place",
    "locate",
    "locate cluster.yaml",
    "locate folder/binary",
    "locate folder/empty",
    "locate newer.jsonl",
    "locate located.json",
    "locate validated.json",
    "plan --against tree --out cluster.yaml",
    "export infragraph --out cluster.yaml",
    "export infragraph --out link.yaml",
    "export ndt ib.yaml --out ib.yaml",
    "export containerlab --out ./cluster.yaml",
    "report cluster.yaml slow.jsonl --out cluster.yaml",
    "report slow.jsonl --out slow.jsonl",
    "flight-recorder dumps --html dumps/nccl_trace_rank_0",
    "flight-recorder dumps --junit both --html both",
    "validate cabling --junit cluster.yaml",
    "validate collectives --dry-run --results cluster.yaml",
    "history --spec cluster.yaml one two",
    "history --last 99999999999999999999",
    "history --lemons --at-least 99999999999999999999",
    "report --out page.html folder/binary",
    "flight-recorder dumps --ranks folder/binary",
    "flight-recorder dumps --ranks folder/deep",
    "flight-recorder dumps --ranks folder/twice.json",
    "flight-recorder dumps --ranks folder/negative.json",
    "show switches",
    "show hcas",
    "show cages",
    "show links cluster.yaml",
    "show links z09*",
    "show devices z01-rtsw01",
    "render --target foo --out new",
    "show partitions",
    "show addresses --spec ib.yaml",
    "export ndt --out ndt.csv",
    "export containerlab ib.yaml --out lab.clab.yml",
)
"""Each is refused with exit code 1 and one line."""

SAME: Mapping[str, str] = {
    "check cluster.yaml": "check --spec cluster.yaml",
    "check other.yaml": "check -s other.yaml",
    "export kueue other.yaml --out k": "export kueue --out k -s other.yaml",
    "plan other.yaml --against tree": "plan --against tree --spec other.yaml",
    "locate cluster.yaml slow.jsonl": "locate slow.jsonl",
    "locate other.yaml slow.jsonl": "locate --spec other.yaml slow.jsonl",
    "report cluster.yaml slow.jsonl --out p.html": "report slow.jsonl --out p.html",
    "history other.yaml": "history --spec other.yaml",
}
"""Two ways to say the same."""


@pytest.fixture
def fabric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line in a folder with specs, results and dumps: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FABRIC_SPEC", raising=False)
    for name, inventory in (("cluster", "lab"), ("ib", "ib-lab")):
        shutil.copy(INVENTORIES / inventory / "cluster.yaml", f"{name}.yaml")
    Path("other.yaml").write_text(Path("cluster.yaml").read_text().replace("name: lab", "name: other"))
    Path("slow.jsonl").write_text(SLOW)
    for folder in ("folder", "tree"):
        Path(folder).mkdir()
    Path("folder/binary").write_bytes(b"\0\xff\xfe" * 1000)
    Path("folder/empty").write_bytes(b"")
    Path("folder/deep").write_text('{"a":' * 100_000)
    Path("folder/twice.json").write_text('{"3": "z01-r001-h1", "3": "z01-r001-h2"}')
    Path("folder/negative.json").write_text('{"3": {"host": "z01-r001-h1", "gpu": -1}}')
    for name, schema in (("newer.jsonl", "results/2"), ("located.json", "locate/1"), ("validated.json", "validate/1")):
        Path(name).write_text(f'{{\n  "schema": "fabric.{schema}",\n  "spec": ""\n}}\n')
    Path("link.yaml").symlink_to("cluster.yaml")
    shutil.copytree(DATA / "stopped-2.9", "dumps")

    def run(line: str) -> tuple[int, str, str]:
        code = boundary.run(cli, line.split())
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_what_is_refused_is_one_line_with_a_way_on(fabric: Run, golden: Callable[[str, str], None]) -> None:
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    told = []
    for line in REFUSED:
        code, out, err = fabric(line)
        assert (code, out, err.count("\n")) == (1, "", 1), line
        told.append(f"fabric {line}\n  {CLICK.sub(lambda found: found[1] + ' ...', err)}")
    golden("cli/newcomer.txt", "".join(told))
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("line", SAME)
def test_a_spec_may_be_named_either_way(fabric: Run, line: str) -> None:
    assert fabric(SAME[line]) == fabric(line)


def test_fabric_spec_is_the_default_and_a_named_one_goes_before_it(
    fabric: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_argument = fabric("check other.yaml"), fabric("check ib.yaml")
    monkeypatch.setenv("FABRIC_SPEC", "other.yaml")
    assert (fabric("check"), fabric("check --spec ib.yaml")) == by_argument


def test_a_first_word_without_suffix_is_the_spec_where_there_is_no_other(fabric: Run) -> None:
    said = fabric("locate cluster.yaml slow.jsonl")
    Path("cluster.yaml").rename("plain")
    assert fabric("locate plain slow.jsonl") == said


def test_without_a_command_there_is_help(fabric: Run) -> None:
    for line in ("", "export"):
        code, _, err = fabric(line)
        assert (code, err.startswith("Usage: fabric")) == (1, True)


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        ("0 z01-r001-h1 0\n1 z01-r001-h1 1\n", "note: rank 3 has no place: --ranks and the folders of the dumps tell that of 2 of 4 ranks\n"),
        ("3 z01-r001-h1 0\n", ""),
    ],
)  # fmt: skip
def test_a_rank_at_fault_without_a_place_is_told(fabric: Run, rows: str, note: str) -> None:
    Path("ranks.txt").write_text(rows)
    code, out, _ = fabric("flight-recorder dumps --ranks ranks.txt")
    assert (code, "".join(line + "\n" for line in out.splitlines() if "place" in line)) == (2, note)
