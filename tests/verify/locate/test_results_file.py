"""The file of results: what is put in comes out; what a kill cut off is left out; everything else is refused in one line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fabric.errors import FabricError
from fabric.verify.collectives.model import Clue, Measurement
from fabric.verify.collectives.results import Recorder, append, is_results, read
from tests.verify.collectives import nccl_samples as samples
from tests.verify.locate.test_locate import CABLE, TWICE

Golden = Callable[[str, str], None]
ONE = Measurement(
    "pairs", "all_gather", ("a", "b"), (3,), 8, (1.5, 2.0), wrong=0, trunks=("x:1 <-> y:2",), source="f:1", round=2
)
SAID = Clue("xid", "a:gpu3", "Xid 79: \n\u2028 'fallen off'", "b", "log:7", 3)
HEAD = '{"schema": "fabric.results/1"}\n'


def test_what_is_added_is_read(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    append(path, [SAID, ONE, ONE], "lab")
    assert read(path) == ([ONE, ONE], [SAID])
    assert is_results(path.read_bytes()[:4096])


def test_a_later_run_takes_the_place_of_what_it_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    of_c, far, new = replace(ONE, hosts=("a", "c")), replace(ONE, hosts=("c", "d")), replace(ONE, values=(9.0,))
    port = Clue("mtu", "switch:1", "refused", "a:nic")
    append(path, [ONE, of_c, far, SAID, port], "lab")
    append(path, [replace(ONE, state="unmade", values=())], "lab")  # no login: nothing is known better
    assert len(read(path)[0]) == 4 and read(path)[1] == [SAID, port]
    append(path, [new], "lab")
    assert read(path) == ([of_c, far, new], [])
    append(path, [replace(far, values=(8.0,))], "lab")
    assert [m.values for m in read(path)[0]] == [(9.0,), (8.0,)]


@settings(deadline=None, max_examples=60)
@given(cut=st.integers(min_value=0, max_value=2000))
@example(cut=46)
@example(cut=48)
def test_a_file_that_was_cut_anywhere_is_read_to_its_last_whole_line(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "r.jsonl"
    append(path, [ONE, SAID, ONE, ONE], "lab")
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    head = whole.index(b"\n") + 1
    if 0 < min(cut, len(whole)) < head - 1:
        with pytest.raises(FabricError, match="no file of results"):
            read(path)
        return
    if cut >= head:
        assert len(read(path)[0]) == [json.loads(line) for line in whole[:cut].split(b"\n")[1:-1]].count(
            {"measurement": as_read(ONE)}
        )
    if cut >= head - 1 or not cut:
        append(path, [ONE], "lab")  # a later run goes on after it
        assert read(path)[0][-1] == ONE


def as_read(one: Measurement) -> dict[str, object]:
    found: dict[str, object] = json.loads(json.dumps({name: getattr(one, name) for name in one.__slots__}))
    return found


BROKEN = {
    "other-schema": '{"schema": "fabric.results/2"}\n',
    "no-header": "hello\n",
    "list": f"{HEAD}[1, 2]\n",
    "word": f"{HEAD}rm -rf\n",
    "both": f'{HEAD}{{"measurement": {{}}, "clue": {{}}}}\n',
    "no-stage": f'{HEAD}{{"measurement": {{"test": "x", "hosts": ["a"]}}}}\n',
    "bad-stage": f'{HEAD}{{"measurement": {{"stage": "warp", "test": "x", "hosts": ["a"]}}}}\n',
    "text-for-number": f'{HEAD}{{"measurement": {{"stage": "node", "test": "x", "hosts": ["a"], "values": ["1"]}}}}\n',
    "not-a-number": f'{HEAD}{{"measurement": {{"stage": "node", "test": "x", "hosts": ["a"], "values": [NaN]}}}}\n',
    "negative": f'{HEAD}{{"measurement": {{"stage": "node", "test": "x", "hosts": ["a"], "values": [-1.0]}}}}\n',
    "too-fast": f'{HEAD}{{"measurement": {{"stage": "node", "test": "x", "hosts": ["a"], "values": [1e308, 1e308]}}}}\n',
    "negative-wrong": f'{HEAD}{{"measurement": {{"stage": "node", "test": "x", "hosts": ["a"], "wrong": -1}}}}\n',
    "huge-size": f'{HEAD}{{"measurement": {{"stage": "node", "test": "x", "hosts": ["a"], "size": 1{"0" * 30}}}}}\n',
    "host-twice": f'{HEAD}{{"measurement": {{"stage": "pairs", "test": "x", "hosts": ["a", "a"]}}}}\n',
    "no-count": f'{HEAD}{{"clue": {{"kind": "xid", "where": "a", "text": "b", "count": 0}}}}\n',
    "other-cluster": '{"schema": "fabric.results/1", "cluster": "dc2\u001b[2J"}\n',
    "bad-clue": f'{HEAD}{{"clue": {{"kind": "gossip", "where": "a", "text": "b"}}}}\n',
    "deep": HEAD + '{"measurement": ' + "[" * 100000 + "]" * 100000 + "}\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_anything_else_is_one_line(
    name: str, tmp_path: Path, fabric_cli: Callable[..., Result], spec_file: Callable[..., Path],
    golden: Golden, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    spec_file()
    Path("r.jsonl").write_text(BROKEN[name], encoding="utf-8")
    found = fabric_cli("locate", "cluster.yaml", "r.jsonl")
    assert found.exit_code == 1 and found.stdout == "" and len(found.stderr.splitlines()) == 1
    golden(f"locate/errors/{name}.txt", found.stderr)


def test_too_long_a_line(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(HEAD + " " * (5 << 20) + "\n", encoding="utf-8")
    with pytest.raises(FabricError, match="longer than 4 MiB"):
        read(path)


def test_nothing_else_is_written_over(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("mine", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    append(tmp_path / "lab.jsonl", [ONE], "lab")
    for path, cluster, said in (
        (other, "lab", "no file of results"), (tmp_path, "lab", "directory"), (tmp_path / "pipe", "lab", "no regular file"),
        (tmp_path / "lab.jsonl", "dc2", "another cluster"), (tmp_path / "none" / "r", "lab", "No such file"),
    ):  # fmt: skip
        with pytest.raises(FabricError, match=said):
            append(path, [ONE], cluster)
    assert other.read_text(encoding="utf-8") == "mine"


def test_each_result_is_there_as_soon_as_it_is_added(tmp_path: Path) -> None:
    with Recorder(tmp_path / "r.jsonl", "lab") as file:
        file.add(ONE)
        assert read(tmp_path / "r.jsonl") == ([ONE], [])


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec_file: Callable[..., Path]) -> str:
    monkeypatch.chdir(tmp_path)
    spec_file("ib-lab")
    append(Path("cable.jsonl"), CABLE, "ib-lab")
    append(Path("pairs.jsonl"), TWICE, "ib-lab")
    append(
        Path("log.jsonl"),
        [Clue("counter", "leaf0004:1", "symbol errors"), Clue("xid", "gt0007:gpu2", "Xid 79")],
        "ib-lab",
    )
    append(
        Path("unmade.jsonl"),
        [Measurement("node", "all_reduce", ("gt0001",), state="unmade", reason="no login")],
        "ib-lab",
    )
    append(Path("foreign.jsonl"), [Measurement("node", "all_reduce", ("elsewhere",), values=(1.0,))], "ib-lab")
    append(Path("good.jsonl"), [one for one in CABLE if "gt0001" not in one.hosts], "ib-lab")
    return "cluster.yaml"


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("cable.txt", ["cable.jsonl"], 2), ("cable-full.txt", ["cable.jsonl", "--full"], 2), ("cable.json", ["cable.jsonl", "--json"], 2),
        ("two-files.txt", ["pairs.jsonl", "log.jsonl"], 2), ("unmade.txt", ["unmade.jsonl"], 1), ("foreign.txt", ["foreign.jsonl"], 1),
        ("good.txt", ["good.jsonl"], 0), ("errors/missing.txt", ["none.jsonl"], 1), ("errors/folder.txt", ["."], 1),
    ],
)  # fmt: skip
def test_the_command(
    spec: str, name: str, arguments: list[str], code: int, fabric_cli: Callable[..., Result], golden: Golden
) -> None:
    found = fabric_cli("locate", spec, *arguments)
    assert found.exit_code == code
    golden(f"locate/{name}", found.stdout + found.stderr)


@pytest.mark.parametrize(
    "lines", [4, 5, 9], ids=["no device but the first", "half of the first host", "one host of two"]
)
def test_a_list_of_devices_that_is_cut_off_blames_nobody(
    lines: int, spec: str, fabric_cli: Callable[..., Result]
) -> None:
    rows = samples.rows_of("all_gather", 16, [190.0])
    whole = samples.text_of("all_gather", ["gt0001", "gt0002"], 8, rows)
    Path("r.txt").write_text("\n".join(whole[: lines + 2]) + "\n", encoding="utf-8")
    found = fabric_cli("locate", spec, "r.txt")
    assert found.exit_code == 1
    assert "1 not made: its list of devices is not whole" in found.stdout


def test_output_of_a_tool_is_read_as_well(spec: str, fabric_cli: Callable[..., Result]) -> None:
    line = "gt0001:1:2 [3] NCCL INFO NET/IB : mlx5_3:1 Got async event : port error\n"
    Path("gt0001.log").write_text(line * 3, encoding="utf-8")
    found = json.loads(fabric_cli("locate", spec, "gt0001.log", "--json").stdout)
    assert [(part["kind"], part["name"]) for part in found["parts"]] == [("cable", "leaf0004:1 <-> gt0001:mlx5_3")]


def test_a_copy_of_a_file_is_no_more_evidence(spec: str, fabric_cli: Callable[..., Result]) -> None:
    Path("copy.jsonl").write_bytes(Path("cable.jsonl").read_bytes())
    once = json.loads(fabric_cli("locate", spec, "cable.jsonl", "--json").stdout)
    assert json.loads(fabric_cli("locate", spec, "cable.jsonl", "copy.jsonl", "--json").stdout) == once


def test_what_a_file_says_moves_no_cursor(spec: str, fabric_cli: Callable[..., Result]) -> None:
    said = [
        Clue("xid", "gt0001:gpu3", "\x1b]0;me\x07"),
        Clue("gdr-disabled", "gt0001\x1b[2J\nFAULT    host: gt0002", "x"),
    ]
    append(Path("escape.jsonl"), said, "ib-lab")
    found = fabric_cli("locate", spec, "escape.jsonl", "--full")
    assert found.exit_code == 2 and "\\x1b]0;me\\x07" in found.stdout
    assert all(line.isprintable() for line in found.stdout.splitlines())
    assert [line.split(":")[0] for line in found.stdout.splitlines() if line.startswith("FAULT")] == [
        "FAULT    setting",
        "FAULT    gpu",
    ]


def test_a_result_with_nothing_to_compare_it_with_judges_nothing(spec: str, fabric_cli: Callable[..., Result]) -> None:
    append(Path("one.jsonl"), [Measurement("node", "all_gather", ("gt0001",), values=(1.0,))], "ib-lab")
    assert fabric_cli("locate", spec, "one.jsonl").exit_code == 1


@pytest.mark.parametrize(("speed", "wrong"), [("1e308", "0"), ("85899", "-3")])
def test_a_number_that_no_run_comes_to_is_not_believed(
    spec: str, speed: str, wrong: str, fabric_cli: Callable[..., Result]
) -> None:
    half = f"100 {speed} {speed} {wrong}"
    Path("run.txt").write_text(
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20\n# Using devices\n"
        "#  Rank  0 Group  0 Pid  1 on     gt0001 device  0 [0x0f] NVIDIA H100\n"
        "#  Rank  1 Group  0 Pid  1 on     gt0002 device  0 [0x0f] NVIDIA H100\n"
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
        f"  8589934592    2147483648     float     sum      -1   {half}   {half}\n"
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1\n#\n",
        encoding="utf-8",
    )
    assert json.loads(fabric_cli("locate", spec, "run.txt", "--json").stdout)["unmade"] == 1
    assert fabric_cli("report", spec, "run.txt", "--out", "page.html").exit_code == 0
