"""Recorded output of every kind, good and broken, through the reader that knows a file by its content; hostile files."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.design.seats import Seating, load_seating
from fabric.errors import FabricError
from fabric.verify.collectives import sniff
from fabric.verify.collectives.causes import explain
from fabric.verify.collectives.sniff import Results, read_results, read_text, stage_of

DATA = Path(__file__).parent / "data"
RECORDED = sorted(path.name for path in DATA.iterdir())


@pytest.fixture(scope="session")
def lab_seating() -> Seating:
    return load_seating(Path(__file__).resolve().parents[3] / "inventories" / "lab" / "cluster.yaml")


def told(results: Results) -> str:
    """The results as lines that a reader can check."""
    lines = [str(results.kind)]
    for m in results.measurements:
        rails = f" rails {','.join(map(str, m.rails))}" if m.rails else ""
        value = f"{m.value:.2f} GB/s at {m.size:,} bytes of {len(m.values)}" if m.value is not None else m.state
        lines.append(f"{m.stage} {m.test} {' '.join(m.hosts)}{rails}: {value}, wrong {m.wrong} {m.reason}".rstrip())
    for clue in results.clues:
        cause = explain(clue)
        lines += [f"{clue.kind} {clue.where} < {clue.peer} x{clue.count} {clue.source}", f"    said  {clue.text}"]
        lines += [f"    cause {cause.cause} (report {cause.report})", f"    do    {cause.do}"] if cause else []
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_output(name: str, lab_seating: Seating, golden: Callable[[str, str], None]) -> None:
    golden(f"collectives/read/{name}.txt", told(read_results(DATA / name, seating=lab_seating)))


@pytest.mark.parametrize("name", RECORDED)
def test_cut_anywhere_it_is_read_or_refused_and_no_number_is_another(name: str, lab_seating: Seating) -> None:
    text = (DATA / name).read_text(encoding="utf-8")
    whole = read_text(text, source=name, seating=lab_seating)
    true = {(m.test, m.size, value) for m in whole.measurements for value in m.values}
    step = max(1, len(text) // 60)
    for end in range(0, len(text), step):
        try:
            found = read_text(text[:end], source=name, seating=lab_seating)
        except FabricError as error:
            assert "\n" not in str(error)
            continue
        assert {(m.test, m.size, value) for m in found.measurements for value in m.values} <= true
        assert {clue.where for clue in found.clues} <= {clue.where for clue in whole.clues} | {""}


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_damaged_anywhere_it_is_read_or_refused(seed: int, lab_seating: Seating) -> None:
    """A character, a stretch or a line lost, doubled or changed: no traceback, and no bandwidth that was not there."""
    chance = random.Random(seed)  # noqa: S311 - a test's choice
    text = (DATA / chance.choice(RECORDED)).read_text(encoding="utf-8")
    printed = [float(word) for word in re.findall(r"\d+\.\d+", text)]
    at, length = chance.randrange(len(text)), chance.choice((1, 1, 2, 9, 80))
    middle = chance.choice(("", text[at : at + length] * 2, chance.choice('0123456789.-e:{}[]"\n \0é') * length))
    try:
        found = read_text(text[:at] + middle + text[at + length :], source="x", seating=lab_seating)
    except FabricError as error:
        assert "\n" not in str(error)
        return
    for measured in found.measurements:
        for value in measured.values:  # perftest prints gigabits, of both directions together
            assert any(math.isclose(value * times, known, rel_tol=0.01) for known in printed for times in (1, 8, 16))


REFUSED = {
    "empty": b"  \n",
    "binary": b"\x7fELF\0\0\0",
    "pickle": b"\x80\x02}q\x00(X\x07\x00\x00\x00versionq\x01",
    "spec": b"name: lab\nbackend:\n  kind: roce\n",
    "json": b'{"hello": "world"}',
    "not-utf-8": b"\xff\xfe# size",
    "html": b"<script>alert(1)</script>",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused_in_one_line(
    name: str, tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    path = tmp_path / f"{name}.out"
    path.write_bytes(REFUSED[name])
    with pytest.raises(FabricError) as refused:
        read_results(path)
    golden(f"collectives/errors/{name}.txt", str(refused.value).replace(str(tmp_path), "DIR") + "\n")


@pytest.mark.parametrize("name", ["missing", "folder", "unreadable"])
def test_a_file_that_cannot_be_read(name: str, tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    if name == "unreadable":
        path = tmp_path / "file" / "below"
        path.parent.write_text("a file")
    with pytest.raises(FabricError) as refused:
        read_results(path)
    golden(f"collectives/errors/{name}.txt", str(refused.value).replace(str(tmp_path), "DIR") + "\n")


def test_a_long_log_is_read_line_by_line_and_other_long_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sniff, "MAX_FILE", 1000)
    line = "gt1:1:2 [0] x.cc:1 NCCL WARN NET/IB : mlx5_4:1 Got async event : port error\n"
    (tmp_path / "long.log").write_text(line * 500)
    (clue,) = read_results(tmp_path / "long.log").clues
    assert (clue.kind, clue.where, clue.count, clue.source) == ("port-error", "gt1:mlx5_4", 500, "long.log:1")
    (tmp_path / "long.txt").write_text("# nThread 1 nGpus 1 \n" * 500)
    with pytest.raises(FabricError, match=r"long\.txt: longer than 0 MiB, and no log"):
        read_results(tmp_path / "long.txt")


def test_full_domain_names_are_those_of_the_spec(lab_seating: Seating) -> None:
    line = "z01-r001-h1.example.net:1:2 [0] x.cc:1 NCCL WARN NET/IB : mlx5_4:1 Got async event : port error\n"
    other = "gt1.example.net:1:2 [0] x.cc:1 NCCL WARN NET/IB : mlx5_4:1 Got async event : port error\n"
    found = read_text(line + other, source="x", seating=lab_seating).clues
    assert [clue.where for clue in found] == ["z01-r001-h1:mlx5_4", "gt1.example.net:mlx5_4"]


@pytest.mark.parametrize(
    ("hosts", "rails", "stage"),
    [
        (("z01-r001-h1",), (), "node"),
        (("z01-r001-h1", "z01-r001-h2"), (), "pairs"),
        (("z01-r001-h1", "z01-r001-h2"), (3,), "rails"),
        (("z01-r001-h1", "z01-r001-h2", "z01-r002-h1"), (), "groups"),
        (("z01-r001-h1", "z01-r001-h2", "z01-r002-h1", "z01-r002-h2"), (), "zone"),
        (("z01-r001-h1", "z01-r001-h2", "z02-r001-h1"), (), "zones"),
        (("x", "y", "z"), (), "groups"),
    ],
)
def test_the_stage_follows_from_the_hosts(
    hosts: tuple[str, ...], rails: tuple[int, ...], stage: str, lab_seating: Seating
) -> None:
    assert stage_of(hosts, rails, lab_seating) == stage
