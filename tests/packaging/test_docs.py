"""The documentation says what the code does: generated pages are current, the README's example is a legal spec."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from fabric.cli.main import cli
from tools.docs_text import cell
from tools.gen_docs import outdated

ROOT = Path(__file__).resolve().parents[2]


def test_generated_pages_are_current() -> None:
    assert sorted(outdated()) == [], "run `make gen-docs` and commit what it wrote"


def readme_block(kind: str) -> str:
    (block,) = re.findall(rf"```{kind}\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    return str(block)


@pytest.mark.parametrize(
    ("command", "output"),
    [(["check"], "ok, 1,708 switches, 3,072 hosts"), (["show", "summary", "--spec"], readme_block("text"))],
    ids=["check", "summary"],
)
def test_readme_example_prints_what_it_says(tmp_path: Path, command: list[str], output: str) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(readme_block("yaml"), encoding="utf-8")
    result = CliRunner().invoke(cli, [*command, str(spec)])
    assert result.exit_code == 0, f"{result.output}{result.exception!r}"
    assert output in result.output


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a | b\n  c", r"a \| b c"),
        ("DIR/<device> or `<device>`", "DIR/&lt;device> or `<device>`"),
        ("`[roce|infiniband]` | <x>", r"<code>[roce&#124;infiniband]</code> \| &lt;x>"),
    ],
)
def test_cell_shows_its_text_as_it_is(text: str, shown: str) -> None:
    assert cell(text) == shown
