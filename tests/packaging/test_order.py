"""tests/conftest.py: which tests share a process of `-n`, and which begin first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import LONG, lab_of, turn

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("nodeid", "lab", "first"),
    [
        ("tests/lab/test_host_slurm.py::test_a[x::y]", "host", "host"),
        ("tests/lab/test_lab_core.py::test_a", "lab", "lab"),
        ("tests/lab/test_ansible.py::test_a", "tests/lab/test_ansible.py", "tests/lab/test_ansible.py"),
        ("tests/lab/test_hosts.py::test_a", "tests/lab/test_hosts.py", "tests/lab/"),
        ("tests/packaging/test_wheel.py::test_a", "tests/packaging/test_wheel.py::test_a", "tests/packaging/"),
    ],
)
def test_place(nodeid: str, lab: str, first: str) -> None:
    assert (lab_of(nodeid), LONG[turn(nodeid)]) == (lab, first)


def test_what_is_quick_comes_last() -> None:
    assert turn("tests/spec/test_a.py::test_a") == len(LONG)


def test_every_name_is_there() -> None:
    assert [name for name in LONG if "/" in name and not (ROOT / name).exists()] == []
