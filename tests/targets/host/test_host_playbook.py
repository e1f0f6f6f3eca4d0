"""How hosts are reached: the inventory of a spec that is a copy, and a program that ends with its parent."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.targets.host.playbook import inventory, joined, limit, reason


@pytest.mark.parametrize(
    ("name", "text", "copied"), [("cluster.yaml", "a", False), ("cluster.yaml", "b", True), ("mine.yaml", "a", True)]
)
def test_files_that_a_spec_names_are_found_beside_its_copy(tmp_path: Path, name: str, text: str, copied: bool) -> None:
    beside, folder = tmp_path / "beside", tmp_path / "folder"
    for place in (beside, folder):
        place.mkdir()
    (beside / name).write_text("a", encoding="utf-8")
    (beside / "token").write_text("secret", encoding="utf-8")
    found = inventory(beside / name, text, folder)
    assert found.name == "cluster.yaml"
    assert (found.parent != beside) is copied
    assert found.read_text(encoding="utf-8") == text
    assert (found.parent / "token").read_text(encoding="utf-8") == "secret"
    assert (beside / name).read_text(encoding="utf-8") == "a"


def test_a_spec_that_is_nowhere_is_its_text(tmp_path: Path) -> None:
    assert inventory(None, "a", tmp_path).read_text(encoding="utf-8") == "a"
    assert Path(limit(["h1", "h2"], tmp_path)[1:]).read_text(encoding="utf-8") == "h1\nh2\n"


@pytest.mark.parametrize(
    ("said", "why"),
    [([], ""), (["x", "y "], "y"), (["[ERROR]: no", "x"], "no"), (["ERROR! no", "[ERROR]: later"], "no")],
)
def test_the_line_that_says_why(said: list[str], why: str) -> None:
    assert reason(said) == why


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "theirs")
    assert joined("X", "ours", ":") == "ours:theirs"
