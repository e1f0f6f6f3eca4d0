"""Simulated jobs with known faults, in every format version: the rank that is at fault is named, and nobody else."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fabric.verify.flight_recorder.analyse import analyse
from fabric.verify.flight_recorder.find import find_dumps
from fabric.verify.flight_recorder.load import load_dumps
from fabric.verify.flight_recorder.model import Analysis
from fabric.verify.flight_recorder.place import findings_of, locate_culprits
from tests.verify.flight_recorder.generate import VERSIONS, since, write
from tests.verify.flight_recorder.job import Job, Op

Named = list[tuple[str, tuple[int, ...], bool]]
"""Cause, ranks, proven."""


def judged(folder: Path) -> Analysis:
    return analyse(load_dumps(find_dumps([folder])))


def named(analysis: Analysis) -> Named:
    return [(culprit.cause, culprit.ranks, culprit.proven) for culprit in analysis.culprits]


def becomes(**changes: Any) -> Any:
    def edit(op: Op) -> None:
        for name, value in changes.items():
            setattr(op, name, value)

    return edit


P2P = (("pp", "transfer", 1024),)
FAULTS: dict[str, tuple[Job, Named]] = {
    "healthy": (Job(), []),
    "healthy pipeline": (Job(tp=2, dp=2, pp=4), []),
    "stopped": (Job(stop={5: 20}), [("stopped", (5,), True)]),
    "stopped at once": (Job(stop={5: 0}), [("stopped", (5,), True)]),
    "stopped in a sub-group": (Job(stop={6: 22}), [("stopped", (6,), True)]),
    "two stopped": (Job(stop={2: 20, 13: 20}, tp=4, dp=4), [("stopped", (2,), True), ("stopped", (13,), True)]),
    "pipeline of two": (Job(stop={5: 20}, tp=2, dp=2, pp=2), [("stopped", (5,), True)]),
    "pipeline of four": (Job(stop={5: 20}, tp=2, dp=1, pp=4), [("stopped", (5,), True)]),
    "transfers of two": (Job(stop={1: 7}, tp=1, dp=1, pp=2, program=P2P), [("stopped", (1,), True)]),
    "transfers of four": (Job(stop={2: 14}, tp=1, dp=1, pp=4, program=P2P), [("stopped", (2,), True)]),
    "transfers, the last of four": (Job(stop={3: 7}, tp=1, dp=1, pp=4, program=P2P), [("stopped", (3,), False)]),
    "gpu": (Job(blind={6: 20}), [("stuck", (6,), True)]),
    "gpu does not begin": (Job(idle={6: 20}), [("not-started", (6,), True)]),
    "size": (Job(edits={(3, 21): becomes(numel=999)}), [("mismatch", (3,), True)]),
    "type": (Job(edits={(3, 20): becomes(dtype="Float")}), [("mismatch", (3,), True)]),
    "collective": (Job(edits={(3, 20): becomes(call="reduce")}), [("mismatch", (3,), True)]),
    "order": (
        Job(edits={(3, 18): becomes(call="_reduce_scatter_base"), (3, 19): becomes(call="_all_gather_base")}),
        [("mismatch", (3,), True)],
    ),
    "one against one": (Job(tp=2, dp=1, edits={(1, 12): becomes(call="reduce")}), [("mismatch", (0, 1), False)]),
    "all hang": (Job(tp=4, dp=1, idle=dict.fromkeys(range(4), 9)), [("joint", (0, 1, 2, 3), False)]),
    "one ahead of all": (Job(tp=4, dp=1, rounds=1, stop=dict.fromkeys((0, 1, 2), 3)), [("most", (0, 1, 2), False)]),
    "one of 128": (Job(stop={77: 40}, tp=8, dp=4, pp=4), [("stopped", (77,), True)]),
}  # fmt: skip


@cache
def ran(fault: str) -> Job:
    return FAULTS[fault][0].run()


@pytest.mark.parametrize("active", [False, True], ids=["whole", "active-only"])
@pytest.mark.parametrize("fault", FAULTS)
def test_the_rank_at_fault_is_named(tmp_path: Path, fault: str, active: bool) -> None:
    analysis = judged(write(ran(fault), tmp_path, active=active))
    assert named(analysis) == FAULTS[fault][1]
    assert not analysis.missing
    assert all(culprit.evidence for culprit in analysis.culprits)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_as_pickle_and_json(tmp_path: Path, version: str) -> None:
    for fault in ("healthy", "stopped", "gpu", "collective"):
        for form in ("pickle", "json"):
            analysis = judged(write(ran(fault), tmp_path / fault / form, version, form=form))
            assert analysis.versions == (version,)
            if not since(version, "1.2") and fault == "collective":  # of a group that only its members' pg_id names
                assert named(analysis) == []
                assert analysis.limited
            else:
                assert named(analysis) == FAULTS[fault][1], (fault, form)


OLD: dict[str, tuple[Named, bool]] = {
    "stopped": ([("stopped", (5,), True)], True),
    "gpu": ([("stuck", (6,), True)], True),
    "healthy": ([], False),
    "size": ([], True),  # in a group of tensors; its members are waited for in the default group, and hang themselves
    "collective": ([], True),
}


@pytest.mark.parametrize("fault", OLD)
def test_before_version_1_2_the_evidence_is_often_not_enough(tmp_path: Path, fault: str) -> None:
    analysis = judged(write(ran(fault), tmp_path, "1.1"))
    assert named(analysis) == OLD[fault][0]
    assert any("evidence not enough" in note for note in analysis.notes) == OLD[fault][1]
    told = findings_of(analysis, locate_culprits(analysis, {}))
    assert [(one.verdict, "evidence not enough" in one.measured) for one in told] == [
        ("fail", False) if OLD[fault][0] else ("unknown", True)
    ]


@pytest.mark.parametrize(("fault", "kind"), [(name, name) for name in ("size", "type", "collective", "order")])
def test_a_mismatch_is_told_by_its_kind(tmp_path: Path, fault: str, kind: str) -> None:
    words = {
        "size": "in its size",
        "type": "in its data type",
        "collective": "in the collective",
        "order": "in the order of two",
    }
    assert words[kind] in judged(write(ran(fault), tmp_path)).culprits[0].evidence[0]


@pytest.mark.parametrize(
    ("fault", "without", "expected"),
    [
        ("stopped", [5], [("no-dump", (5,), False)]),  # the one at fault has no dump: a suspect, never proven
        ("stopped", [2], [("stopped", (5,), True)]),  # a healthy rank has no dump: it is not blamed
        ("stopped", [1, 2, 3], [("stopped", (5,), True)]),
        ("gpu", [5], [("stuck", (6,), True)]),
        ("healthy", [5], []),
    ],
)
def test_no_dump_is_a_fact_and_no_verdict(tmp_path: Path, fault: str, without: Iterable[int], expected: Named) -> None:
    analysis = judged(write(ran(fault), tmp_path, without=without))
    assert named(analysis) == expected
    assert analysis.missing == tuple(without)


def test_processes_and_threads_say_the_same(tmp_path: Path) -> None:
    files = find_dumps([write(ran("one of 128"), tmp_path)])
    told: list[int] = []
    alone, shared = load_dumps(files, processes=1), load_dumps(files, processes=2, done=told.append)
    assert alone == shared
    assert told[-1] == len(files) == 128


def test_other_files_in_the_folder_are_no_ranks(tmp_path: Path) -> None:
    write(ran("stopped"), tmp_path)
    for name, data in (("core.1234", b"ELF"), ("stderr_rank_0.txt", b"x"), (".nfs0001", b"\x80"), ("notes", b"x")):
        (tmp_path / name).write_bytes(data)
    assert list(find_dumps([tmp_path])) == list(range(8))
