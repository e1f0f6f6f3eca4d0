"""One way to say how many: no message says "1 waves" or "1 device are"."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fabric
from fabric.change.events import RunStarted
from fabric.cli.progress import Lines
from fabric.words import counted, once, verb


@pytest.mark.parametrize(
    ("number", "nouns", "text"),
    [(0, ("wave",), "0 waves"), (1, ("wave",), "1 wave"), (1708, ("switch", "switches"), "1,708 switches")],
)
def test_counted(number: int, nouns: tuple[str, ...], text: str) -> None:
    assert counted(number, *nouns) == text


@pytest.mark.parametrize(("number", "text"), [(0, "are"), (1, "is"), (2, "are")])
def test_verb(number: int, text: str) -> None:
    assert verb(number, "is", "are") == text


@pytest.mark.parametrize(
    ("reason", "text"),
    [("lost", "a1: lost"), ("a1: lost", "a1: lost"), ("a1 (10.0.0.1:22): lost", "a1 (10.0.0.1:22): lost"), ("a11: lost", "a1: a11: lost")],
)  # fmt: skip
def test_a_name_is_said_once(reason: str, text: str) -> None:
    assert once("a1", reason) == text


@pytest.mark.parametrize(
    ("hosts", "waves", "text"),
    [
        (("a",), (), "resume r1: 1 device is looked at first, commit timer 300 s\n"),
        (("a",), (("a",),), "resume r1: 1 device in 1 wave, commit timer 300 s\n"),
        (("a", "b"), (("a",), ("b",)), "resume r1: 2 devices in 2 waves, commit timer 300 s\n"),
    ],
)
def test_how_a_run_begins(
    capsys: pytest.CaptureFixture[str], hosts: tuple[str, ...], waves: tuple[tuple[str, ...], ...], text: str
) -> None:
    Lines()(RunStarted("r1", "resume", "cluster.yaml", "", "", hosts, waves, 300))
    assert capsys.readouterr().out == text


def test_no_other_way_to_make_a_plural() -> None:
    other = re.compile(r"""\{(['"])s?\1 if [^}]*(==|!=|>) ?1\b""")
    root = Path(fabric.__file__).parent
    found = [f"{p.relative_to(root)}: {m[0]}" for p in root.rglob("*.py") for m in other.finditer(p.read_text())]
    assert found == []
