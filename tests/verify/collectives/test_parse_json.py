"""JSON of nccl-tests and DCGM: string booleans, nan, files without their end, hostile ones; the environment is never kept."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.errors import FabricError
from fabric.verify.collectives.json_salvage import read_json
from fabric.verify.collectives.nccl_run import measurement_of
from fabric.verify.collectives.parse_dcgm import parse_dcgmi
from fabric.verify.collectives.parse_nccl_json import parse_nccl_json, scrub
from tests.verify.collectives import nccl_samples as samples

HOSTS = ("gt0000", "gt0001")
ROWS = samples.rows_of("all_gather", 16, [300.0, 372.5])
SECRET = "hunter2-api-token"
TEXT = samples.json_of("all_gather", HOSTS, 8, ROWS, secret=SECRET)


def test_a_whole_document() -> None:
    run = parse_nccl_json(TEXT, source="out.json")
    assert run.rows == tuple(ROWS)
    assert (run.collective, run.nranks, run.hosts, run.complete, run.wrong) == ("all_gather", 16, HOSTS, True, 0)
    assert (run.out_of_bounds, run.average, run.devices[9].device) == ((0, True), 461.46, 1)
    assert measurement_of(run, stage="pairs").value == 372.5


def test_our_own_program_says_its_collective_in_an_option() -> None:
    text = TEXT.replace("/opt/nccl-tests/build/all_gather_perf", "mpi_rows.py").replace(
        '"-b","1G"', '"--collective","all_gather"'
    )
    assert parse_nccl_json(text, source="x").collective == "all_gather"
    assert parse_nccl_json(text.replace('"all_gather"', '"rm -rf"'), source="x").collective == "unknown"


def test_the_environment_is_never_kept() -> None:
    kept = scrub(TEXT.replace('"-b","1G"', '"--api-key=hunter2-api-token","-b"'))
    assert SECRET not in kept + repr(parse_nccl_json(TEXT, source="x"))
    assert "--api-key=***" in kept
    assert parse_nccl_json(kept, source="x").rows == tuple(ROWS)
    assert SECRET not in scrub(TEXT[: TEXT.index("nccl_version") + 40])


def test_cut_at_every_byte_only_whole_rows_are_left() -> None:
    short = samples.json_of("all_gather", HOSTS, 1, samples.rows_of("all_gather", 2, [40.0, 48.0]), secret=SECRET)
    true = parse_nccl_json(short, source="x").rows
    seen = set()
    for end in range(len(short)):
        try:
            run = parse_nccl_json(short[:end], source="x")
        except FabricError:
            continue
        assert run.rows == true[: len(run.rows)] and not run.complete
        seen.add(len(run.rows))
    assert seen == {0, 1, 2}


@pytest.mark.parametrize(
    ("old", "new", "rows", "complete"),
    [
        ('"bus_bw":372.5', '"bus_bw":37.25', 1, False),  # contradicts its time
        ('"bus_bw":372.5', '"bus_bw":"nan"', 2, True),
        ('"bus_bw":372.5', '"bus_bw":inf', 2, True),
        ('"bus_bw":372.5', '"bus_bw":NaN', 2, True),
        ('"nwrong":0', '"nwrong":null', 2, True),
        ('"okay":"true"', '"okay":"yes"', 2, False),
        ('"errors":[]', '"errors":["unhandled system error"]', 2, False),
        ('"size":2147483648', '"size":"2147483648"', 1, False),
        ('"size":2147483648', '"size":true', 1, False),
        ('"size":2147483648', '"size":-1', 1, False),
        ('"alg_bw"', '"alg"', 0, False),
    ],
)
def test_values_of_other_kinds(old: str, new: str, rows: int, complete: bool) -> None:
    assert old in TEXT
    run = parse_nccl_json(TEXT.replace(old, new), source="x")
    assert (len(run.rows), run.complete) == (rows, complete)


def test_out_of_bounds_and_wrong_elements_are_fatal() -> None:
    bad = samples.json_of("all_gather", HOSTS, 8, samples.rows_of("all_gather", 16, [372.5], wrong=2))
    measured = measurement_of(parse_nccl_json(bad, source="x"), stage="pairs")
    assert (measured.state, measured.wrong, measured.values) == ("broken", 4, ())
    told = TEXT.replace('{"count":0,"okay":"true"}', '{"count":7,"okay":"false"}')
    assert measurement_of(parse_nccl_json(told, source="x"), stage="pairs").reason == "7 values out of bounds"


HOSTILE = {
    "deep": "[" * 200_000,
    "deep-object": '{"a":' * 5_000,
    "digits": '{"version":' + "9" * 20_000 + "}",
    "list": "[1,2,3]",
    "empty": "",
    "words": "no braces at all",
    "other": '{"version":3,"results":[]}',
    "string": '{"version":3,"nccl_version":"' + "\\" * 10_001,
    "unclosed": '{"version": 3, "config": }{]',
    "surrogate": '{"version":3,"nccl_version":1,"config":{"devices":[{"hostname":"\\ud800"}]},"results":[]}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_are_refused_in_one_line(name: str) -> None:
    try:
        run = parse_nccl_json(HOSTILE[name], source="evil.json")
    except FabricError as error:
        assert error.message.startswith("evil.json: ") and "\n" not in error.message and len(error.message) < 120
    else:
        assert not run.complete and not run.rows


def test_salvage_takes_time_in_proportion() -> None:
    begin = time.process_time()
    _, whole = read_json('{"a":[' + "1," * 50_000, source="x")
    assert not whole and time.process_time() - begin < 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=40, deadline=None)
@given(document=st.dictionaries(st.text(max_size=5), JSON, min_size=1, max_size=4), cut=st.floats(0, 1))
def test_what_is_salvaged_is_part_of_the_document(document: dict[str, object], cut: float) -> None:
    text = json.dumps(document)
    assert read_json(text, source="x") == (document, True)
    part = text[: int(len(text) * cut)]
    try:
        found, whole = read_json(part, source="x")
    except FabricError:
        return
    assert not whole or part == text
    assert set(found) <= set(document)
    for key in list(found)[:-1]:
        assert found[key] == document[key]


def dcgm(root: str, *results: dict[str, object], before: str = "") -> str:
    tests = [
        {"name": "Memory Bandwidth", "results": list(results)},
        None,
        {"name": "PCIe", "results": [{"gpu_ids": "0,1,2,3", "status": "PASS"}]},
    ]
    return before + json.dumps({root: {"test_categories": [{"category": "Hardware", "tests": tests}]}})


@pytest.mark.parametrize("root", ["DCGM GPU Diagnostic", "DCGM Diagnostic"])
def test_dcgm_names_the_gpu_that_failed(root: str) -> None:
    text = dcgm(
        root,
        {"gpu_ids": "0", "status": "Pass"},
        {"gpu_ids": "3", "status": "Fail", "warnings": ["it is slow"]},
        before="WARNING: x {\n",
    )
    measured, clues = parse_dcgmi(text, source="d.json", host="gt0007")
    assert [(m.test, m.state, m.rails) for m in measured] == [
        ("dcgm.memory_bandwidth", "broken", (3,)),
        ("dcgm.pcie", "ok", ()),
    ]
    assert [(clue.kind, clue.where) for clue in clues] == [("diag-failed", "gt0007:gpu3")]
    assert "it is slow" in clues[0].text and "it is slow" in measured[0].reason


@pytest.mark.parametrize(
    ("result", "state", "kinds"),
    [
        ({"gpu_ids": "2", "status": "Skip", "info": "not supported"}, "unmade", []),
        ({"gpu_ids": "2", "status": "Not Run"}, "unmade", []),
        ({"gpu_ids": "2", "status": "WARN", "warnings": "A row remap is pending"}, "ok", ["ecc"]),
        ({"gpu_ids": "2", "status": "warn", "warnings": "something"}, "ok", []),
        ({"gpu_ids": "2", "status": "FAIL", "warnings": [{"warning": "Xid 79"}]}, "broken", ["xid"]),
        (
            {"gpu_ids": "2", "status": "Fail", "warnings": "The Fabric Manager is not running"},
            "broken",
            ["fabric-manager"],
        ),
        ({"gpu_ids": "2", "status": "Fail", "warnings": "PCIe link width is 8, expected 16"}, "broken", ["pcie"]),
        ({"gpu_ids": "0,1,2", "status": "Fail"}, "broken", ["diag-failed"]),
        ({"gpu_ids": 99999, "status": "Fail"}, "broken", ["diag-failed"]),
        ({"gpu_ids": None, "status": 7}, None, []),
    ],
)
def test_dcgm_could_not_run_is_not_failed(result: dict[str, object], state: str | None, kinds: list[str]) -> None:
    measured, clues = parse_dcgmi(dcgm("DCGM GPU Diagnostic", result), source="d.json", host="gt0007")
    assert [m.state for m in measured if m.test == "dcgm.memory_bandwidth"] == ([state] if state else [])
    assert [clue.kind for clue in clues] == kinds
    assert all(clue.where in ("gt0007", "gt0007:gpu2") for clue in clues)


def test_dcgm_without_its_end_or_without_tests_is_unmade() -> None:
    text = dcgm("DCGM GPU Diagnostic", {"gpu_ids": "0", "status": "Pass"})
    for end in range(40, len(text)):
        try:
            measured, clues = parse_dcgmi(text[:end], source="d.json", host="a")
        except FabricError:
            continue
        assert [m.state for m in measured][-1] == "unmade" and not clues
    measured, _ = parse_dcgmi(
        '{"DCGM GPU Diagnostic":{"runtime_error":"Unable to connect to nv-hostengine"}}', source="d", host="a"
    )
    assert [(m.state, m.reason) for m in measured] == [("unmade", "Unable to connect to nv-hostengine")]
    with pytest.raises(FabricError, match="d: JSON, but not of dcgmi"):
        parse_dcgmi('{"a": 1}', source="d", host="a")
