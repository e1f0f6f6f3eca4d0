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


def test_readme_example_passes_check(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    spec = tmp_path / "cluster.yaml"
    spec.write_text(example, encoding="utf-8")
    result = CliRunner().invoke(cli, ["check", str(spec)])
    assert result.exit_code == 0, f"{result.output}{result.exception!r}"


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
